package gardener

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// marks has the reasons of the node condition InPlaceUpdate, and its message for each.
var marks = []struct {
	mark            inplace.Mark
	reason, message string
}{
	{inplace.MarkCandidate, v1alpha1.ReasonCandidateForUpdate, "The node may be selected for an in-place update"},
	{inplace.MarkSelected, v1alpha1.ReasonSelectedForUpdate, "The node is being drained for an in-place update"},
	{inplace.MarkDrained, v1alpha1.ReasonDrainSuccessful, "The node was drained for an in-place update"},
	{inplace.MarkReady, v1alpha1.ReasonReadyForUpdate, "The node agent may update the node in place"},
	{inplace.MarkUpdated, v1alpha1.ReasonUpdateSuccessful, "The node was updated in place"},
	{inplace.MarkFailed, v1alpha1.ReasonUpdateFailed, "The in-place update of the node failed"},
}

// nodeLabelTrue is the value of the labels that request an update.
const nodeLabelTrue = "true"

// Update implements [dialect.InPlaceUpdater].
func (Machines) Update(n *corev1.Node) inplace.Node { return updateOf(n) }

// updateOf reads the labels with the request and the answer of an update, and the condition with its
// progress.
func updateOf(n *corev1.Node) inplace.Node {
	u := inplace.Node{Request: inplace.RequestOf(
		n.Labels[v1alpha1.LabelKeyNodeCandidateForUpdate] == nodeLabelTrue, n.Labels[v1alpha1.LabelKeyNodeSelectedForUpdate] == nodeLabelTrue,
	)}
	switch n.Labels[v1alpha1.LabelKeyNodeUpdateResult] {
	case "":
	case v1alpha1.LabelValueNodeUpdateSuccessful:
		u.Answer = inplace.AnswerDone
	case v1alpha1.LabelValueNodeUpdateFailed:
		u.Answer, u.Detail = inplace.AnswerFailed, n.Annotations[v1alpha1.AnnotationKeyUpdateFailedReason]
	default:
		u.Answer = inplace.AnswerUnknown
	}
	for _, c := range n.Status.Conditions {
		if c.Type == v1alpha1.NodeInPlaceUpdate {
			u.Mark, u.Since = markOf(c), c.LastTransitionTime.Time
		}
	}
	return u
}

// ask edits the labels of n to request w.
func ask(n *corev1.Node, w inplace.Wish) {
	if w == inplace.WishRelease {
		release(n)
	}
	markLabel(n, v1alpha1.LabelKeyNodeCandidateForUpdate, w.Request().Candidate())
	markLabel(n, v1alpha1.LabelKeyNodeSelectedForUpdate, w.Request().Selected())
}

func markLabel(n *corev1.Node, key string, want bool) {
	switch {
	case !want:
		delete(n.Labels, key)
	case n.Labels[key] != nodeLabelTrue:
		n.Labels = labelled(n.Labels, key, nodeLabelTrue)
	}
}

// release ends an update in place. The node accepts pods again as soon as its critical components, which were
// updated with it, are ready: the program that manages them removes the taint.
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

// markOf reads the condition. An unknown reason counts as none: the update begins with the first step.
func markOf(c corev1.NodeCondition) inplace.Mark {
	for _, m := range marks {
		if m.reason == c.Reason {
			return m.mark
		}
	}
	return inplace.MarkNone
}

// Marked returns the condition for a mark. Its status has no meaning, the reason has. A condition without a
// reason has to be removed.
func (Machines) Marked(mark inplace.Mark) corev1.NodeCondition {
	c := corev1.NodeCondition{Type: v1alpha1.NodeInPlaceUpdate, Status: corev1.ConditionTrue}
	for _, m := range marks {
		if m.mark == mark {
			c.Reason, c.Message = m.reason, m.message
		}
	}
	return c
}

// updateOperation returns the operation of an update in place; nil if the pass did not concern one.
func updateOperation(m *v1alpha1.Machine, was lifecycle.Stage, o lifecycle.Outcome) *v1alpha1.LastOperation {
	say := func(t v1alpha1.MachineOperationType, s v1alpha1.MachineState, text string) *v1alpha1.LastOperation {
		return &v1alpha1.LastOperation{Type: t, State: s, Description: text}
	}
	last := m.Status.LastOperation
	switch {
	case o.Reason == lifecycle.ReasonUpdateDraining:
		return say(v1alpha1.MachineOperationDrainNode, v1alpha1.MachineStateProcessing,
			"Drain is not done yet: "+o.Message+". Will retry in next sync.")
	case o.Stage == lifecycle.StageUpdating && was != o.Stage:
		return say(v1alpha1.MachineOperationInPlaceUpdate, v1alpha1.MachineStateProcessing,
			fmt.Sprintf("Machine %s is undergoing an in-place update", m.Name))
	case o.Stage == lifecycle.StageUpdated && was != o.Stage:
		return say(v1alpha1.MachineOperationInPlaceUpdate, v1alpha1.MachineStateSuccessful, o.Message)
	case o.Stage == lifecycle.StageUpdateFailed && was != o.Stage:
		return say(v1alpha1.MachineOperationInPlaceUpdate, v1alpha1.MachineStateFailed, o.Message)
	case o.Reason == lifecycle.ReasonRunning && was == o.Stage && last.Type == v1alpha1.MachineOperationDrainNode:
		return say(v1alpha1.MachineOperationInPlaceUpdate, v1alpha1.MachineStateFailed,
			fmt.Sprintf("The in-place update of machine %s was cancelled", m.Name))
	}
	return nil
}

// Updated writes into n the state after its agent has updated it in place and the machine controller has seen
// that.
func Updated(n *corev1.Node) {
	metav1.SetMetaDataLabel(&n.ObjectMeta, v1alpha1.LabelKeyNodeUpdateResult, v1alpha1.LabelValueNodeUpdateSuccessful)
	n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == v1alpha1.NodeInPlaceUpdate })
	n.Status.Conditions = append(n.Status.Conditions, Machines{}.Marked(inplace.MarkUpdated))
}
