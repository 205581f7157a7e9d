package machineset

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// nodeHandler wakes the set of the machine that a node is.
func (r *Reconciler[S]) nodeHandler() handler.TypedFuncs[*corev1.Node, request] {
	return handler.TypedFuncs[*corev1.Node, request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*corev1.Node], q queue) {
			r.wakeForNode(ctx, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*corev1.Node], q queue) {
			r.wakeForNode(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*corev1.Node], q queue) {
			r.wakeForNode(ctx, e.Object, q)
		},
	}
}

func (r *Reconciler[S]) wakeForNode(ctx context.Context, n *corev1.Node, q queue) {
	key := r.lens.MachineOf(n)
	if key.Name == "" {
		return
	}
	m := r.lens.Machine()
	if err := r.Client.Get(ctx, key, m); err != nil {
		// Not there, or not yet: then the machine's own event does it.
		return
	}
	r.wake(ctx, m, q, eventPause)
}

// readinessMoved leaves out heartbeats: of a node only whose it is and whether
// it is ready matters.
func (r *Reconciler[S]) readinessMoved() predicate.TypedFuncs[*corev1.Node] {
	return predicate.TypedFuncs[*corev1.Node]{
		UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Node]) bool {
			return r.lens.MachineOf(e.ObjectOld) != r.lens.MachineOf(e.ObjectNew) || ready(e.ObjectOld) != ready(e.ObjectNew)
		},
	}
}

func ready(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
