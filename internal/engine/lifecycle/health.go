package lifecycle

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Healthy reports whether the node is Ready and none of the policy's unhealthy
// conditions is other than False. A condition that the node does not have is
// no objection, except Ready.
func Healthy(n *corev1.Node, p Policy) bool { return Ailment(n, p) == "" }

// Ailment names the first thing wrong with the node; empty when it is healthy.
func Ailment(n *corev1.Node, p Policy) string {
	if n == nil {
		return "there is no node"
	}
	ready := false
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue:
			ready = true
		case c.Type == corev1.NodeReady, slices.Contains(p.Health.Conditions, string(c.Type)) && c.Status != corev1.ConditionFalse:
			return fmt.Sprintf("%s is %s (%s)", c.Type, c.Status, c.Reason)
		}
	}
	if !ready {
		return "the node has not reported Ready"
	}
	return ""
}

// holdup names what keeps a node that just joined from counting as running;
// empty when nothing does.
func holdup(n *corev1.Node, p Policy) string {
	if a := Ailment(n, p); a != "" {
		return a
	}
	for _, t := range n.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoSchedule && slices.Contains(p.Join.HoldingTaints, t.Key) {
			return "taint " + t.Key
		}
	}
	return ""
}

// Ready returns the node's Ready condition; its status is Unknown where there
// is none.
func Ready(n *corev1.Node) corev1.NodeCondition {
	if n != nil {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c
			}
		}
	}
	return corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}
}

// Blocks reports whether m keeps another machine of its group from being given up: it is on its way in or out, or
// away for an update (section 2.5 of the Gardener notes). An outage that makes
// all of them unhealthy gets them replaced one by one.
func (m Machine) Blocks(now time.Time, other Machine) bool {
	return m.UID != other.UID && m.underway(now)
}

// underway reports whether the machine is on its way in or out. One that failed
// and has no owner is not: nobody replaces it, and it may stay for ever. Nor is
// one that failed and is kept, nor one that waits to be given up itself, nor one
// under deletion that is released: what others hold it for may take for ever.
func (m Machine) underway(now time.Time) bool {
	if !m.Deleted.IsZero() {
		return m.HasFinalizer
	}
	switch m.Stage {
	case StageRunning, StageLost, StageUpdateFailed:
		return false
	case StageFailed:
		return m.Owned && !now.Before(m.Preservation.Until)
	}
	return true
}

// helpless reports whether the node has been in a state in which a drain cannot
// be expected to end for too long.
func (q input) helpless() bool {
	if q.p.Drain.UnreachableAfter <= 0 || q.w.Node.Object == nil {
		return false
	}
	if c := Ready(q.w.Node.Object); c.Status != corev1.ConditionTrue && q.lasts(c) {
		return true
	}
	return slices.ContainsFunc(q.w.Node.Object.Status.Conditions, func(c corev1.NodeCondition) bool {
		return slices.Contains(q.p.Drain.DefectConditions, string(c.Type)) && c.Status != corev1.ConditionFalse && q.lasts(c)
	})
}

// lasts reports whether the node has been in the condition for too long; never
// when it does not say since when.
func (q input) lasts(c corev1.NodeCondition) bool {
	return !c.LastTransitionTime.IsZero() && q.left(c.LastTransitionTime.Time, q.p.Drain.UnreachableAfter) < 0
}
