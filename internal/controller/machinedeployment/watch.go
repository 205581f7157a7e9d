package machinedeployment

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// waker wakes the deployments that a change of an object concerns: before is nil
// for one that came into being, after for one that is gone.
type waker func(ctx context.Context, before, after client.Object) []Wake

// Create implements handler.EventHandler.
func (w waker) Create(ctx context.Context, e event.CreateEvent, q queue) {
	w.enqueue(ctx, nil, e.Object, q)
}

// Update implements handler.EventHandler.
func (w waker) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	w.enqueue(ctx, e.ObjectOld, e.ObjectNew, q)
}

// Delete implements handler.EventHandler.
func (w waker) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	w.enqueue(ctx, e.Object, nil, q)
}

// Generic implements handler.EventHandler.
func (w waker) Generic(ctx context.Context, e event.GenericEvent, q queue) {
	w.enqueue(ctx, nil, e.Object, q)
}

// nodes is the same for the nodes of another cluster.
func (w waker) nodes() handler.TypedFuncs[*corev1.Node, reconcile.Request] {
	return handler.TypedFuncs[*corev1.Node, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*corev1.Node], q queue) {
			w.enqueue(ctx, nil, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*corev1.Node], q queue) {
			w.enqueue(ctx, e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*corev1.Node], q queue) {
			w.enqueue(ctx, e.Object, nil, q)
		},
	}
}

func (w waker) enqueue(ctx context.Context, before, after client.Object, q queue) {
	for _, d := range w(ctx, before, after) {
		if d.After > 0 {
			q.AddAfter(d.Request, d.After)
		} else {
			q.Add(d.Request)
		}
	}
}
