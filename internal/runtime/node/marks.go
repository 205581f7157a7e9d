package node

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/nodemeta"
)

// Want has the metadata that a node gets from its machine.
type Want = nodemeta.Want

// MarkOf returns the key by which w ties a node to its machine: [MachineAnnotation], [MachineNameLabel], or
// empty.
func MarkOf(w Want) string {
	if _, is := w.MarkAnnotations[MachineAnnotation]; is {
		return MachineAnnotation
	}
	if _, is := w.MarkLabels[MachineNameLabel]; is {
		return MachineNameLabel
	}
	return ""
}

// remarked reports whether the node was marked since it was read, for a different machine than w's.
func remarked(w Want, seen, now *corev1.Node) bool {
	differs := func(seen, now, want string) bool { return now != "" && now != seen && now != want }
	return differs(seen.Annotations[MachineAnnotation], now.Annotations[MachineAnnotation], w.MarkAnnotations[MachineAnnotation]) ||
		differs(seen.Labels[MachineNameLabel], now.Labels[MachineNameLabel], w.MarkLabels[MachineNameLabel])
}

// moved reports whether the node's provider ID has changed since it was read, and w wants to set one.
func moved(w Want, seen, now *corev1.Node) bool {
	if w.ProviderID == "" {
		return false
	}
	another := now.Spec.ProviderID != "" && now.Spec.ProviderID != w.ProviderID
	return another || !slices.Equal(internalIPs(seen), internalIPs(now))
}
