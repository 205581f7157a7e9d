package openshift

import (
	"slices"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// NodeExistsCondition is False on a Running machine whose node is gone, and nowhere
// else: phase and nodeRef stay as they were, as clients expect, and do not tell.
const NodeExistsCondition machinev1.ConditionType = "NodeExists"

func recordNode(m *machinev1.Machine, o lifecycle.Outcome) {
	n := o.World.Node.Object
	if n == nil || m.DeletionTimestamp != nil {
		return
	}
	m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: n.Name, UID: n.UID}
}

// recordNodeLost says that the node is gone, until there is one again.
func recordNodeLost(m *machinev1.Machine, o lifecycle.Outcome) {
	if m.DeletionTimestamp != nil {
		return
	}
	if o.World.Node.Object != nil {
		m.Status.Conditions = slices.DeleteFunc(m.Status.Conditions, func(c machinev1.Condition) bool { return c.Type == NodeExistsCondition })
		return
	}
	if lost := o.World.NodeLost(Machines{}.View(m)); lost != "" {
		setCondition(m, machinev1.Condition{
			Type: NodeExistsCondition, Status: corev1.ConditionFalse, Severity: machinev1.ConditionSeverityWarning,
			Reason: string(lifecycle.ReasonNodeMissing), Message: lost,
		}, o.At)
	}
}
