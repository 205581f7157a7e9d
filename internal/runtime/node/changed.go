package node

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Matters reports whether the two states of a node differ in a field that matters to machines: identity,
// provider ID, addresses, the status or reason of a condition, labels, annotations, taints, finalizers,
// capacity, deletion, unschedulable.
func Matters(before, after *corev1.Node) bool {
	switch {
	case before.ResourceVersion != "" && before.ResourceVersion == after.ResourceVersion:
		return false // a resync
	case before.UID != after.UID,
		before.Spec.ProviderID != after.Spec.ProviderID,
		before.Spec.Unschedulable != after.Spec.Unschedulable,
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero(),
		!slices.Equal(before.Finalizers, after.Finalizers),
		!maps.Equal(before.Labels, after.Labels),
		!maps.Equal(before.Annotations, after.Annotations),
		!slices.Equal(before.Status.Addresses, after.Status.Addresses),
		!slices.EqualFunc(before.Spec.Taints, after.Spec.Taints, sameTaint),
		!slices.EqualFunc(before.Status.Conditions, after.Status.Conditions, sameCondition):
		return true
	}
	return !equality.Semantic.DeepEqual(before.Status.Capacity, after.Status.Capacity)
}

func sameTaint(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value }

// sameCondition ignores the heartbeat, and the message, in which some reporters have counters.
func sameCondition(a, b corev1.NodeCondition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason
}
