package drain

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/millwright"
)

// OrderAnnotation on a pod says when it leaves a drained node: pods with a lower number (an integer, may be
// negative) have left before pods with a higher one are evicted. The default is 0; a value that is not an
// integer counts as 0. Priorities set the order of pods with volumes only.
const OrderAnnotation = millwright.DrainOrder

// order returns the pod's number.
func order(p *corev1.Pod) int {
	n, _ := millwright.Read(p.Annotations).Integer(OrderAnnotation)
	return n
}

// turns say which pods may be evicted now.
type turns struct {
	// lead is when the first pod may be evicted; zero: at any time.
	lead time.Time
	// order is the order of the pods whose turn it is.
	order int
	// serial is the pod whose turn it is, of the pods that leave one after another; empty: no such pod may
	// leave now.
	serial types.UID
}

// turnsOf looks at the pods that have to leave: the turn of an order lasts until all of its pods have left.
// Pods that the drain no longer waits for do not delay other pods.
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

// serialTurn returns the most important pod with volumes that may be evicted, as long as no other pod with
// volumes terminates, and no volume of a deleted pod is moving.
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
			return q.pod.UID // accepted before, without effect
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

// overdue reports whether a terminating pod has used up its time, and that of its volumes: the next pod with
// volumes no longer waits for it.
func (q input) overdue() bool {
	d := q.policy.DetachTimeout
	return d > 0 && q.policy.Connectivity.Remaining(q.pod.DeletionTimestamp.Time, d, q.now) < 0
}

func priority(p *corev1.Pod) int32 { return ptr.Deref(p.Spec.Priority, 0) }

// waitsFor returns why the pod cannot be evicted yet; empty if it can.
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

// lead returns when the time between cordon and first request ends; zero: there is no such time. It starts at
// the taint that comes with a cordon, otherwise at the first observation.
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
