package openshift

import (
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// ViewMachine projects a machine. It is ready when its node is, and usable as
// long as it was not given up.
func (l Deployments) ViewMachine(o client.Object, n *corev1.Node) rollout.Machine {
	m := o.(*machinev1.Machine)
	v := rollout.Machine{
		Member: member(m, n),
		Joined: m.Status.NodeRef != nil,
		Node:   l.NodeName(m),
		Seen:   n != nil,
		Marks:  marks(n),
	}
	v.Failed = v.Failed || ptr.Deref(m.Status.Phase, "") == machinev1.PhaseFailed
	v.Usable = v.Ready && !v.Failed
	return v
}

// asked reports whether somebody, mostly the autoscaler, wants m to go first.
func asked(m *machinev1.Machine) bool {
	return m.Annotations[DeleteMachineAnnotation] != "" || m.Annotations[OldDeleteMachineAnnotation] != ""
}

func marks(n *corev1.Node) (out rollout.Marks) {
	if n == nil {
		return out
	}
	out.Avoid = slices.ContainsFunc(n.Spec.Taints, isOutdated)
	stays := n.Annotations[ScaleDownDisabledAnnotation] == yes
	ours := n.Annotations[ScaleDownDisabledByAnnotation] == byRollout
	out.Stay, out.StayForeign = stays && ours, stays && !ours
	return out
}

func isOutdated(t corev1.Taint) bool {
	return t.Key == OutdatedKey && t.Effect == corev1.TaintEffectPreferNoSchedule
}

// NodeName implements [dialect.Deployments].
func (Deployments) NodeName(o client.Object) string {
	if ref := o.(*machinev1.Machine).Status.NodeRef; ref != nil {
		return ref.Name
	}
	return ""
}

// MarkForDeletion asks for m as the autoscaler of this API does.
func (Deployments) MarkForDeletion(o client.Object, at time.Time) {
	m := o.(*machinev1.Machine)
	set(&m.Annotations, DeleteMachineAnnotation, at.UTC().Format(time.RFC3339))
}

// MarkNode edits n to carry what w says. What somebody else asked the
// autoscaler for is left alone.
func (Deployments) MarkNode(n *corev1.Node, w rollout.NodeWant) {
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
