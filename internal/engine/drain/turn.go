package drain

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/millwright"
)

// OrderAnnotation on a pod says when it leaves a node that is drained: pods with
// a lower number (an integer, negative ones too) are gone before those with a
// higher one are asked. Pods without it have 0; what is no integer counts as 0.
// Priorities give no order, but among pods with volumes.
const OrderAnnotation = millwright.DrainOrder

// order is the pod's place.
func order(p *corev1.Pod) int {
	n, _ := millwright.Read(p.Annotations).Integer(OrderAnnotation)
	return n
}

// turns say who may be asked to leave now.
type turns struct {
	// lead is when the first may be; zero: at any time.
	lead time.Time
	// order is the order of the pods whose turn it is.
	order int
	// serial is the one pod, of those that leave one after another, whose turn it
	// is; empty: none.
	serial types.UID
}

// turnsOf looks at the pods that must go: an order's turn lasts until all of its
// pods are gone, and pods that are written off hold nobody up.
func turnsOf(pods []input, l look) turns {
	t := turns{lead: l.lead()}
	leaving := slices.DeleteFunc(slices.Clone(pods), func(q input) bool { return q.stays() != "" })
	for i, q := range leaving {
		if n := order(q.pod); i == 0 || n < t.order {
			t.order = n
		}
	}
	t.serial = serialTurn(leaving, t.order, l)
	return t
}

// serialTurn is the turn of the most important pod that may be asked, as long
// as no other with volumes is on its way, and no volume of one that has gone.
func serialTurn(leaving []input, turn int, l look) types.UID {
	var best *input
	for i, q := range leaving {
		n := order(q.pod)
		switch {
		case !q.serial:
		case q.pod.DeletionTimestamp != nil && !q.overdue():
			return ""
		case q.pod.DeletionTimestamp != nil:
		case (q.attempt.Accepted || q.attempt.Unclear) && q.tooEarly():
			return ""
		case q.attempt.Accepted:
			return q.pod.UID // granted before, to no effect
		case q.tooEarly() || n > turn:
		case best == nil || priority(q.pod) > priority(best.pod):
			best = &leaving[i]
		}
	}
	if best == nil || l.volumesMove() {
		return ""
	}
	return best.pod.UID
}

// overdue reports whether a terminating pod has had its time, and that of its
// volumes: the next one with volumes does not wait for it any longer.
func (q input) overdue() bool {
	d := q.policy.DetachTimeout
	return d > 0 && q.policy.Connectivity.Remaining(q.pod.DeletionTimestamp.Time, d, q.now) < 0
}

func priority(p *corev1.Pod) int32 { return ptr.Deref(p.Spec.Priority, 0) }

// waitsFor says why the pod may not be asked yet; empty when it may.
func (q input) waitsFor() Reason {
	n := order(q.pod)
	switch {
	case q.policy.Force, q.policy.hurried():
		return ""
	case q.now.Before(q.turns.lead):
		return ReasonLead
	case n > q.turns.order, q.serial && q.pod.UID != q.turns.serial:
		return ReasonTurn
	}
	return ""
}

func (q input) queued() Blocker {
	b := Blocker{Pod: q.name(), Reason: q.waitsFor(), Until: q.now.Add(pollMost)}
	if b.Reason == ReasonLead {
		b.Until = q.turns.lead
	}
	return b
}

// lead is when the time between cordon and first request ends; zero: it has not
// to be kept. It is counted from the taint that goes with a cordon, else from
// the first look.
func (l look) lead() time.Time {
	p := l.policy
	if p.CordonLead <= 0 || p.Force || p.hurried() || p.NodeUnreachable {
		return time.Time{}
	}
	from := l.memory.Begun
	if l.facts.Node != nil {
		for _, t := range l.facts.Node.Spec.Taints {
			if t.Key == corev1.TaintNodeUnschedulable && t.TimeAdded != nil && t.TimeAdded.Time.Before(from) {
				from = t.TimeAdded.Time
			}
		}
	}
	return from.Add(p.CordonLead)
}
