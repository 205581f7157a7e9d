// Package readyourwrites lets a controller read its own writes. A cache shows a write some time after the API
// server has answered it; until then the client of a pass returns the object of the answer.
//
// This is exact: the answer to a write is the whole object in its new version, and it replaces only those
// versions that the process wrote over. Any other version is news, even an older one: a restored API server
// counts again from its former version. Creations and deletions change the number of objects. They are
// awaited ([Awaited]), not shown, because an object may come and go before the cache shows it.
//
// If a cache hides a write for longer than [Patience], the API server is asked ([Client.Settle]): the watch
// has stopped, or the API server was restored and has the object in its former state.
package readyourwrites

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Patience is how long a cache may hide a write before the API server is asked.
	Patience = 5 * time.Second
	// idle is the least time for which a write is remembered that no pass reads back: the object was
	// deleted, or is not reconciled any more.
	idle = 2 * time.Minute
)

// Writes are the written objects that the cache does not show yet. The zero value is ready. It is safe for
// concurrent use.
type Writes struct {
	mu     sync.Mutex
	latest map[types.UID]*write
	swept  time.Time
}

// write is the answer to the last write of one object, and the versions that this write and earlier ones
// replaced.
type write struct {
	object client.Object
	older  map[string]struct{}
	// since is when the cache was first seen to hide it; zero: it was not seen.
	since time.Time
	// unread says that no pass has read it since the last sweep.
	unread bool
}

// Wrote enters the API server's answer to a write, or to a live read, of an object that was shown in the
// resource version before. The caller must not change the answer any more.
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

// Over returns the last write if the cache shows a version that it replaced, else cached itself. The caller
// must not change the result.
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

// WentBack enters an object as the API server has it now, and reports whether that is older than the
// written version: the write was undone, and is not shown any more.
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

// hides returns the last write of an object, and how long the cache may still hide it; nil: the cache shows
// it.
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

// sweep forgets the writes that no pass has read since the last sweep but one.
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
