package openshift

import (
	"slices"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// View returns the facts of a machine. It is ready when its node is, and usable unless it has failed.
func (deployedMachines) View(o client.Object, nodes dialect.Nodes) rollout.Machine {
	m := o.(*machinev1.Machine)
	n := nodeOf(m, nodes)
	v := rollout.Machine{
		Member: member(m, n),
		Joined: m.Status.NodeRef != nil,
		Seen:   n != nil,
		Marks:  marks(n),
	}
	if ref := m.Status.NodeRef; ref != nil {
		v.Node = ref.Name
	}
	v.Failed = v.Failed || ptr.Deref(m.Status.Phase, "") == machinev1.PhaseFailed
	v.Usable = v.Ready && !v.Failed
	return v
}

// asked reports whether m is marked to be deleted first, usually by the autoscaler.
func asked(m *machinev1.Machine) bool {
	return m.Annotations[DeleteMachineAnnotation] != "" || m.Annotations[OldDeleteMachineAnnotation] != ""
}

func marks(n *corev1.Node) (out rollout.Marks) {
	if n == nil {
		return out
	}
	out.Avoid = slices.ContainsFunc(n.Spec.Taints, isOutdated)
	stays := n.Annotations[ScaleDownDisabledAnnotation] == yes
	by, _ := millwright.Read(n.Annotations).Word(ScaleDownDisabledByAnnotation)
	ours := by == byRollout
	out.Stay, out.StayForeign = stays && ours, stays && !ours
	return out
}

func isOutdated(t corev1.Taint) bool {
	return t.Key == OutdatedKey && t.Effect == corev1.TaintEffectPreferNoSchedule
}

// MarkNode edits n to have the marks w. It does not change marks of other programs for the autoscaler.
func (deployedMachines) MarkNode(n *corev1.Node, w rollout.NodeWant) {
	have := marks(n)
	switch {
	case w.Avoid && !have.Avoid:
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: OutdatedKey, Effect: corev1.TaintEffectPreferNoSchedule})
	case !w.Avoid && have.Avoid:
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, isOutdated)
	}
	switch {
	case w.Stay && !have.Stay && !have.StayForeign:
		set(&n.Annotations, ScaleDownDisabledAnnotation, yes)
		set(&n.Annotations, ScaleDownDisabledByAnnotation, byRollout)
	case !w.Stay && have.Stay:
		delete(n.Annotations, ScaleDownDisabledAnnotation)
		delete(n.Annotations, ScaleDownDisabledByAnnotation)
	}
}
