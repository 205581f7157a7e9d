package gardener

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// keepWords are the values with which nodes and machines request preservation.
var keepWords = map[string]lifecycle.Wish{
	"":                          lifecycle.WishNone,
	v1alpha1.PreserveFalse:      lifecycle.WishNot,
	v1alpha1.PreserveNow:        lifecycle.WishNow,
	v1alpha1.PreserveWhenFailed: lifecycle.WishFailed,
	v1alpha1.PreserveAuto:       lifecycle.WishOwner,
}

func wish(value string) lifecycle.Wish {
	if w, ok := keepWords[value]; ok {
		return w
	}
	return lifecycle.WishUnknown
}

// wished returns the value for a wish.
func wished(w lifecycle.Wish) string {
	for value, known := range keepWords {
		if known == w {
			return value
		}
	}
	return ""
}

// keeps sets how long machines are preserved.
func (d Machines) keeps(p *lifecycle.Policy, m *v1alpha1.Machine) {
	p.Preserve.Supported, p.Preserve.Timeout = true, d.Defaults.PreserveTimeout
	if c := m.Spec.MachineConfiguration; c != nil {
		override(&p.Preserve.Timeout, c.MachinePreserveTimeout)
	}
}

// keeping reads the machine's preservation.
func keeping(m *v1alpha1.Machine) lifecycle.Preservation {
	k := lifecycle.Preservation{
		Own:         wish(m.Annotations[v1alpha1.AnnotationKeyPreserve]),
		LastApplied: wish(m.Annotations[v1alpha1.AnnotationKeyLastAppliedNodePreserve]),
	}
	if t := m.Status.CurrentStatus.PreserveExpiryTime; t != nil {
		k.Until = t.Time
	}
	return k
}

// NodePreservation reads the node's annotation, taint and condition.
func (Machines) NodePreservation(n *corev1.Node) lifecycle.NodePreservation {
	k := lifecycle.NodePreservation{Wish: wish(n.Annotations[v1alpha1.AnnotationKeyPreserve])}
	if i := slices.IndexFunc(n.Spec.Taints, isPreserved); i >= 0 {
		k.Fenced = true
		if t := n.Spec.Taints[i].TimeAdded; t != nil {
			k.FencedSince = t.Time
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == v1alpha1.NodePreserved {
			k.Condition = signOf(c)
		}
	}
	return k
}

func isPreserved(t corev1.Taint) bool {
	return t.Key == v1alpha1.TaintKeyPreserved && t.Effect == corev1.TaintEffectNoSchedule
}

func signOf(c corev1.NodeCondition) lifecycle.PreserveCondition {
	switch {
	case c.Reason == v1alpha1.ReasonPreservationStopped:
		return lifecycle.PreserveStopped
	case c.Status == corev1.ConditionTrue:
		return lifecycle.PreserveActive
	}
	return lifecycle.PreserveDraining
}

// Preserve sets the annotations that keep the autoscaler from n, unless another program has set them already,
// and the taint if it is wanted. At the end it removes the taint, and the annotations if they belong to the
// machine controllers.
func (Machines) Preserve(n *corev1.Node, k lifecycle.PreservePlan, at time.Time) {
	switch {
	case k.Machine.Preserve:
		if !stays(n) {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, v1alpha1.AnnotationKeyScaleDownDisabled, "true")
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, v1alpha1.AnnotationKeyScaleDownDisabledByUs, "true")
		}
	case k.Node.End && n.Annotations[v1alpha1.AnnotationKeyScaleDownDisabledByUs] == "true":
		delete(n.Annotations, v1alpha1.AnnotationKeyScaleDownDisabled)
		delete(n.Annotations, v1alpha1.AnnotationKeyScaleDownDisabledByUs)
	}
	switch fenced := slices.ContainsFunc(n.Spec.Taints, isPreserved); {
	case k.Node.Fence && !fenced:
		since := metav1.NewTime(at).Rfc3339Copy()
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
			Key: v1alpha1.TaintKeyPreserved, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &since,
		})
	case !k.Node.Fence && (k.Machine.Preserve || k.Node.End):
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, isPreserved)
	}
	if k.Node.DropWish {
		delete(n.Annotations, v1alpha1.AnnotationKeyPreserve)
	}
}

// PreserveCondition returns the condition. The drain's obstacles follow after the sentence that clients know.
func (Machines) PreserveCondition(k lifecycle.PreservePlan) corev1.NodeCondition {
	c := corev1.NodeCondition{Type: v1alpha1.NodePreserved, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonPreservedByUser}
	if k.Machine.ByOwner {
		c.Reason = v1alpha1.ReasonPreservedByMCM
	}
	until := v1alpha1.MessagePreservedUntil + k.Machine.Until.UTC().Format(time.RFC3339)
	switch {
	case k.Node.Condition == lifecycle.PreserveActive && k.Node.Fence:
		c.Message = v1alpha1.MessagePreservedDrained + " " + until
	case k.Node.Condition == lifecycle.PreserveActive:
		c.Message = until
	case k.Node.Condition == lifecycle.PreserveDraining && k.Node.Message != "":
		c.Status, c.Message = corev1.ConditionFalse, v1alpha1.MessagePreservedDrainError+" The drain is retried: "+k.Node.Message
	case k.Node.Condition == lifecycle.PreserveDraining:
		c.Status, c.Message = corev1.ConditionFalse, v1alpha1.MessagePreservedDrainError+" The drain begins"
	default:
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, v1alpha1.ReasonPreservationStopped, "The machine is not preserved: "+k.Node.Message
	}
	return c
}

// recordKeep writes until when the machine is preserved and the node's wish that was last acted upon, and
// removes the machine's own wish when that is over. It does not change the time at which the machine came
// into its phase.
func recordKeep(m *v1alpha1.Machine, k lifecycle.PreservePlan) {
	if !k.Bound {
		return
	}
	if k.Machine.DropWish {
		delete(m.Annotations, v1alpha1.AnnotationKeyPreserve)
	}
	if heard := wished(k.Machine.LastApplied); heard != "" {
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, v1alpha1.AnnotationKeyLastAppliedNodePreserve, heard)
	} else if !k.Wish.Refused {
		delete(m.Annotations, v1alpha1.AnnotationKeyLastAppliedNodePreserve)
	}
	current := &m.Status.CurrentStatus
	switch has := current.PreserveExpiryTime; {
	case k.Machine.Until.IsZero():
		current.PreserveExpiryTime = nil
	case has == nil || !has.Time.Equal(k.Machine.Until.Truncate(time.Second)):
		until := metav1.NewTime(k.Machine.Until).Rfc3339Copy()
		current.PreserveExpiryTime = &until
	}
}

// keepEvents returns the events about the beginning and the end of a preservation, and about unknown wishes.
func keepEvents(before, after *v1alpha1.Machine, k lifecycle.PreservePlan) (out []dialect.Event) {
	add := func(kind, reason, note string) {
		out = append(out, dialect.Event{Type: kind, Reason: reason, Action: "Preserve", Note: note})
	}
	was, is := before.Status.CurrentStatus.PreserveExpiryTime, after.Status.CurrentStatus.PreserveExpiryTime
	const words = " must be one of now, when-failed, auto-preserved and false"
	switch {
	case k.Wish.Told:
	case k.Wish.Refused:
		add(corev1.EventTypeWarning, "InvalidPreservation", "annotation "+v1alpha1.AnnotationKeyPreserve+" of the node"+words+"; until then nothing is done")
	case k.Wish.Ignored:
		add(corev1.EventTypeWarning, "InvalidPreservation", "annotation "+v1alpha1.AnnotationKeyPreserve+words+"; it is ignored")
	}
	switch {
	case was == nil && is != nil && k.Machine.ByOwner:
		add(corev1.EventTypeNormal, "Preserved", "Chosen by its set: "+v1alpha1.MessagePreservedUntil+is.UTC().Format(time.RFC3339))
	case was == nil && is != nil:
		add(corev1.EventTypeNormal, "Preserved", v1alpha1.MessagePreservedUntil+is.UTC().Format(time.RFC3339))
	case was != nil && is == nil && k.Node.Message != "":
		add(corev1.EventTypeNormal, "PreservationStopped", "The machine is not preserved: "+k.Node.Message)
	}
	return out
}
