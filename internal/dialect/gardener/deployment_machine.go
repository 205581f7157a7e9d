package gardener

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// preferNoScheduleValue is the value of the taint on nodes of old sets, and of the annotation on the sets.
const preferNoScheduleValue = "True"

// View returns the facts of a machine and its node. Sets know by priorities that a machine was marked to be
// deleted first; deployments have a flag for it.
func (deployedMachines) View(o client.Object, nodes dialect.Nodes) rollout.Machine {
	m := o.(*v1alpha1.Machine)
	status := m.Status.CurrentStatus
	v := rollout.Machine{
		Member: member(m),
		Joined: status.Phase == v1alpha1.MachineRunning || len(copied(m.Status.Conditions)) > 0,
		Moved:  m.Labels[v1alpha1.LabelKeyNodeUpdateResult] == v1alpha1.LabelValueNodeUpdateSuccessful,
		Node:   m.Labels[v1alpha1.LabelKeyNode],
	}
	v.Asked = m.Annotations[v1alpha1.AnnotationKeyMachinePriority] == v1alpha1.MachinePriorityFirst
	if v.Ready {
		v.ReadySince = status.LastUpdateTime.Time
	}
	if v.Node == "" {
		return v
	}
	if n := nodes(v.Node); n != nil {
		v.Seen = true
		v.Marks = nodeMarks(n, v.Preservation.Started())
		v.Update = inplace.Update{Node: updateOf(n), Phase: stages[status.Phase].InPlace()}
	}
	return v
}

// nodeMarks reads the marks of a rollout on nodes. The annotations that keep the autoscaler away are shared
// with preservation, to which they belong while it lasts.
func nodeMarks(n *corev1.Node, preserved bool) rollout.Marks {
	ours := staysForUs(n) && !preserved
	return rollout.Marks{
		Avoid: slices.ContainsFunc(n.Spec.Taints, isAvoid),
		Stay:  stays(n) && ours, StayForeign: stays(n) && !ours,
	}
}

func isAvoid(t corev1.Taint) bool {
	return t.Key == v1alpha1.TaintKeyPreferNoSchedule && t.Effect == corev1.TaintEffectPreferNoSchedule
}

// stays reports whether the autoscaler is kept from removing n.
func stays(n *corev1.Node) bool {
	return n.Annotations[v1alpha1.AnnotationKeyScaleDownDisabled] == "true"
}

// staysForUs reports whether a rollout keeps it from that: the annotations belong to the machine controllers,
// and not to preservation, as far as n shows.
func staysForUs(n *corev1.Node) bool {
	preserved := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == v1alpha1.NodePreserved && c.Reason != v1alpha1.ReasonPreservationStopped
	})
	return n.Annotations[v1alpha1.AnnotationKeyScaleDownDisabledByUs] == "true" && !preserved
}

// MarkForDeletion edits m to be deleted before others.
func (deployedMachines) MarkForDeletion(m client.Object, at time.Time) {
	setAnnotation(m, v1alpha1.AnnotationKeyMachinePriority, v1alpha1.MachinePriorityFirst)
	setAnnotation(m, v1alpha1.AnnotationKeyMarkedForDeletionTime, at.UTC().Format(time.RFC3339))
}

// Move edits m, an updated machine, to be controlled and selected by another set. Its spec stays: instance,
// class and credentials are those of its creation. The owner keeps its position among the references, because
// clients read the first one.
func (deployedMachines) Move(o client.Object, from, to *v1alpha1.MachineSet) {
	m := o.(*v1alpha1.Machine)
	either := func(r metav1.OwnerReference) bool { return r.UID == from.UID || r.UID == to.UID }
	place := max(0, slices.IndexFunc(m.OwnerReferences, either))
	others := slices.DeleteFunc(slices.Clone(m.OwnerReferences), either)
	m.OwnerReferences = slices.Insert(others, place, *metav1.NewControllerRef(to, Sets{}.Traits().Kind))
	if m.Labels == nil {
		m.Labels = map[string]string{}
	}
	for key := range selected(from) {
		delete(m.Labels, key)
	}
	for key, value := range selected(to) {
		m.Labels[key] = value
	}
	m.Labels[v1alpha1.LabelKeyNodeUpdateResult] = v1alpha1.LabelValueNodeUpdateSuccessful
}

// selected returns the labels by which s selects its machines.
func selected(s *v1alpha1.MachineSet) map[string]string {
	if s.Spec.Selector == nil {
		return nil
	}
	return s.Spec.Selector.MatchLabels
}

// Unprotect removes the protection of m, for which its new set has room.
func (deployedMachines) Unprotect(m client.Object) {
	delete(m.GetLabels(), v1alpha1.LabelKeyNodeUpdateResult)
}

// MarkNode edits n to have the marks w.
func (deployedMachines) MarkNode(n *corev1.Node, w rollout.NodeWant) {
	ask(n, w.Update)
	avoid(n, w.Avoid && w.Update != inplace.WishRelease)
	stay(n, w.Stay)
}

func avoid(n *corev1.Node, want bool) {
	switch has := slices.ContainsFunc(n.Spec.Taints, isAvoid); {
	case has && !want:
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, isAvoid)
	case want && !has:
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
			Key: v1alpha1.TaintKeyPreferNoSchedule, Value: preferNoScheduleValue, Effect: corev1.TaintEffectPreferNoSchedule,
		})
	}
}

// stay does not change the annotations of other programs.
func stay(n *corev1.Node, want bool) {
	switch {
	case want && !stays(n):
		dialect.SetAnnotation(n, v1alpha1.AnnotationKeyScaleDownDisabled, "true")
		dialect.SetAnnotation(n, v1alpha1.AnnotationKeyScaleDownDisabledByUs, "true")
	case !want && stays(n) && staysForUs(n):
		delete(n.Annotations, v1alpha1.AnnotationKeyScaleDownDisabled)
		delete(n.Annotations, v1alpha1.AnnotationKeyScaleDownDisabledByUs)
	}
}
