// Package enqueue says which objects a change concerns. A controller has one function for all the objects
// that it watches. The manager and the simulator both call it, so a missing wake is missing in the
// simulator too.
package enqueue

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

// Request is an object to reconcile, and how long to wait for further changes first.
type Request struct {
	reconcile.Request
	After time.Duration
}

// For wakes the object o at once.
func For(o client.Object) Request {
	return Request{Request: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}}
}

// ForSpecChange wakes an object whose spec changed: the object that the controller reconciles.
func ForSpecChange(before, after client.Object) []Request {
	if !SpecChanged(before, after) {
		return nil
	}
	return []Request{For(Either(before, after))}
}

// reportPause is how long after a write of its status an object is looked at again.
const reportPause = time.Second

// Reported wakes an object as [ForSpecChange] does, and after a pause if another part of it was written.
// That part is its status: a write that was considered lost may arrive after the next pass has found
// nothing to do, and would stay for ever.
func Reported(before, after client.Object) []Request {
	if own := ForSpecChange(before, after); own != nil {
		return own
	}
	w := For(after)
	w.After = reportPause
	return []Request{w}
}

// Either is the object that a change is about: the present one, or the last known one.
func Either(before, after client.Object) client.Object {
	if after == nil {
		return before
	}
	return after
}

// Requests wakes all of these after a delay.
func Requests(requests []reconcile.Request, after time.Duration) []Request {
	out := make([]Request, len(requests))
	for i, req := range requests {
		out[i] = Request{Request: req, After: after}
	}
	return out
}

// Func returns the objects that a change of one object concerns. Before is nil for a created object, after
// for a deleted one.
type Func func(ctx context.Context, before, after client.Object) []Request

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

// SpecChanged reports whether a user or another controller changed the spec or the ownership of an object.
// It ignores the status, which only its own controller writes, and the bookkeeping that the API server
// adds. The same version again is a resync of the cache.
func SpecChanged(before, after client.Object) bool {
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

// ControllerOf is the UID of an object's controller; empty if it has none.
func ControllerOf(o client.Object) types.UID {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return ref.UID
	}
	return ""
}
