package run

import (
	corev1 "k8s.io/api/core/v1"
	clientgocache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slim are the objects of the target cluster that are kept without what no
// controller looks at. A node lists up to 50 images, and a pod is mostly
// containers: with them a fleet of 1000 nodes and 30 000 pods would take
// gigabytes. What is left out is never written either: patches are made of
// differences between two slim objects.
func slim() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Node{}: {Transform: without(func(o *corev1.Node) { o.Status.Images = nil })},
		&corev1.Pod{}: {Transform: without(func(o *corev1.Pod) {
			o.Spec.Containers, o.Spec.InitContainers, o.Spec.EphemeralContainers = nil, nil, nil
			o.Status.ContainerStatuses, o.Status.InitContainerStatuses, o.Status.EphemeralContainerStatuses = nil, nil, nil
		})},
	}
}

// without makes a transform that takes off managed fields and what strip does.
func without[T client.Object](strip func(T)) clientgocache.TransformFunc {
	common := cache.TransformStripManagedFields()
	return func(in any) (any, error) {
		out, err := common(in)
		if o, ok := out.(T); ok && err == nil {
			strip(o)
		}
		return out, err
	}
}
