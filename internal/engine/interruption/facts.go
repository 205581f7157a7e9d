// Package interruption decides which conditions a node gets from the notices of its cloud: the cloud takes the instance back, is likely
// to do so soon, or plans maintenance.
//
// A condition is withdrawn only when the cloud has said that the notice is over. An answer that failed changes nothing.
//
// The package performs no I/O and reads no clock.
package interruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/millwright"
)

// Kind is what a notice announces.
type Kind string

// The kinds of notices.
const (
	// Termination: the instance is being taken back, or ends for another reason.
	Termination Kind = "Termination"
	// Rebalance: the instance is likely to be taken back soon.
	Rebalance Kind = "Rebalance"
	// Maintenance: the instance will be restarted, paused or moved.
	Maintenance Kind = "Maintenance"
)

// Kinds are all of them, the gravest first.
var Kinds = []Kind{Termination, Rebalance, Maintenance}

// Notice is one thing that the cloud announces.
type Notice struct {
	Kind Kind
	// Action is the cloud's word for what happens: "terminate", "Preempt".
	Action string
	// At is when it happens, at the earliest; zero when the cloud does not say.
	At time.Time
	// Grace is how long the instance has once there is a notice, on clouds that
	// promise that instead of a time.
	Grace time.Duration
	// Detail is what else the cloud says, for people.
	Detail string
}

// Report is what one look at the cloud has brought. The zero Report says
// nothing: neither that there is a notice nor that there is none.
type Report struct {
	Notices []Notice
	// Clear are the kinds of which the cloud has said that there is no notice,
	// in every place where it would tell.
	Clear map[Kind]bool
}

// Has reports whether there is a notice of the kind.
func (r Report) Has(k Kind) bool {
	for _, n := range r.Notices {
		if n.Kind == k {
			return true
		}
	}
	return false
}

// Empty reports whether a report says nothing.
func (r Report) Empty() bool {
	for _, k := range Kinds {
		if r.Has(k) || r.Clear[k] {
			return false
		}
	}
	return true
}

// Merge adds a look to what is known: a notice stands until a look says
// something else about its kind. What was clear is so only in the look that
// said it.
func Merge(known, look Report) Report {
	out := Report{Clear: map[Kind]bool{}}
	for _, k := range Kinds {
		of := ofKind(look.Notices, k)
		out.Clear[k] = look.Clear[k] && len(of) == 0
		if len(of) == 0 && !out.Clear[k] {
			of = ofKind(known.Notices, k)
		}
		out.Notices = append(out.Notices, of...)
	}
	return out
}

// The node conditions, one for each kind of notice.
const (
	// Terminating is True while the instance is marked for termination. Others
	// write a condition of this type too, for other reasons.
	Terminating corev1.NodeConditionType = "Terminating"
	// RebalanceRecommended is True while the instance is likely to be taken back
	// soon.
	RebalanceRecommended corev1.NodeConditionType = "RebalanceRecommended"
	// MaintenanceScheduled is True while work on the instance is planned.
	MaintenanceScheduled corev1.NodeConditionType = "MaintenanceScheduled"
)

// The reasons of the node conditions.
const (
	// ReasonTerminationRequested is that of Terminating, as the original says it.
	ReasonTerminationRequested = "TerminationRequested"
	// ReasonCapacityAtRisk is that of RebalanceRecommended.
	ReasonCapacityAtRisk = "CapacityAtRisk"
	// ReasonMaintenanceNotice is that of MaintenanceScheduled.
	ReasonMaintenanceNotice = "MaintenanceNotice"
	// ReasonWithdrawn goes with status False: there was a notice, and the cloud
	// says that there is none any more.
	ReasonWithdrawn = "NoticeWithdrawn"
)

const (
	// MessageTerminating is that of Terminating, as the original says it.
	MessageTerminating = "The cloud provider has marked this instance for termination"
	messageWithdrawn   = "The cloud provider has taken its notice back"
)

// DeadlineAnnotation on a node is when its instance goes, in RFC 3339: what is
// to leave in order must have left by then.
const DeadlineAnnotation = millwright.TerminationDeadline

// Node is what counts of a node.
type Node struct {
	Conditions []corev1.NodeCondition
	// Deadline is the value of the annotation; empty when there is none. Standing
	// is the time that it says; zero where it says none.
	Deadline string
	Standing time.Time
}

// NodeOf projects n.
func NodeOf(n *corev1.Node) Node {
	r, out := millwright.Read(n.Annotations), Node{Conditions: n.Status.Conditions}
	out.Deadline, _ = r.Text(DeadlineAnnotation)
	out.Standing, _ = r.Time(DeadlineAnnotation)
	return out
}

// Change is what is to be written to a node.
type Change struct {
	// Conditions are to be set as they are here; all others stay.
	Conditions []corev1.NodeCondition
	// Deadline is what the annotation is to be, empty for none; nil leaves it.
	Deadline *string
}

// None reports whether there is nothing to write.
func (c Change) None() bool { return len(c.Conditions) == 0 && c.Deadline == nil }
