package machineset

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// eventPause gathers changes of machines that move only counters.
const eventPause = 100 * time.Millisecond

type (
	request = reconcile.Request
	queue   = workqueue.TypedRateLimitingInterface[request]
)

// machineHandler wakes the sets that an event about a machine concerns: at
// once where the number of machines may have changed, gathered where not.
type machineHandler[S client.Object] struct{ r *Reconciler[S] }

// Create implements handler.EventHandler.
func (h machineHandler[S]) Create(ctx context.Context, e event.CreateEvent, q queue) {
	h.r.wake(ctx, e.Object, q, 0)
}

// Delete implements handler.EventHandler.
func (h machineHandler[S]) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	h.r.wake(ctx, e.Object, q, 0)
}

// Generic implements handler.EventHandler.
func (h machineHandler[S]) Generic(ctx context.Context, e event.GenericEvent, q queue) {
	h.r.wake(ctx, e.Object, q, 0)
}

// Update implements handler.EventHandler.
func (h machineHandler[S]) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	a, b := e.ObjectOld, e.ObjectNew
	if a.GetResourceVersion() == b.GetResourceVersion() {
		return
	}
	refA, refB := metav1.GetControllerOfNoCopy(a), metav1.GetControllerOfNoCopy(b)
	moved := (refA == nil) != (refB == nil) || (refA != nil && refA.UID != refB.UID)
	relabelled := !maps.Equal(a.GetLabels(), b.GetLabels())
	if moved {
		h.r.wake(ctx, a, q, 0)
	}
	pause := eventPause
	if moved || relabelled || (a.GetDeletionTimestamp() == nil) != (b.GetDeletionTimestamp() == nil) {
		pause = 0
	}
	if refB == nil && !moved && !relabelled {
		return
	}
	h.r.wake(ctx, b, q, pause)
}

// wake enqueues the set that controls m, or those that might adopt it.
func (r *Reconciler[S]) wake(ctx context.Context, m client.Object, q queue, pause time.Duration) {
	for _, req := range r.concerned(ctx, m) {
		if pause > 0 {
			q.AddAfter(req, pause)
		} else {
			q.Add(req)
		}
	}
}

func (r *Reconciler[S]) concerned(ctx context.Context, m client.Object) []reconcile.Request {
	ref := metav1.GetControllerOfNoCopy(m)
	if ref == nil {
		return r.matchingSets(ctx, m)
	}
	kind := r.lens.Traits().Kind
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || gv.Group != kind.Group || ref.Kind != kind.Kind {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: m.GetNamespace(), Name: ref.Name}}}
}

// matchingSets are the sets of m's namespace that might adopt it.
func (r *Reconciler[S]) matchingSets(ctx context.Context, m client.Object) (out []reconcile.Request) {
	list, err := r.listSets(ctx, m.GetNamespace())
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot list the sets that might adopt a machine", "machine", client.ObjectKeyFromObject(m))
		return nil
	}
	for _, s := range list {
		if r.lens.Selector(s).Matches(labels.Set(m.GetLabels())) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)})
		}
	}
	return out
}

func (r *Reconciler[S]) listSets(ctx context.Context, namespace string) (out []S, err error) {
	kind := r.lens.Traits().Kind
	o, err := r.Client.Scheme().New(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err != nil {
		return nil, err
	}
	list := o.(client.ObjectList)
	if err := r.Client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	err = meta.EachListItem(list, func(o runtime.Object) error {
		out = append(out, o.(S))
		return nil
	})
	return out, err
}
