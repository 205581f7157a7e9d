package explain

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

func ready(n *corev1.Node) corev1.NodeCondition { return lifecycle.Ready(n) }

// stopped returns the cause that the infrastructure reports.
func (q *input) stopped() []Cause {
	if q.Stopped == "" {
		return nil
	}
	return []Cause{{Source: "infrastructure", Reason: reasonStopped, Message: q.Stopped}}
}

func worst(n *corev1.Node, p lifecycle.Policy) string {
	if c := ready(n); c.Status != corev1.ConditionTrue {
		return "NotReady"
	}
	for _, c := range n.Status.Conditions {
		if slices.Contains(p.Health.Conditions, string(c.Type)) && c.Status != corev1.ConditionFalse {
			return string(c.Type)
		}
	}
	return "unwell"
}

// ailing returns the node's unhealthy conditions, Ready first.
func (q *input) ailing() (out []Cause) {
	if !q.HasNode() {
		return nil
	}
	for _, first := range []bool{true, false} {
		for _, c := range q.Node.Status.Conditions {
			isReady := c.Type == corev1.NodeReady
			bad := isReady && c.Status != corev1.ConditionTrue ||
				!isReady && slices.Contains(q.Policy.Health.Conditions, string(c.Type)) && c.Status != corev1.ConditionFalse
			if bad && isReady == first {
				out = append(out, Cause{
					Source: "node " + q.Node.Name, Reason: c.Reason, Since: c.LastTransitionTime.Time,
					Message: string(c.Type) + " is " + string(c.Status) + colon(c.Message),
				})
			}
		}
	}
	if len(out) == 0 && lifecycle.Ailment(q.Node, q.Policy) != "" {
		out = append(out, Cause{Source: "node " + q.Node.Name, Message: lifecycle.Ailment(q.Node, q.Policy)})
	}
	return out
}

// holdups returns why a node that has joined does not count as healthy.
func (q *input) holdups() []Cause {
	out := q.ailing()
	for _, t := range q.Node.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoSchedule && slices.Contains(q.Policy.Join.HoldingTaints, t.Key) {
			out = append(out, Cause{Source: "node " + q.Node.Name, Reason: "Taint", Message: "it has the taint " + t.Key + ", which is removed when its critical components are ready"})
		}
	}
	return out
}

func colon(message string) string {
	if message == "" {
		return ""
	}
	return ": " + clause(message)
}
