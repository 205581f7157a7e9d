// Package written lets a controller read what it wrote. A cache shows a write some
// time after the API server has answered it; until then the client of a pass shows
// the object as the answer had it.
//
// That is exact: the answer to a write is the whole object in its new version, and it
// is shown over those versions alone that the process wrote over. Any other version is
// news, even an older one: an API server that was restored counts again from where it
// was. Creations and deletions change how many objects there are. They are not shown but
// awaited ([Awaited]), because an object may come and go before the cache shows it.
//
// A cache that hides a write for longer than [Patience] is asked past
// ([Client.Settle]): its watch has stopped, or the API server was restored and has
// the object as it was before.
package written

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Patience is for how long a cache may hide a write before the API server is
	// asked.
	Patience = 5 * time.Second
	// idle is for how long a write is remembered at least that nobody reads back:
	// the object is gone, or is looked at no more.
	idle = 2 * time.Minute
)

// Writes are the objects that a process wrote and that its cache does not show yet.
// The zero value is ready. It may be used by many at a time.
type Writes struct {
	mu     sync.Mutex
	latest map[types.UID]*write
	swept  time.Time
}

// write is the answer to the last write of one object, and the versions that it and
// those before it wrote over.
type write struct {
	object client.Object
	older  map[string]struct{}
	// since is from when on the cache was seen to hide it; zero: it was not.
	since time.Time
	// unread says that nobody asked for it since the last sweep.
	unread bool
}

// Wrote enters the API server's answer to a write, or to a read past the cache, of an
// object that was shown in the resource version before. The answer must not be changed
// any more.
func (w *Writes) Wrote(before string, answer client.Object) {
	if before == answer.GetResourceVersion() {
		return // nothing changed
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.latest[answer.GetUID()]
	if e == nil {
		e = &write{}
	}
	if e.object == nil || e.object.GetResourceVersion() != before {
		e.older = map[string]struct{}{}
	}
	e.older[before] = struct{}{}
	e.object, e.unread = answer, false
	if w.latest == nil {
		w.latest = map[types.UID]*write{}
	}
	w.latest[answer.GetUID()] = e
}

// Over returns what was last written where the cache shows a version that was written
// over, else cached itself. The result must not be changed.
func (w *Writes) Over(cached client.Object) client.Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.latest[cached.GetUID()]
	if e == nil {
		return cached
	}
	if _, hidden := e.older[cached.GetResourceVersion()]; hidden {
		e.unread = false
		return e.object
	}
	delete(w.latest, cached.GetUID()) // the cache has caught up
	return cached
}

// WentBack enters an object as the API server has it now, and reports whether that
// is older than what was written: the write has not happened by now, and is not
// shown any more.
func (w *Writes) WentBack(now time.Time, live client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.latest[live.GetUID()]
	if e == nil {
		return false
	}
	c, err := resourceversion.CompareResourceVersion(live.GetResourceVersion(), e.object.GetResourceVersion())
	if err == nil && c < 0 {
		delete(w.latest, live.GetUID())
		return true
	}
	e.since = now
	return false
}

// empty reports whether the cache shows all that was written.
func (w *Writes) empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.latest) == 0
}

// hides returns what was written to an object, and for how long the cache may still
// hide that; nil: it shows it.
func (w *Writes) hides(now time.Time, uid types.UID) (object client.Object, left time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.latest[uid]
	if e == nil {
		return nil, 0
	}
	if e.since.IsZero() {
		e.since = now
	}
	return e.object, e.since.Add(Patience).Sub(now)
}

// sweep forgets what nobody has asked for since the last sweep but one.
func (w *Writes) sweep(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.swept) < idle {
		return
	}
	w.swept = now
	for uid, e := range w.latest {
		if e.unread {
			delete(w.latest, uid)
		}
		e.unread = true
	}
}
