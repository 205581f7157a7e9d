package readyourwrites

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Awaited are the objects of one owner that were created or deleted, as long as the cache does not show it.
// The zero value awaits nothing; it is not safe for concurrent use.
type Awaited struct {
	there, gone sets.Set[types.UID]
	since       time.Time
}

// Created enters that the object exists.
func (a *Awaited) Created(now time.Time, uid types.UID) {
	a.there, a.since = add(a.there, uid), now
}

// Deleted enters that the object is being deleted.
func (a *Awaited) Deleted(now time.Time, uid types.UID) {
	a.there.Delete(uid)
	a.gone, a.since = add(a.gone, uid), now
}

// Observe removes the entries that a cached listing of the owner's objects shows.
func (a *Awaited) Observe(cached []client.Object) {
	if a.Satisfied() {
		return
	}
	staying := sets.New[types.UID]()
	for _, o := range cached {
		a.there.Delete(o.GetUID())
		if o.GetDeletionTimestamp() == nil {
			staying.Insert(o.GetUID())
		}
	}
	a.gone = a.gone.Intersection(staying)
}

// Satisfied reports whether the cache shows all that was entered.
func (a *Awaited) Satisfied() bool { return len(a.there) == 0 && len(a.gone) == 0 }

// Overdue reports whether the cache has been stale for too long, and otherwise how long it may still be.
func (a *Awaited) Overdue(now time.Time) (bool, time.Duration) {
	left := a.since.Add(Patience).Sub(now)
	return !a.Satisfied() && left <= 0, max(0, left)
}

// Live enters a live listing beside the cached one of the same moment. Objects that the cache does not show
// yet are awaited from now on; all former entries have come and gone.
func (a *Awaited) Live(now time.Time, live, cached []client.Object) {
	stayed, shown := of(cached)
	staying, _ := of(live)
	a.there, a.gone, a.since = staying.Difference(shown), stayed.Difference(staying), now
}

// of are the UIDs of the objects that are not under deletion, and of all objects.
func of(objects []client.Object) (staying, all sets.Set[types.UID]) {
	staying, all = sets.New[types.UID](), sets.New[types.UID]()
	for _, o := range objects {
		all.Insert(o.GetUID())
		if o.GetDeletionTimestamp() == nil {
			staying.Insert(o.GetUID())
		}
	}
	return staying, all
}

func add(s sets.Set[types.UID], uid types.UID) sets.Set[types.UID] {
	if s == nil {
		s = sets.New[types.UID]()
	}
	return s.Insert(uid)
}
