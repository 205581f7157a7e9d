package openshift

import (
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// NodeExistsCondition is False on a Running machine whose node does not exist, and Unknown if the target
// cluster is not trusted about that; otherwise it is absent. Phase and nodeRef stay as they were, as clients
// expect, and do not show it.
const NodeExistsCondition machinev1.ConditionType = "NodeExists"

func recordNode(m *machinev1.Machine, o lifecycle.Outcome) {
	n := o.World.Node.Object
	if n == nil || m.DeletionTimestamp != nil {
		return
	}
	Machines{}.Link(m, n)
}

var _ dialect.Linker[*machinev1.Machine] = Machines{}

// Link implements [dialect.Linker]. A reference to the same node with more fields than the original's three
// stays as it is.
func (Machines) Link(m *machinev1.Machine, n *corev1.Node) bool {
	if ref := m.Status.NodeRef; ref != nil && ref.Kind == "Node" && ref.Name == n.Name && ref.UID == n.UID {
		return false
	}
	m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: n.Name, UID: n.UID}
	return true
}

// Stamp implements [dialect.Linker].
func (Machines) Stamp(m *machinev1.Machine, at time.Time) {
	m.Status.LastUpdated = ptr.To(metav1.NewTime(at.Truncate(time.Second)))
}

// Stamped implements [dialect.Linker].
func (Machines) Stamped(m *machinev1.Machine) time.Time {
	return ptr.Deref(m.Status.LastUpdated, metav1.Time{}).Time
}

// recordNodeLost records that the node does not exist, until there is one again.
func recordNodeLost(m *machinev1.Machine, o lifecycle.Outcome) {
	if o.Decision.TargetDistrusted() {
		setCondition(m, machinev1.Condition{Type: NodeExistsCondition, Status: corev1.ConditionUnknown, Reason: string(o.Reason), Message: o.Message}, o.At)
		return
	}
	over := find(m, NodeExistsCondition).Status == corev1.ConditionUnknown && o.World.Node.Looked
	if m.DeletionTimestamp != nil && !over {
		return
	}
	if o.World.Node.Object != nil || over {
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
