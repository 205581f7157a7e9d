package why

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/lifecycle"
)

func ready(n *corev1.Node) corev1.NodeCondition { return lifecycle.Ready(n) }

// nodeLost is about a machine that ran and whose node does not exist.
func nodeLost(q *question) *finding {
	if !q.View.HadNode() || !q.NodeLooked || q.Node != nil {
		return nil
	}
	f := &finding{
		state: Failed, reason: string(lifecycle.ReasonNodeMissing), text: "is not healthy: its node " + q.View.NodeName + " does not exist",
		chain: append(q.stopped(), quote(q.latest())...),
		next:  "delete the machine, unless a health check does: the node object does not come back unless its kubelet registers anew",
	}
	if q.Policy.NodeLossDeletes {
		f.next = "wait: the machine is replaced"
	}
	return f
}

// nodeUnwell is about a machine that ran and whose node is not healthy.
func nodeUnwell(q *question) *finding {
	linked := q.View.HadNode() || q.View.Stage == lifecycle.StageJoining
	if !linked || !q.HasNode() {
		return nil
	}
	causes := q.ailing()
	if len(causes) == 0 {
		return nil
	}
	held, remedy := q.checked()
	f := &finding{
		state: Degraded, reason: string(lifecycle.ReasonNodeUnhealthy), chain: slices.Concat(q.stopped(), causes, held),
		text: "is not healthy: its node " + q.Node.Name + " has been " + worst(q.Node, q.Policy) + lasting(q.now, causes[0].Since),
		next: "look at the node: `kubectl describe node " + q.Node.Name + "`; " + remedy,
	}
	if q.Stopped != "" {
		f.reason, f.next = reasonStopped, "find out what stopped the instance, and start it or delete the machine; "+remedy
	}
	if t := q.Policy.HealthTimeout; q.Policy.TracksHealth && t > 0 && !q.View.StageSince.IsZero() && q.View.Stage == lifecycle.StageLost {
		left := q.View.StageSince.Add(t).Sub(q.now)
		f.next = "look at the node now, if at all: in " + span(left) + " the machine is given up and replaced"
		if q.Stopped != "" {
			f.next = "find out what stopped the instance; in " + span(left) + " the machine is given up and replaced, and at once where you delete it"
		}
		if left <= 0 {
			f.reason = string(lifecycle.ReasonFailureWithheld)
			f.chain = append(f.chain, Cause{Reason: f.reason, Message: "its time of " + span(t) + " is over, but machines of one deployment are given up one at a time, and none while the controllers do not see the cluster well"})
			f.next = "look at the other machines of the deployment, and at the log of the machine controller"
		}
	}
	return f
}

// reasonStopped is that of machines whose instance does not run.
const reasonStopped = "InstanceStopped"

// stopped is the cause that the infrastructure names.
func (q *question) stopped() []Cause {
	if q.Stopped == "" {
		return nil
	}
	return []Cause{{Source: "infrastructure", Reason: reasonStopped, Message: q.Stopped}}
}

// instanceStopped is about a machine whose node does not know yet that its instance
// does not run.
func instanceStopped(q *question) *finding {
	if q.Stopped == "" {
		return nil
	}
	return &finding{
		state: Degraded, reason: reasonStopped, text: "is not healthy: " + q.Stopped, chain: quote(q.latest()),
		next: "find out what stopped the instance, and start it or delete the machine",
	}
}

func worst(n *corev1.Node, p lifecycle.Policy) string {
	if c := ready(n); c.Status != corev1.ConditionTrue {
		return "NotReady"
	}
	for _, c := range n.Status.Conditions {
		if slices.Contains(p.UnhealthyConditions, string(c.Type)) && c.Status != corev1.ConditionFalse {
			return string(c.Type)
		}
	}
	return "unwell"
}

// ailing are the node's conditions that are not as they should be, Ready first.
func (q *question) ailing() (out []Cause) {
	if !q.HasNode() {
		return nil
	}
	for _, first := range []bool{true, false} {
		for _, c := range q.Node.Status.Conditions {
			isReady := c.Type == corev1.NodeReady
			bad := isReady && c.Status != corev1.ConditionTrue ||
				!isReady && slices.Contains(q.Policy.UnhealthyConditions, string(c.Type)) && c.Status != corev1.ConditionFalse
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

// holdups are what keeps a node that has joined from counting.
func (q *question) holdups() []Cause {
	out := q.ailing()
	for _, t := range q.Node.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoSchedule && slices.Contains(q.Policy.HoldingTaints, t.Key) {
			out = append(out, Cause{Source: "node " + q.Node.Name, Reason: "Taint", Message: "it has the taint " + t.Key + ", which goes when its critical components are ready"})
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
