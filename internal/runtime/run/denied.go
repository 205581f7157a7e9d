package run

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// dispensable are the resources of the cluster that machines join that drains can do
// without, as those of the originals whose roles do not grant them. Whoever may not list
// them waits for no volume, and leaves budgets to the API server, which asks them at each
// eviction.
func dispensable() map[schema.GroupVersionResource]string {
	const volumes = "wait during drains until the volumes of pods that left are detached"
	return map[schema.GroupVersionResource]string{
		storagev1.SchemeGroupVersion.WithResource("volumeattachments"):   volumes,
		corev1.SchemeGroupVersion.WithResource("persistentvolumes"):      volumes,
		corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"): volumes,
		policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"): "name the budgets that block a drain",
	}
}

// resourceOf is the resource of those objects that are dispensable; empty: they are not.
func resourceOf(o runtime.Object) schema.GroupVersionResource {
	switch o.(type) {
	case *storagev1.VolumeAttachment:
		return storagev1.SchemeGroupVersion.WithResource("volumeattachments")
	case *corev1.PersistentVolume:
		return corev1.SchemeGroupVersion.WithResource("persistentvolumes")
	case *corev1.PersistentVolumeClaim:
		return corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	case *policyv1.PodDisruptionBudget:
		return policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")
	}
	return schema.GroupVersionResource{}
}

// findDenied notes what of the dispensable the process may not list.
func (p *Process) findDenied(ctx context.Context) error {
	for r, purpose := range dispensable() {
		may, err := p.MayList(ctx, p.Target.GetConfig(), r, purpose)
		if err != nil {
			return err
		}
		if !may {
			p.denied[r] = true
		}
	}
	return nil
}

// informer makes the informer of a cache. What may not be listed is shown as nothing: a
// cache that never fills would hold up the whole process.
func (p *Process) informer(lw cache.ListerWatcher, o runtime.Object, resync time.Duration, by cache.Indexers) cache.SharedIndexInformer {
	if p.denied[resourceOf(o)] {
		lw = nothing{}
	}
	return cache.NewSharedIndexInformer(lw, o, resync, by)
}

// nothing lists no objects.
type nothing struct{}

// List implements [cache.Lister].
func (nothing) List(metav1.ListOptions) (runtime.Object, error) {
	return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "0"}}, nil
}

// Watch implements [cache.Watcher].
func (nothing) Watch(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil }

// IsWatchListSemanticsUnSupported tells reflectors to list first.
func (nothing) IsWatchListSemanticsUnSupported() bool { return true }
