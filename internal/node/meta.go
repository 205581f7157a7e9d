package node

import (
	corev1 "k8s.io/api/core/v1"
)

// Want is what a node is to carry for its machine. Zero fields want nothing.
type Want struct {
	// Labels, Annotations and Taints are those that the machine declares for
	// its node.
	Labels, Annotations map[string]string
	Taints              []corev1.Taint
	// MarkLabels and MarkAnnotations tie the node to its machine. They are set
	// under either rule, are not recorded under AppliedKey and never removed.
	MarkLabels, MarkAnnotations map[string]string
	// Capacity is virtual: it is written to status.capacity, where the kubelet
	// leaves foreign names alone.
	Capacity corev1.ResourceList
	// Finalizer is put on the node, DropFinalizer taken off it.
	Finalizer, DropFinalizer string
	// Unschedulable cordons (true) or uncordons (false) the node; nil leaves
	// it as it is.
	Unschedulable *bool

	// Additive: labels and annotations are set, taints are added where the node
	// has none of the same key and effect, and nothing is ever removed. Else
	// the three-way rule holds: what was applied before and is declared no more
	// is removed, what is declared is set (of taints also the value), and what
	// others put there is left alone.
	Additive bool
	// AppliedKey is the node annotation that remembers, as JSON of a node
	// template, what was applied; required for the three-way rule.
	AppliedKey string
	// CapacityKey is the node annotation that remembers, as JSON of a resource
	// list, which capacity was applied; empty leaves capacity alone.
	CapacityKey string
}

// Plan returns a copy of the node as it should be, and whether that differs
// from what it is. A record of what was applied that cannot be read is an
// error that names the annotation.
func Plan(n *corev1.Node, w Want) (edited *corev1.Node, changed bool, err error) {
	edited = n.DeepCopy()
	return edited, false, nil
}
