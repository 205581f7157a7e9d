// Package interruption decides which conditions a node gets from the notices of its cloud: the cloud reclaims
// the instance, is likely to do so soon, or plans maintenance.
//
// A condition is withdrawn only when the cloud has reported that the notice is over. A failed request changes
// nothing.
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
	// Termination: the cloud reclaims the instance, or it ends for another reason.
	Termination Kind = "Termination"
	// Rebalance: the instance is likely to be reclaimed soon.
	Rebalance Kind = "Rebalance"
	// Maintenance: the instance will be restarted, paused or moved.
	Maintenance Kind = "Maintenance"
)

// Kinds are all kinds, the most serious first.
var Kinds = []Kind{Termination, Rebalance, Maintenance}

// Notice is one announcement of the cloud.
type Notice struct {
	Kind Kind
	// Action is the cloud's word for the event: "terminate", "Preempt".
	Action string
	// At is the earliest time of the event; zero if the cloud does not report one.
	At time.Time
	// Grace is how long the instance has from the notice on, for clouds that promise a period instead of a
	// time.
	Grace time.Duration
	// Detail is the rest of the cloud's text, for people.
	Detail string
}

// Report is the result of reading the cloud's metadata once. The zero Report is empty: it neither has notices
// nor says that no notice exists.
type Report struct {
	Notices []Notice
	// Clear are the kinds for which the cloud has reported that there is no notice, at every endpoint that
	// would report one.
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

// Empty reports whether a report is empty.
func (r Report) Empty() bool {
	for _, k := range Kinds {
		if r.Has(k) || r.Clear[k] {
			return false
		}
	}
	return true
}

// Merge adds a new report to the known one: a notice stands until a report about its kind differs. Clear
// counts only in the report that has it.
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
	// Terminating is True while the instance is marked for termination. Other programs write a condition of
	// this type too, for other reasons.
	Terminating corev1.NodeConditionType = "Terminating"
	// RebalanceRecommended is True while the instance is likely to be reclaimed soon.
	RebalanceRecommended corev1.NodeConditionType = "RebalanceRecommended"
	// MaintenanceScheduled is True while work on the instance is planned.
	MaintenanceScheduled corev1.NodeConditionType = "MaintenanceScheduled"
)

// The reasons of the node conditions.
const (
	// ReasonTerminationRequested is the original's reason of Terminating.
	ReasonTerminationRequested = "TerminationRequested"
	// ReasonCapacityAtRisk is the reason of RebalanceRecommended.
	ReasonCapacityAtRisk = "CapacityAtRisk"
	// ReasonMaintenanceNotice is the reason of MaintenanceScheduled.
	ReasonMaintenanceNotice = "MaintenanceNotice"
	// ReasonWithdrawn is the reason for status False: there was a notice, and the cloud has withdrawn it.
	ReasonWithdrawn = "NoticeWithdrawn"
)

const (
	// MessageTerminating is the original's message of Terminating.
	MessageTerminating = "The cloud provider has marked this instance for termination"
	messageWithdrawn   = "The cloud provider has withdrawn its notice"
)

// DeadlineAnnotation on a node is when its instance ends, in RFC 3339: pods have to leave before that time.
const DeadlineAnnotation = millwright.TerminationDeadline

// Node has the relevant facts of a node.
type Node struct {
	Conditions []corev1.NodeCondition
	// Deadline is the value of the annotation; empty if none exists. Standing is its time; zero if it has
	// no valid time.
	Deadline string
	Standing time.Time
}

// NodeOf returns the relevant facts of n.
func NodeOf(n *corev1.Node) Node {
	r, out := millwright.Read(n.Annotations), Node{Conditions: n.Status.Conditions}
	out.Deadline, _ = r.Text(DeadlineAnnotation)
	out.Standing, _ = r.Time(DeadlineAnnotation)
	return out
}

// Change has the changes to write to a node.
type Change struct {
	// Conditions are the conditions to set; all others stay.
	Conditions []corev1.NodeCondition
	// Deadline is the new value of the annotation; empty removes it, nil leaves it.
	Deadline *string
}

// None reports whether there is nothing to write.
func (c Change) None() bool { return len(c.Conditions) == 0 && c.Deadline == nil }
