package lifecycle

import (
	"fmt"
	"slices"
	"strings"
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
		case c.Type == corev1.NodeReady, slices.Contains(p.UnhealthyConditions, string(c.Type)) && c.Status != corev1.ConditionFalse:
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
		if t.Effect == corev1.TaintEffectNoSchedule && slices.Contains(p.HoldingTaints, t.Key) {
			return "taint " + t.Key
		}
	}
	return ""
}

// Conditions puts a node's conditions into one line.
func Conditions(n *corev1.Node) string {
	if n == nil {
		return "[]"
	}
	out := make([]string, len(n.Status.Conditions))
	for i, c := range n.Status.Conditions {
		out[i] = fmt.Sprintf("%s=%s", c.Type, c.Status)
	}
	return "[" + strings.Join(out, " ") + "]"
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

// unreadyFor is for how long the node has been other than Ready; zero when it
// is Ready or never said so.
func unreadyFor(now time.Time, n *corev1.Node) time.Duration {
	c := Ready(n)
	if n == nil || c.Status == corev1.ConditionTrue || c.LastTransitionTime.IsZero() {
		return 0
	}
	return now.Sub(c.LastTransitionTime.Time)
}

// helpless reports whether the node has been in a state in which a drain cannot
// be expected to end for too long.
func (q question) helpless() bool {
	if q.p.UnreachableAfter <= 0 || q.w.Node == nil {
		return false
	}
	longest := unreadyFor(q.now, q.w.Node)
	for _, c := range q.w.Node.Status.Conditions {
		if slices.Contains(q.p.DefectConditions, string(c.Type)) && c.Status != corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
			longest = max(longest, q.now.Sub(c.LastTransitionTime.Time))
		}
	}
	return longest > q.p.UnreachableAfter
}
