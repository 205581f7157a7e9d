package lifecycle

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Healthy reports whether the node is Ready and none of the policy's unhealthy conditions is other than
// False. A missing condition is no objection, except Ready.
func Healthy(n *corev1.Node, p Policy) bool { return Ailment(n, p) == "" }

// Ailment returns the first problem of the node; empty if it is healthy.
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

// holdup returns why a node that has just joined does not count as running; empty if it does.
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

// Ready returns the node's Ready condition; its status is Unknown if none exists.
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

// Blocks reports whether m keeps another machine of its group from failing: it is being created or deleted,
// or is unavailable for an update (section 2.5 of the Gardener notes). So an outage that makes all of them
// unhealthy gets them replaced one by one.
func (m Machine) Blocks(now time.Time, other Machine) bool {
	return m.UID != other.UID && m.underway(now)
}

// underway reports whether the machine is being created or deleted. A failed machine without an owner is not:
// no controller replaces it, and it may stay for ever. Nor is a failed machine that is kept, nor one that
// waits to fail itself, nor a released one under deletion: finalizers of other programs may hold it for ever.
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

// helpless reports whether the node has been for too long in a state in which a drain cannot be expected to
// end.
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

// lasts reports whether the node has had the condition for too long; never if the condition has no transition
// time.
func (q input) lasts(c corev1.NodeCondition) bool {
	return !c.LastTransitionTime.IsZero() && q.left(c.LastTransitionTime.Time, q.p.Drain.UnreachableAfter) < 0
}
