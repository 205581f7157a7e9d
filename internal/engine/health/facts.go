// Package health decides which machines are unhealthy, and which of these a health check remediates now.
//
// [Evaluate] judges one machine with its node, and [Judge] adds what is new about it. A [Cohort] is a check
// with all its judged machines. [Decide] weighs the verdicts against maxUnhealthy, storms, and the remedies
// in progress. Each verdict has its reason, and the next time to judge. A caller that keeps verdicts calls
// [Judged.Stands] to find out whether one still holds, which costs one comparison.
//
// The package performs no I/O, reads no clock and imports no API group.
package health

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Check is the configuration of one health check, in the engine's types.
type Check struct {
	// Conditions make a node unhealthy; any one of them does.
	Conditions []Condition
	// StartupTimeout is how long a machine may be without a node, from the last change of its status; zero:
	// without a limit, but the machine is not healthy meanwhile.
	StartupTimeout time.Duration
	// MaxUnhealthy is how many machines may be unhealthy. If more are, none is remediated.
	MaxUnhealthy Limit
	// Remediation is the action for an unhealthy machine.
	Remediation Remediation
	// Paused says that the check does nothing at all.
	Paused bool
	// Faults are the errors in the check. An invalid check remediates no machine.
	Faults []lifecycle.Fault
	// Breaker has to agree to each remedy.
	Breaker Breaker
	// Escalation comes before [Delete].
	Escalation Escalation

	// NodesOnly judges only the conditions of nodes: no machine is remediated because it failed, has no node,
	// or lost it.
	NodesOnly bool
	// SparesControlPlane leaves machines of control-plane nodes alone.
	SparesControlPlane bool
	// OwnerKind is the kind that must control a machine for a remedy; empty: any.
	OwnerKind string
}

// Condition makes a node unhealthy that has had this status for longer than the timeout. A node that does not
// report the type is not concerned.
type Condition struct {
	Type, Status string
	Timeout      time.Duration
}

// Remediation is the action for an unhealthy machine.
type Remediation string

// The remedies.
const (
	// Delete deletes the machine, so that its controller creates another.
	Delete Remediation = "Delete"
	// Mark marks the machine for another program that powers it off and on. A failed machine is deleted
	// instead: it has nothing to power on.
	Mark Remediation = "Mark"
	// Reboot marks the node for another program that restarts it.
	Reboot Remediation = "Reboot"
	// Restart restarts the instance of the machine, through its infrastructure, before the machine is deleted
	// ([Escalation]).
	Restart Remediation = "Restart"
	// Request creates an object from a template, for another program that remediates the machine; the object
	// is deleted when the machine is healthy again.
	Request Remediation = "Request"
)

// Cohort is a check with the machines that it selects and their verdicts. It is the input of [Decide].
type Cohort struct {
	Check Check
	// Seen is the connection with which the machines were judged.
	Seen connectivity.State
	// Machines are in any order.
	Machines []*Judged
}

// Target is one machine that a check selects.
type Target struct {
	UID             types.UID
	Namespace, Name string
	Created         time.Time
	// Updated is when the machine's status last changed; zero if it has none.
	Updated time.Time
	// Owner is the controller of the machine; zero if none exists.
	Owner Owner
	// Failed says that the machine has failed, Deleting that it is under deletion.
	Failed, Deleting bool
	// Marked says that another program was asked to remediate it.
	Marked bool
	// Skip says that a user excludes it from remediation.
	Skip bool
	// Template identifies the template of the machine.
	Template string
	// Zone is its zone; empty if unknown.
	Zone string
	// NodeName is the recorded node of the machine; empty if none exists.
	NodeName string
	// Node is that node; nil if it does not exist.
	Node *Node
	// Joined is the cluster in which the machine had a node, or is expected to have one.
	Joined lifecycle.Joined
	// Reboot is the requested reboot and its result.
	Reboot lifecycle.Rebooting
	// Own are the machine's own timeouts, which replace those of the check.
	Own Own
}

// Owner is the controller of a machine.
type Owner struct {
	UID        types.UID
	Kind, Name string
}

// Own are the machine's own timeouts. A nil timeout is that of the check.
type Own struct {
	// Startup replaces [Check].StartupTimeout, and counts from the machine's creation.
	Startup *time.Duration
	// Health replaces the timeout of every condition.
	Health *time.Duration
	// Conditions are node condition types that must be False, in addition to those of the check. They count
	// only together with Health.
	Conditions []string
}
