package run

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	clientgocache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slim returns the objects of the target cluster that are cached without the fields that no controller reads,
// and volumes and claims with only the fields that drains read. A node lists up to 50 images, and a pod is
// mostly containers: with them a fleet of 1000 nodes and 30 000 pods would take gigabytes. Omitted fields are
// never written either: patches are differences between two slim objects.
func slim() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Node{}: {Transform: without(func(o *corev1.Node) { o.Status.Images = nil })},
		&corev1.Pod{}: {Transform: without(func(o *corev1.Pod) {
			o.Spec.Containers, o.Spec.InitContainers, o.Spec.EphemeralContainers = nil, nil, nil
			o.Status.ContainerStatuses, o.Status.InitContainerStatuses, o.Status.EphemeralContainerStatuses = nil, nil, nil
		})},
		&corev1.PersistentVolume{}:      {Transform: without(slimVolume)},
		&corev1.PersistentVolumeClaim{}: {Transform: without(slimClaim)},
		&storagev1.VolumeAttachment{}: {Transform: without(func(o *storagev1.VolumeAttachment) {
			o.Annotations, o.Status.AttachmentMetadata = nil, nil
			if o.Spec.Source.InlineVolumeSpec != nil {
				o.Spec.Source.InlineVolumeSpec = &corev1.PersistentVolumeSpec{}
			}
		})},
	}
}

func slimVolume(o *corev1.PersistentVolume) {
	is := o.Spec
	o.Labels, o.Annotations, o.Status = nil, nil, corev1.PersistentVolumeStatus{}
	// A [node.VolumeNamer] may need the source of a volume.
	o.Spec = corev1.PersistentVolumeSpec{AccessModes: is.AccessModes, PersistentVolumeSource: is.PersistentVolumeSource}
	if c := is.CSI; c != nil {
		o.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: c.Driver, VolumeHandle: c.VolumeHandle}
	}
	if c := is.ClaimRef; c != nil {
		o.Spec.ClaimRef = &corev1.ObjectReference{Namespace: c.Namespace, Name: c.Name}
	}
}

func slimClaim(o *corev1.PersistentVolumeClaim) {
	o.Labels, o.Annotations, o.Status = nil, nil, corev1.PersistentVolumeClaimStatus{}
	o.Spec = corev1.PersistentVolumeClaimSpec{VolumeName: o.Spec.VolumeName}
}

// without returns a transform that removes managed fields and applies strip.
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
