package sim

import (
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue is a work queue. It holds each key once, and one worker at a time handles a key.
type queue struct {
	ready    map[reconcile.Request]bool
	busy     map[reconcile.Request]bool
	timers   map[reconcile.Request]time.Time
	failures map[reconcile.Request]int
}

// The pauses after failures.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Minute
)

func newQueue() queue {
	return queue{
		ready: map[reconcile.Request]bool{}, busy: map[reconcile.Request]bool{},
		timers: map[reconcile.Request]time.Time{}, failures: map[reconcile.Request]int{},
	}
}

func (q *queue) add(key reconcile.Request) { q.ready[key] = true }

// addAt adds the key later. If it gets several times, the earliest counts, as in a
// delaying queue.
func (q *queue) addAt(key reconcile.Request, at time.Time) {
	if old, ok := q.timers[key]; !ok || at.Before(old) {
		q.timers[key] = at
	}
}

// fire adds the keys whose time has come.
func (q *queue) fire(now time.Time) {
	for key, at := range q.timers {
		if !at.After(now) {
			delete(q.timers, key)
			q.add(key)
		}
	}
}

// startable are the keys for which work can begin, in order.
func (q *queue) startable() (out []reconcile.Request) {
	for key := range q.ready {
		if !q.busy[key] {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, func(a, b reconcile.Request) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func (q *queue) take(key reconcile.Request) {
	delete(q.ready, key)
	q.busy[key] = true
}

func (q *queue) done(key reconcile.Request, r reconcile.Result, err error, now time.Time) {
	delete(q.busy, key)
	switch {
	case err != nil:
		wait := firstRetry << min(q.failures[key], 12)
		q.failures[key]++
		q.addAt(key, now.Add(min(wait, lastRetry)))
	case r.RequeueAfter > 0:
		delete(q.failures, key)
		q.addAt(key, now.Add(r.RequeueAfter))
	default:
		delete(q.failures, key)
	}
}

// next is the time of the earliest timer; zero if none exists.
func (q *queue) next() time.Time {
	var next time.Time
	for _, at := range q.timers {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}
