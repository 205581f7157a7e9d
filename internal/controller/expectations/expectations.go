// Package expectations remembers the creations and deletions of a controller that got no answer, so that it
// never creates the same object twice under two names. Package readyourwrites handles those that got an answer.
//
// It reads no clock and makes no call. An [Expectations] belongs to one owner and is not safe for
// concurrent use: reconciles of one owner never overlap.
package expectations

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lingers is how long a write without an answer may still take effect. By default an API server aborts a
// request after a minute.
const Lingers = 2 * time.Minute

// Expectations are the writes to the objects of one owner that may have taken effect or may still do so.
// The zero value has seen no object yet: it distrusts the cache until [Expectations.Live] has entered a
// live read.
type Expectations struct {
	unknown         map[string]struct{}
	deletionPending map[types.UID]time.Time
	trusted         bool
}

// ExpectDeletion enters that a deletion of the object may have happened or may still happen: it is to be
// requested again before any other.
func (l *Expectations) ExpectDeletion(now time.Time, uid types.UID) {
	if l.deletionPending == nil {
		l.deletionPending = map[types.UID]time.Time{}
	}
	l.deletionPending[uid] = now
}

// DeletionKnown enters that the object is being deleted.
func (l *Expectations) DeletionKnown(uid types.UID) { delete(l.deletionPending, uid) }

// DeletionPending returns how long the deletion may still be pending; zero: it was not entered, has been
// settled since, or has not happened within [Lingers].
func (l *Expectations) DeletionPending(now time.Time, uid types.UID) time.Duration {
	at, ok := l.deletionPending[uid]
	if !ok {
		return 0
	}
	return max(0, at.Add(Lingers).Sub(now))
}

// CreationUnknown enters that a creation under this name may have happened or may still happen. The next
// creation has to use the name again, so that only one can succeed.
func (l *Expectations) CreationUnknown(name string) {
	if l.unknown == nil {
		l.unknown = map[string]struct{}{}
	}
	l.unknown[name] = struct{}{}
	l.trusted = false
}

// CreationKnown enters that the creation under this name happened, or cannot.
func (l *Expectations) CreationKnown(name string) { delete(l.unknown, name) }

// UnknownCreations returns the names to use again, in order. If the second attempt is refused, the outcome
// of the first is still unknown: a name stays here until [Expectations.CreationKnown] or until a live
// listing shows it.
func (l *Expectations) UnknownCreations() []string { return slices.Sorted(maps.Keys(l.unknown)) }

// Observe strikes off the deletions that a listing of the owner's objects shows.
func (l *Expectations) Observe(listed []client.Object) {
	for _, o := range listed {
		if o.GetDeletionTimestamp() != nil {
			delete(l.deletionPending, o.GetUID()) // it happened; a server that is restored undoes that
		}
	}
}

// Trusted reports whether the cache is a safe basis for creations once it shows all writes. It is not
// before the first live read, nor after a reply was lost.
func (l *Expectations) Trusted() bool { return l.trusted }

// Distrust enters that the last live listing may lack creations of an earlier process.
func (l *Expectations) Distrust() { l.trusted = false }

// Live enters a live listing of the owner's objects.
func (l *Expectations) Live(live []client.Object) {
	l.trusted = true
	l.Observe(live)
	for _, o := range live {
		if o.GetDeletionTimestamp() == nil {
			delete(l.unknown, o.GetName()) // an object under deletion may be of an earlier creation, and frees the name
		}
	}
}
