// Package inplace decides about the update of a node in place: the node gets new software while its instance
// stays.
//
// Three actors take part, and each writes one thing. The deployment controller, or a person, writes the
// [Request] on the node, and the node agent writes the [Answer]. The machine controller writes the [Mark] on
// the node and the [Phase] on the Machine: it drains the node first, and tells the node agent when it may
// begin.
//
// [Update.State] is the resulting state. What each controller writes next is in moves.go, and is decided from
// the same facts. A lens only defines the labels and conditions.
//
// The package performs no I/O, reads no clock and imports no API group.
package inplace

import "time"

// Node has a node's facts about its update.
type Node struct {
	Request Request
	// Answer is the node agent's answer, Detail is its message about a failure.
	Answer Answer
	Detail string
	// Mark is the progress of the update on the node, since Since (zero if unknown).
	Mark  Mark
	Since time.Time
}

// Update has the facts of the node and the Machine.
type Update struct {
	Node
	Phase Phase
}

// Request is a request for an update of the node.
type Request string

// The requests.
const (
	RequestNone      Request = ""
	RequestCandidate Request = "Candidate" // the node may be updated
	RequestSelected  Request = "Selected"  // and its turn has come
	// RequestStray says that its turn has come, but not that it may be updated: only half of a request was
	// written. The deployment controller completes it; the machine controller waits for that.
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

// Candidate reports whether the node may be updated, Selected whether its turn has come.
func (r Request) Candidate() bool { return r == RequestCandidate || r == RequestSelected }

// Selected reports whether the node's turn has come.
func (r Request) Selected() bool { return r == RequestSelected || r == RequestStray }

// Answer is the node agent's report about an update.
type Answer string

// The answers.
const (
	AnswerNone   Answer = ""
	AnswerDone   Answer = "Done"
	AnswerFailed Answer = "Failed"
	// AnswerUnknown is an unknown word. It ends no update, and prevents the selection of the node.
	AnswerUnknown Answer = "Unknown"
)

// Known reports whether there is a known answer.
func (a Answer) Known() bool { return a == AnswerDone || a == AnswerFailed }

// Mark is the progress of an update on the node.
type Mark string

// The marks, in the order in which an update goes through them.
const (
	MarkNone      Mark = ""
	MarkCandidate Mark = "Candidate" // waits for its turn
	MarkSelected  Mark = "Selected"  // the node is being drained
	MarkDrained   Mark = "Drained"   // no workloads are left
	MarkReady     Mark = "Ready"     // the node agent may begin
	MarkUpdated   Mark = "Updated"
	MarkFailed    Mark = "Failed"
)

// drained reports whether the node was drained for the update and its agent may be working.
func (m Mark) drained() bool { return m == MarkDrained || m == MarkReady }

// Phase is the progress of the update on the Machine.
type Phase string

// The phases.
const (
	PhaseNone     Phase = ""         // no update, and the Machine is not Running
	PhaseRunning  Phase = "Running"  // no update, and the Machine is Running
	PhaseUpdating Phase = "Updating" // waits for its node agent
	PhaseUpdated  Phase = "Updated"
	PhaseFailed   Phase = "Failed" // the update failed, not the machine
)

// waits reports whether the machine controller accepts an answer to an update that was begun, even if it was
// cancelled since.
func (p Phase) waits() bool { return p == PhaseUpdating || p == PhaseUpdated || p == PhaseFailed }
