// Package expectations remembers a controller's own writes until its cache shows
// them, so that it never acts twice on the same stale view.
//
// It reads no clock and makes no call. A [Expectations] belongs to one owner and is
// not safe for concurrent use: reconciles of one owner never overlap.
package expectations

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Patience is for how long a cache may hide a write before the ledger asks for
// a live read.
const Patience = 5 * time.Second

// Lingers is for how long after a write without an answer that may yet happen. An API
// server gives a request up after a minute, unless it is told otherwise.
const Lingers = 2 * time.Minute

// Object is what a ledger needs to know of an owned object.
type Object struct {
	UID  types.UID
	Name string
	// Terminating says that the object carries a deletion timestamp.
	Terminating bool
}

// Expectations is what one owner awaits. The zero value has seen nothing yet: it
// distrusts the cache until a live read was entered with [Expectations.Live].
type Expectations struct {
	there           map[types.UID]struct{}
	gone            map[types.UID]struct{}
	unknown         map[string]struct{}
	deletionPending map[types.UID]time.Time
	since           time.Time
	trusted         bool
}

// Created enters that the object is there.
func (l *Expectations) Created(now time.Time, uid types.UID) {
	l.there = put(l.there, uid)
	l.since = now
}

// Deleted enters that the object is going.
func (l *Expectations) Deleted(now time.Time, uid types.UID) {
	delete(l.there, uid)
	delete(l.deletionPending, uid)
	l.gone = put(l.gone, uid)
	l.since = now
}

// ExpectDeletion enters that a deletion of the object may have happened or may yet
// happen: it is to be asked for again before any other.
func (l *Expectations) ExpectDeletion(now time.Time, uid types.UID) {
	if l.deletionPending == nil {
		l.deletionPending = map[types.UID]time.Time{}
	}
	l.deletionPending[uid] = now
}

// DeletionPending returns for how long that holds yet, unless it is settled before; zero: it was
// not entered, or settled since, or has not happened within [Lingers].
func (l *Expectations) DeletionPending(now time.Time, uid types.UID) time.Duration {
	at, ok := l.deletionPending[uid]
	if !ok {
		return 0
	}
	return max(0, at.Add(Lingers).Sub(now))
}

// CreationUnknown enters that a creation under this name may have happened or may yet
// happen. The name is to be used again for the next creation, so that it can
// happen only once.
func (l *Expectations) CreationUnknown(name string) {
	l.unknown = put(l.unknown, name)
	l.trusted = false
}

// CreationKnown enters that the creation under this name happened, or cannot.
func (l *Expectations) CreationKnown(name string) { delete(l.unknown, name) }

// UnknownCreations returns the names to be used again, in order. A refusal of the
// second attempt says nothing about the first: a name stays unsure until
// [CreationKnown] or until a live listing shows it.
func (l *Expectations) UnknownCreations() []string { return slices.Sorted(maps.Keys(l.unknown)) }

// Observe strikes off what a cached listing of the owner's objects shows.
func (l *Expectations) Observe(cached []Object) {
	going := make(map[types.UID]bool, len(cached))
	for _, o := range cached {
		going[o.UID] = o.Terminating
		delete(l.there, o.UID)
		if o.Terminating {
			delete(l.deletionPending, o.UID) // it happened; a server that goes back undoes that
		}
	}
	for uid := range l.gone {
		if g, listed := going[uid]; !listed || g {
			delete(l.gone, uid)
		}
	}
}

// Satisfied reports whether the cache shows all that was entered.
func (l *Expectations) Satisfied() bool { return len(l.there) == 0 && len(l.gone) == 0 }

// Overdue reports whether the cache has hidden something for too long, and if
// not, how long it still may.
func (l *Expectations) Overdue(now time.Time) (bool, time.Duration) {
	left := l.since.Add(Patience).Sub(now)
	return !l.Satisfied() && left <= 0, max(0, left)
}

// Trusted reports whether creating by the cache is safe once settled. It is
// not before the first live read, nor after a reply was lost.
func (l *Expectations) Trusted() bool { return l.trusted }

// Live enters a live listing beside the cached one of the same moment. What
// the cache does not show yet is awaited from now on; all else that was
// awaited has come and gone.
func (l *Expectations) Live(now time.Time, live, cached []Object) {
	l.there, l.gone, l.since, l.trusted = nil, nil, now, true
	shown := index(cached)
	for _, o := range live {
		if o.Terminating {
			delete(l.deletionPending, o.UID)
		} else {
			delete(l.unknown, o.Name) // one that is going may be of an earlier creation, and leaves the name free
		}
		c, ok := shown[o.UID]
		switch {
		case !ok && !o.Terminating:
			l.there = put(l.there, o.UID)
		case ok && o.Terminating && !c.Terminating:
			l.gone = put(l.gone, o.UID)
		}
	}
	there := index(live)
	for _, o := range cached {
		if _, ok := there[o.UID]; !ok && !o.Terminating {
			l.gone = put(l.gone, o.UID)
		}
	}
}

func index(all []Object) map[types.UID]Object {
	out := make(map[types.UID]Object, len(all))
	for _, o := range all {
		out[o.UID] = o
	}
	return out
}

func put[K comparable](m map[K]struct{}, k K) map[K]struct{} {
	if m == nil {
		m = map[K]struct{}{}
	}
	m[k] = struct{}{}
	return m
}
