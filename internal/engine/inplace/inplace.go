// Package inplace is the update of a node in place: it gets new software while its instance stays.
//
// Three write about it, and each of them one thing. The deployment controller, or a person, writes the [Request] on the node, and the
// node agent the [Answer]. The machine controller writes the [Mark] on the node and the [Phase] on the Machine: it moves the workloads
// away before, and tells the node agent when it may begin.
//
// [Update.State] is what that comes to, for whoever asks. What each controller writes next is in moves.go, and is decided from the same
// facts. A lens says nothing but which labels and conditions these are.
//
// The package performs no I/O, reads no clock and imports no API group.
package inplace

import "time"

// Node is what a node says about its update.
type Node struct {
	Request Request
	// Answer is the node agent's, Detail what it says about a failure.
	Answer Answer
	Detail string
	// Mark is how far the node says that the update is, since Since (zero when that is not known).
	Mark  Mark
	Since time.Time
}

// Update is what the node and the Machine say.
type Update struct {
	Node
	Phase Phase
}

// Request is what a node is asked.
type Request string

// The requests.
const (
	RequestNone      Request = ""
	RequestCandidate Request = "Candidate" // it may be updated
	RequestSelected  Request = "Selected"  // and it is its turn
	// RequestStray says that it is its turn, and not that it may be updated: somebody wrote half of a request. The deployment controller
	// takes it for the whole one and completes it; the machine controller waits for that.
	RequestStray Request = "Stray"
)

// RequestOf is the request that consists of two parts.
func RequestOf(candidate, selected bool) Request {
	switch {
	case candidate && selected:
		return RequestSelected
	case candidate:
		return RequestCandidate
	case selected:
		return RequestStray
	}
	return RequestNone
}

// Candidate reports whether the node may be updated, Selected whether it is its turn.
func (r Request) Candidate() bool { return r == RequestCandidate || r == RequestSelected }

// Selected reports whether it is the node's turn.
func (r Request) Selected() bool { return r == RequestSelected || r == RequestStray }

// Answer is what the node agent says of an update.
type Answer string

// The answers.
const (
	AnswerNone   Answer = ""
	AnswerDone   Answer = "Done"
	AnswerFailed Answer = "Failed"
	// AnswerUnknown is a word that nobody knows. It ends no update, and no node is selected as long as it is there.
	AnswerUnknown Answer = "Unknown"
)

// Known reports whether there is an answer, and it is understood.
func (a Answer) Known() bool { return a == AnswerDone || a == AnswerFailed }

// Mark is how far an update is, as the node says.
type Mark string

// The marks, in the order in which an update goes through them.
const (
	MarkNone      Mark = ""
	MarkCandidate Mark = "Candidate" // waits for its turn
	MarkSelected  Mark = "Selected"  // workloads are being moved away
	MarkDrained   Mark = "Drained"   // none are left
	MarkReady     Mark = "Ready"     // the node agent may begin
	MarkUpdated   Mark = "Updated"
	MarkFailed    Mark = "Failed"
)

// drained reports whether the node was drained for the update and its agent may be at work.
func (m Mark) drained() bool { return m == MarkDrained || m == MarkReady }

// Phase is what the Machine says about its update.
type Phase string

// The phases.
const (
	PhaseNone     Phase = ""         // nothing, and it does not run
	PhaseRunning  Phase = "Running"  // nothing, and it runs
	PhaseUpdating Phase = "Updating" // its node agent is waited for
	PhaseUpdated  Phase = "Updated"
	PhaseFailed   Phase = "Failed" // the update, not the machine
)

// waits reports whether the machine controller takes an answer for that to an update which was begun, even if it was called off since.
func (p Phase) waits() bool { return p == PhaseUpdating || p == PhaseUpdated || p == PhaseFailed }
