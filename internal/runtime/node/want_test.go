package node

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/internal/engine/nodemeta"
)

const (
	appliedKey  = "node.machine.sapcloud.io/last-applied-anno-labels-taints"
	capacityKey = "node.machine.sapcloud.io/last-applied-virtual-capacity"
	finalizer   = "node.machine.sapcloud.io/machine-controller"
)

func threeWay(w nodemeta.Want) nodemeta.Want {
	w.AppliedKey, w.CapacityKey = appliedKey, capacityKey
	return w
}

func additive(w nodemeta.Want) nodemeta.Want {
	w.Additive = true
	return w
}

func withCapacity(name, q string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		if n.Status.Capacity == nil {
			n.Status.Capacity = corev1.ResourceList{}
		}
		n.Status.Capacity[corev1.ResourceName(name)] = resource.MustParse(q)
	}
}

func withFinalizers(f ...string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Finalizers = f }
}
