// Package health decides which machines are unhealthy, and which of these a health check remedies now.
//
// [Evaluate] judges one machine with its node, and [Judge] says what is new about that. A [Cohort] is a check with all its machines as they
// were judged. [Decide] weighs the verdicts against maxUnhealthy, against storms, and against the remedies that are under way. Each verdict
// has its reason, and the next time to look. Who keeps verdicts asks [Judged.Stands] whether one still holds, which costs a comparison.
//
// The package performs no I/O, reads no clock and imports no API group.
package health

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Check is what one health check asks for, in the engine's words.
type Check struct {
	// Conditions make a node unhealthy; any one of them does.
	Conditions []Condition
	// StartupTimeout is how long a machine may be without a node, from the last
	// change of its status; zero: for ever, but it is not healthy meanwhile.
	StartupTimeout time.Duration
	// MaxUnhealthy is how many machines may be unhealthy for any of them to be
	// remedied.
	MaxUnhealthy Limit
	// Remedy is what is done about an unhealthy machine.
	Remedy Remedy
	// Paused says that the check does nothing at all.
	Paused bool
	// Faults are what is wrong with the check itself. What cannot be read
	// remedies nobody.
	Faults []lifecycle.Fault
	// Breaker is asked before anything is remedied.
	Breaker Breaker
	// Escalation comes before [Delete].
	Escalation Escalation

	// NodesOnly judges nodes by their conditions, and nothing else: no machine
	// is remedied because it failed, has no node, or lost it.
	NodesOnly bool
	// SparesControlPlane leaves machines of control-plane nodes alone.
	SparesControlPlane bool
	// OwnerKind is the kind that must control a machine that is remedied; empty:
	// any.
	OwnerKind string
}

// Condition makes a node unhealthy that has shown this status for longer than
// the timeout. A node that does not report the type is not concerned.
type Condition struct {
	Type, Status string
	Timeout      time.Duration
}

// Remedy is what is done about an unhealthy machine.
type Remedy string

// The remedies.
const (
	// Delete the machine, for its controller to make another.
	Delete Remedy = "Delete"
	// Mark the machine for somebody who powers it off and on. A failed machine
	// is deleted nevertheless: there is nothing to power on.
	Mark Remedy = "Mark"
	// Reboot: mark the node for somebody who restarts it.
	Reboot Remedy = "Reboot"
	// Restart the instance of the machine, through its infrastructure, before it
	// is deleted ([Escalation]).
	Restart Remedy = "Restart"
	// Request: make an object from a template, for somebody who remedies the
	// machine; it is deleted when the machine is healthy again.
	Request Remedy = "Request"
)

// Cohort is a check with the machines that it selects, as they were judged. It is
// what [Decide] looks at.
type Cohort struct {
	Check Check
	// Seen is how far whoever judged has seen.
	Seen connectivity.State
	// Machines are in any order.
	Machines []*Judged
}

// Target is one machine that a check looks after.
type Target struct {
	UID             types.UID
	Namespace, Name string
	Created         time.Time
	// Updated is when the machine's status last changed; zero when it has none.
	Updated time.Time
	// Owner is what controls the machine; zero when nothing does.
	Owner Owner
	// Failed says that the machine was given up, Deleting that it is on its way
	// out.
	Failed, Deleting bool
	// Marked says that somebody else was asked to remedy it.
	Marked bool
	// Skip says that a person wants it left alone.
	Skip bool
	// Template tells apart what machines are made from.
	Template string
	// Zone is where it runs; empty when not known.
	Zone string
	// NodeName is the node recorded as the machine's; empty when none was.
	NodeName string
	// Node is that node; nil when it does not exist.
	Node *Node
	// Joined is where the machine was seen to have a node, or is to have one.
	Joined lifecycle.Joined
	// Reboot is what was asked about rebooting it, and what came of that.
	Reboot lifecycle.Rebooting
	// Own are the machine's own timeouts, which count instead of the check's.
	Own Own
}

// Owner is the controller of a machine.
type Owner struct {
	UID        types.UID
	Kind, Name string
}

// Own are timeouts that a machine brings along. A nil one is the check's.
type Own struct {
	// Startup counts instead of [Check].StartupTimeout, and from the machine's
	// creation.
	Startup *time.Duration
	// Health counts instead of the timeout of every condition.
	Health *time.Duration
	// Conditions are node condition types that must be False, besides those of
	// the check. They count only together with Health.
	Conditions []string
}
