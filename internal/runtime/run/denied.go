package run

import (
	"context"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// dispensable are the objects of the target cluster without which drains work, because the roles of the
// originals do not allow them. A process that may not list them waits for no volume, and leaves budgets to
// the API server, which checks them at each eviction.
var dispensable = []struct {
	object   client.Object
	resource schema.GroupVersionResource
	purpose  string
}{
	{&storagev1.VolumeAttachment{}, storagev1.SchemeGroupVersion.WithResource("volumeattachments"), waitForVolumes},
	{&corev1.PersistentVolume{}, corev1.SchemeGroupVersion.WithResource("persistentvolumes"), waitForVolumes},
	{&corev1.PersistentVolumeClaim{}, corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), waitForVolumes},
	{&policyv1.PodDisruptionBudget{}, policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), "name the budgets that block a drain"},
}

const waitForVolumes = "wait during drains until the volumes of pods that left are detached"

// findDenied records which of the dispensable objects the process may not list.
func (p *Process) findDenied(ctx context.Context) error {
	for _, d := range dispensable {
		may, err := p.MayList(ctx, p.Target.GetConfig(), d.resource, d.purpose)
		if err != nil {
			return err
		}
		if !may {
			p.denied[reflect.TypeOf(d.object)] = true
		}
	}
	return nil
}

// informer creates the informer of a cache. Objects that may not be listed appear as an empty list: a cache
// that never fills would block the whole process.
func (p *Process) informer(lw cache.ListerWatcher, o runtime.Object, resync time.Duration, by cache.Indexers) cache.SharedIndexInformer {
	if p.denied[reflect.TypeOf(o)] {
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
