// Package wake says whom a change concerns. A shell has one function for all the
// objects that it watches, which a manager calls, and the simulator as well: a
// wake that is missing is missing there, too.
package wake

import (
	"context"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Wake is an object to look at again, and how long to gather what else happens
// before.
type Wake struct {
	reconcile.Request
	After time.Duration
}

// For wakes the object o at once.
func For(o client.Object) Wake {
	return Wake{Request: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}}
}

// Own wakes an object where what it asks for changed: those are the wakes of the
// objects that a shell is there for.
func Own(before, after client.Object) []Wake {
	if !Asked(before, after) {
		return nil
	}
	return []Wake{For(Either(before, after))}
}

// reportPause is how long after a write of its status an object is looked at again.
const reportPause = time.Second

// Reported wakes an object as [Own] does, and after a pause where something else
// of it was written. That is its status: a write that was given up for lost may
// arrive when the pass after it has found nothing to do, and would stand for ever.
func Reported(before, after client.Object) []Wake {
	if own := Own(before, after); own != nil {
		return own
	}
	w := For(after)
	w.After = reportPause
	return []Wake{w}
}

// Either is the object that a change is about: as it is, or as it was last.
func Either(before, after client.Object) client.Object {
	if after == nil {
		return before
	}
	return after
}

// All wakes all of these after a while.
func All(requests []reconcile.Request, after time.Duration) []Wake {
	out := make([]Wake, len(requests))
	for i, req := range requests {
		out[i] = Wake{req, after}
	}
	return out
}

// Func returns whom a change of one object concerns. Before is nil for an object
// that came into being, after for one that is gone.
type Func func(ctx context.Context, before, after client.Object) []Wake

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

var _ handler.EventHandler = Func(nil)

// Create implements [handler.EventHandler].
func (f Func) Create(ctx context.Context, e event.CreateEvent, q queue) {
	f.enqueue(ctx, nil, e.Object, q)
}

// Update implements [handler.EventHandler].
func (f Func) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	f.enqueue(ctx, e.ObjectOld, e.ObjectNew, q)
}

// Delete implements [handler.EventHandler].
func (f Func) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	f.enqueue(ctx, e.Object, nil, q)
}

// Generic implements [handler.EventHandler].
func (f Func) Generic(ctx context.Context, e event.GenericEvent, q queue) {
	f.enqueue(ctx, nil, e.Object, q)
}

func (f Func) enqueue(ctx context.Context, before, after client.Object, q queue) {
	for _, w := range f(ctx, before, after) {
		if w.After > 0 {
			q.AddAfter(w.Request, w.After)
		} else {
			q.Add(w.Request)
		}
	}
}

// Asked reports whether people or other controllers changed what an object asks
// for, or whose it is. It leaves out the status, which only its own controller
// writes, and the bookkeeping that the API server adds. The same version again is
// the cache's regular reminder.
func Asked(before, after client.Object) bool {
	if before == nil || after == nil {
		return true
	}
	return before.GetGeneration() != after.GetGeneration() ||
		before.GetResourceVersion() == after.GetResourceVersion() ||
		before.GetUID() != after.GetUID() ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil) ||
		ControllerOf(before) != ControllerOf(after) ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations())
}

// ControllerOf is the UID of an object's controller, empty when it has none.
func ControllerOf(o client.Object) types.UID {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return ref.UID
	}
	return ""
}
