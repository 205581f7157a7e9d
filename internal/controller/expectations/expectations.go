// Package expectations remembers the creations and deletions of a controller that got
// no answer, so that it never asks for the same twice under another name. What got an
// answer is package written's.
//
// It reads no clock and makes no call. An [Expectations] belongs to one owner and is
// not safe for concurrent use: reconciles of one owner never overlap.
package expectations

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lingers is for how long after a write without an answer that may yet happen. An API
// server gives a request up after a minute, unless it is told otherwise.
const Lingers = 2 * time.Minute

// Expectations is what may have happened to the objects of one owner, or may yet. The
// zero value has seen nothing yet: it distrusts the cache until a live read was entered
// with [Expectations.Live].
type Expectations struct {
	unknown         map[string]struct{}
	deletionPending map[types.UID]time.Time
	trusted         bool
}

// ExpectDeletion enters that a deletion of the object may have happened or may yet
// happen: it is to be asked for again before any other.
func (l *Expectations) ExpectDeletion(now time.Time, uid types.UID) {
	if l.deletionPending == nil {
		l.deletionPending = map[types.UID]time.Time{}
	}
	l.deletionPending[uid] = now
}

// DeletionKnown enters that the object is going.
func (l *Expectations) DeletionKnown(uid types.UID) { delete(l.deletionPending, uid) }

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
	if l.unknown == nil {
		l.unknown = map[string]struct{}{}
	}
	l.unknown[name] = struct{}{}
	l.trusted = false
}

// CreationKnown enters that the creation under this name happened, or cannot.
func (l *Expectations) CreationKnown(name string) { delete(l.unknown, name) }

// UnknownCreations returns the names to be used again, in order. A refusal of the
// second attempt says nothing about the first: a name stays unsure until
// [Expectations.CreationKnown] or until a live listing shows it.
func (l *Expectations) UnknownCreations() []string { return slices.Sorted(maps.Keys(l.unknown)) }

// Observe strikes off the deletions that a listing of the owner's objects shows.
func (l *Expectations) Observe(listed []client.Object) {
	for _, o := range listed {
		if o.GetDeletionTimestamp() != nil {
			delete(l.deletionPending, o.GetUID()) // it happened; a server that goes back undoes that
		}
	}
}

// Trusted reports whether creating by the cache is safe once it shows what was
// written. It is not before the first live read, nor after a reply was lost.
func (l *Expectations) Trusted() bool { return l.trusted }

// Live enters a live listing of the owner's objects.
func (l *Expectations) Live(live []client.Object) {
	l.trusted = true
	l.Observe(live)
	for _, o := range live {
		if o.GetDeletionTimestamp() == nil {
			delete(l.unknown, o.GetName()) // one that is going may be of an earlier creation, and leaves the name free
		}
	}
}
