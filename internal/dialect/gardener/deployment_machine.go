package gardener

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// preferNoScheduleValue is the value of the taint on nodes of old sets, and of
// the annotation on the sets.
const preferNoScheduleValue = "True"

// nodeLabelTrue is the value of the labels that ask for an update in place.
const nodeLabelTrue = "true"

// View projects a machine and its node. What sets know by priorities, that a
// machine was asked to go first, deployments ask for in one word.
func (deployedMachines) View(o client.Object, nodes dialect.Nodes) rollout.Machine {
	m := o.(*v1alpha1.Machine)
	status := m.Status.CurrentStatus
	v := rollout.Machine{
		Member: member(m),
		Joined: status.Phase == v1alpha1.MachineRunning || len(m.Status.Conditions) > 0,
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
		v.Marks = nodeMarks(n, v.Preservation.Begun())
		v.Update = updateOf(n, status.Phase)
	}
	return v
}

// nodeMarks reads what a rollout puts on nodes. The annotations that keep the
// autoscaler away are shared with preservation, whose they are while it lasts.
func nodeMarks(n *corev1.Node, preserved bool) rollout.Marks {
	candidate := n.Labels[v1alpha1.LabelKeyNodeCandidateForUpdate] == nodeLabelTrue
	selected := n.Labels[v1alpha1.LabelKeyNodeSelectedForUpdate] == nodeLabelTrue
	result := n.Labels[v1alpha1.LabelKeyNodeUpdateResult]
	ours := staysForUs(n) && !preserved
	return rollout.Marks{
		Avoid: slices.ContainsFunc(n.Spec.Taints, isAvoid),
		Stay:  stays(n) && ours, StayForeign: stays(n) && !ours,
		Candidate: candidate, Selected: selected,
		Updated:      result == v1alpha1.LabelValueNodeUpdateSuccessful,
		UpdateFailed: result == v1alpha1.LabelValueNodeUpdateFailed,
	}
}

func isAvoid(t corev1.Taint) bool {
	return t.Key == v1alpha1.TaintKeyPreferNoSchedule && t.Effect == corev1.TaintEffectPreferNoSchedule
}

// stays reports whether the autoscaler is kept from removing n.
func stays(n *corev1.Node) bool {
	return n.Annotations[v1alpha1.AnnotationKeyScaleDownDisabled] == "true"
}

// staysForUs reports whether a rollout keeps it from that: the annotations are
// of the machine controllers, and not of preservation, as far as n tells.
func staysForUs(n *corev1.Node) bool {
	preserved := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == v1alpha1.NodePreserved && c.Reason != v1alpha1.ReasonPreservationStopped
	})
	return n.Annotations[v1alpha1.AnnotationKeyScaleDownDisabledByUs] == "true" && !preserved
}

// updateOf is how far an update in place is. The node agent answers by a
// label, the machine controller repeats the answer in a condition; labels that
// were taken away begin a new attempt, to which an answer that comes afterwards
// is none.
func updateOf(n *corev1.Node, phase v1alpha1.MachinePhase) rollout.Update {
	candidate := n.Labels[v1alpha1.LabelKeyNodeCandidateForUpdate] == nodeLabelTrue
	selected := n.Labels[v1alpha1.LabelKeyNodeSelectedForUpdate] == nodeLabelTrue
	result, step := n.Labels[v1alpha1.LabelKeyNodeUpdateResult], updateStep(n)
	succeeded := result == v1alpha1.LabelValueNodeUpdateSuccessful
	switch {
	case result != "" && !selected && (!candidate || !answering(phase)):
		return rollout.UpdateNone
	case result == v1alpha1.LabelValueNodeUpdateFailed:
		return rollout.UpdateFailed
	case succeeded && step == v1alpha1.ReasonUpdateSuccessful && phase != v1alpha1.MachineInPlaceUpdating:
		return rollout.UpdateDone
	case succeeded:
		return rollout.UpdateUnderway
	case !candidate && !selected && phase != v1alpha1.MachineInPlaceUpdating:
		return rollout.UpdateNone
	case step == v1alpha1.ReasonUpdateFailed, timedOut(step, phase):
		return rollout.UpdateFailed
	case selected, phase == v1alpha1.MachineInPlaceUpdating:
		return rollout.UpdateUnderway
	}
	return rollout.UpdateCandidate
}

// answering reports whether a machine's controller takes the answer for that of
// an update which was begun, even if it was called off since.
func answering(phase v1alpha1.MachinePhase) bool {
	switch phase {
	case v1alpha1.MachineInPlaceUpdating, v1alpha1.MachineInPlaceUpdateSuccessful, v1alpha1.MachineInPlaceUpdateFailed:
		return true
	}
	return false
}

// updateStep is the reason of the condition; empty where there is none.
func updateStep(n *corev1.Node) string {
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == v1alpha1.NodeInPlaceUpdate })
	if i < 0 {
		return ""
	}
	return n.Status.Conditions[i].Reason
}

// timedOut reports whether the machine was given up waiting for the agent's
// answer. At the earlier steps the same phase is left from another attempt.
func timedOut(step string, phase v1alpha1.MachinePhase) bool {
	answering := step == v1alpha1.ReasonDrainSuccessful || step == v1alpha1.ReasonReadyForUpdate
	return answering && phase == v1alpha1.MachineInPlaceUpdateFailed
}

// MarkForDeletion edits m to be given up before others.
func (deployedMachines) MarkForDeletion(m client.Object, at time.Time) {
	setAnnotation(m, v1alpha1.AnnotationKeyMachinePriority, v1alpha1.MachinePriorityFirst)
	setAnnotation(m, v1alpha1.AnnotationKeyMarkedForDeletionTime, at.UTC().Format(time.RFC3339))
}

// Move edits m, an updated machine, to be controlled and selected by another
// set. Its spec stays: instance, class and credentials are those that it was
// made with. The owner stays in its place among the references, because
// clients look at the first.
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

// selected are the labels by which s selects its machines.
func selected(s *v1alpha1.MachineSet) map[string]string {
	if s.Spec.Selector == nil {
		return nil
	}
	return s.Spec.Selector.MatchLabels
}

// Unprotect edits m, which its new set has room for, to be like any other.
func (deployedMachines) Unprotect(m client.Object) {
	delete(m.GetLabels(), v1alpha1.LabelKeyNodeUpdateResult)
}

// MarkNode edits n to carry what w says.
func (deployedMachines) MarkNode(n *corev1.Node, w rollout.NodeWant) {
	if w.Release {
		release(n)
	}
	avoid(n, w.Avoid && !w.Release)
	stay(n, w.Stay)
	markLabel(n, v1alpha1.LabelKeyNodeCandidateForUpdate, w.Candidate && !w.Release)
	markLabel(n, v1alpha1.LabelKeyNodeSelectedForUpdate, w.Selected && !w.Release)
}

// release ends an update in place. The node takes pods again as soon as its
// critical components, which were updated with it, are ready: whoever knows
// them takes the taint away.
func release(n *corev1.Node) {
	delete(n.Labels, v1alpha1.LabelKeyNodeUpdateResult)
	delete(n.Annotations, v1alpha1.AnnotationKeyUpdateFailedReason)
	n.Spec.Unschedulable = false
	isCritical := func(t corev1.Taint) bool {
		return t.Key == v1alpha1.TaintKeyCriticalComponentsNotReady && t.Effect == corev1.TaintEffectNoSchedule
	}
	if !slices.ContainsFunc(n.Spec.Taints, isCritical) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: v1alpha1.TaintKeyCriticalComponentsNotReady, Effect: corev1.TaintEffectNoSchedule})
	}
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

// stay leaves alone what somebody else asked for.
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

func markLabel(n *corev1.Node, key string, want bool) {
	switch {
	case !want:
		delete(n.Labels, key)
	case n.Labels[key] != nodeLabelTrue:
		n.Labels = labelled(n.Labels, key, nodeLabelTrue)
	}
}
