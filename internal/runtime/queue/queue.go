// Package queue is the queue of controllers whose objects are not equally urgent: of the objects that wait
// for a worker, the one whose turn it is by [turn.Line] goes first.
//
// Everything else is client-go's: an object waits once, no two workers have it at the same time, and the
// metrics are the usual ones. One difference: a pass that begins replaces all wakes that were requested
// before, also those that are not due yet. In client-go's delaying queue those still come later, as passes
// that find nothing to do.
package queue

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/engine/turn"
)

type request = reconcile.Request

// Queue implements [workqueue.TypedRateLimitingInterface].
type Queue struct {
	workqueue.TypedRateLimitingInterface[request]
	// classOf returns the class of a request when it begins to wait.
	classOf func(request) turn.Class
	limiter workqueue.TypedRateLimiter[request]
	clock   clock.WithDelayedExecution

	// mu is locked after the lock of the inner queue, never before it.
	mu     sync.Mutex
	line   turn.Line[request]
	places map[request]*turn.Place[request]
	// classes has the classes of requests that are about to wait.
	classes map[request]turn.Class
	pushed  int64
	due     map[request]wake
}

// wake is a wake that is not due yet.
type wake struct {
	at    time.Time
	timer clock.Timer
}

// Turn returns the class of an object that begins to wait.
type Turn func(context.Context, types.NamespacedName) turn.Class

// By returns a constructor of queues in which objects have turns, for controller-runtime's controllers.
func By(ctx context.Context, class Turn) Constructor {
	classOf := func(r request) turn.Class { return class(ctx, r.NamespacedName) }
	return func(name string, limiter workqueue.TypedRateLimiter[request]) workqueue.TypedRateLimitingInterface[request] {
		return newQueue(name, limiter, classOf, clock.RealClock{})
	}
}

// Constructor creates a queue with a name, for metrics, and a limiter of retries.
type Constructor = func(name string, limiter workqueue.TypedRateLimiter[request]) workqueue.TypedRateLimitingInterface[request]

// withTimers is the part of a clock that a queue needs.
type withTimers interface {
	clock.WithTicker
	clock.WithDelayedExecution
}

func newQueue(name string, limiter workqueue.TypedRateLimiter[request], classOf func(request) turn.Class, clk withTimers) *Queue {
	q := &Queue{
		classOf: classOf, limiter: limiter, clock: clk,
		places: map[request]*turn.Place[request]{}, classes: map[request]turn.Class{}, due: map[request]wake{},
	}
	active := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[request]{Name: name, Clock: clk, Queue: (*storage)(q)})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[request]{Name: name, Clock: clk, Queue: active})
	q.TypedRateLimitingInterface = workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[request]{DelayingQueue: delaying})
	return q
}

// Add lets a request wait for a worker.
func (q *Queue) Add(r request) {
	q.classify(r)
	q.TypedRateLimitingInterface.Add(r)
}

// AddAfter lets a request wait for a worker after a delay. Of several wakes that are not due yet, the first counts.
func (q *Queue) AddAfter(r request, after time.Duration) {
	if after <= 0 {
		q.Add(r)
		return
	}
	if q.ShuttingDown() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	at := q.clock.Now().Add(after)
	if w, waits := q.due[r]; waits {
		if !at.Before(w.at) {
			return
		}
		w.timer.Stop()
	}
	q.due[r] = wake{at, q.clock.AfterFunc(after, func() { q.ring(r, at) })}
}

// AddRateLimited lets a request wait for a worker once the limiter allows it.
func (q *Queue) AddRateLimited(r request) { q.AddAfter(r, q.limiter.When(r)) }

// ShutDown ends the queue. Wakes that are not due yet are dropped.
func (q *Queue) ShutDown() {
	q.TypedRateLimitingInterface.ShutDown()
	q.drop()
}

// ShutDownWithDrain ends the queue once no worker processes an object.
func (q *Queue) ShutDownWithDrain() {
	q.TypedRateLimitingInterface.ShutDownWithDrain()
	q.drop()
}

func (q *Queue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.due {
		w.timer.Stop()
	}
	clear(q.due)
}

// ring lets a request whose wake is due wait for a worker, unless a pass has begun meanwhile.
func (q *Queue) ring(r request, at time.Time) {
	q.mu.Lock()
	w, waits := q.due[r]
	if waits = waits && w.at.Equal(at); waits {
		delete(q.due, r)
	}
	q.mu.Unlock()
	if waits {
		q.classify(r)
		q.TypedRateLimitingInterface.AddAfter(r, 0) // at once; a delayed wake counts as a retry
	}
}

// classify stores the class of a request before the inner queue is locked, because classOf may take its own locks.
func (q *Queue) classify(r request) {
	class := q.classOf(r)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.classes[r] = class
}

// storage holds the waiting requests of the inner queue, which calls it under its own lock.
type storage Queue

// Push implements [workqueue.Queue].
func (s *storage) Push(r request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(r, s.classes[r])
}

func (s *storage) push(r request, class turn.Class) {
	delete(s.classes, r)
	s.pushed++
	s.places[r] = s.line.Push(class, s.pushed, r)
}

// Touch implements [workqueue.Queue]: a request that has become more urgent while it waits moves up.
func (s *storage) Touch(r request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	class, p := s.classes[r], s.places[r]
	delete(s.classes, r)
	if class > p.Class() {
		s.line.Drop(p)
		s.push(r, class)
	}
}

// Len implements [workqueue.Queue].
func (s *storage) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line.Len()
}

// Pop implements [workqueue.Queue]. The pass that begins replaces wakes that are not due yet.
func (s *storage) Pop() request {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.line.Pop()
	delete(s.places, r)
	if w, waits := s.due[r]; waits {
		w.timer.Stop()
		delete(s.due, r)
	}
	return r
}
