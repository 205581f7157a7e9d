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

// waker wakes the deployments that an event concerns.
type waker[D, S client.Object] struct{ r *Reconciler[D, S] }

// Create implements handler.EventHandler.
func (w waker[D, S]) Create(ctx context.Context, e event.CreateEvent, q queue) {
	w.r.enqueue(ctx, nil, e.Object, q)
}

// Update implements handler.EventHandler.
func (w waker[D, S]) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	w.r.enqueue(ctx, e.ObjectOld, e.ObjectNew, q)
}

// Delete implements handler.EventHandler.
func (w waker[D, S]) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	w.r.enqueue(ctx, e.Object, nil, q)
}

// Generic implements handler.EventHandler.
func (w waker[D, S]) Generic(ctx context.Context, e event.GenericEvent, q queue) {
	w.r.enqueue(ctx, nil, e.Object, q)
}

// nodeWaker is [waker] for the nodes of another cluster.
func nodeWaker[D, S client.Object](r *Reconciler[D, S]) handler.TypedFuncs[*corev1.Node, reconcile.Request] {
	return handler.TypedFuncs[*corev1.Node, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*corev1.Node], q queue) {
			r.enqueue(ctx, nil, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*corev1.Node], q queue) {
			r.enqueue(ctx, e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*corev1.Node], q queue) {
			r.enqueue(ctx, e.Object, nil, q)
		},
	}
}

func (r *Reconciler[D, S]) enqueue(ctx context.Context, before, after client.Object, q queue) {
	add(q, r.Wakes(ctx, before, after))
}

func add(q queue, wakes []Wake) {
	for _, w := range wakes {
		if w.After > 0 {
			q.AddAfter(w.Request, w.After)
		} else {
			q.Add(w.Request)
		}
	}
}
