package expectations

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Written shows a controller its own updates before its cache does. It is
// exact where every update asks for the resource version that it was computed
// from, because then nobody can have written in between. The zero value is
// ready; it is not safe for concurrent use.
type Written struct{ latest map[types.UID]writtenObject }

// writtenObject is the last update of one object, and the versions it supersedes.
type writtenObject struct {
	older  map[string]struct{}
	object client.Object
	// hidden says that the cache showed one of those since [Written.Hidden] was last
	// asked, since is from when on it did; zero: not yet.
	hidden bool
	since  time.Time
}

// Wrote enters that the update of the object with the resource version before
// resulted in after.
func (o *Written) Wrote(before string, after client.Object) {
	if before == after.GetResourceVersion() {
		return
	}
	if o.latest == nil {
		o.latest = map[types.UID]writtenObject{}
	}
	w, ok := o.latest[after.GetUID()]
	if !ok || w.object.GetResourceVersion() != before {
		w.older = map[string]struct{}{}
	}
	w.older[before] = struct{}{}
	w.object = after
	o.latest[after.GetUID()] = w
}

// Over returns what was last written where the cache still shows what was
// superseded, else cached itself. The result must not be changed.
func (o *Written) Over(cached client.Object) client.Object {
	w, ok := o.latest[cached.GetUID()]
	if !ok {
		return cached
	}
	if _, stale := w.older[cached.GetResourceVersion()]; stale {
		w.hidden = true
		o.latest[cached.GetUID()] = w
		return w.object
	}
	delete(o.latest, cached.GetUID())
	return cached
}

// Hides reports whether the cache showed an older version of the object than was
// written, since [Written.Hidden] was last asked.
func (o *Written) Hides(uid types.UID) bool { return o.latest[uid].hidden }

// Hidden returns the objects whose updates the cache does not show after
// [Patience], as they were last written, and for how long it may hide the next of
// the others; zero: it hides none. The watch has stopped, or the API server was
// restored and has them as they were before: whoever asks it enters the answer
// with [Written.Live].
func (o *Written) Hidden(now time.Time) (overdue []client.Object, left time.Duration) {
	for uid, w := range o.latest {
		if !w.hidden {
			continue
		}
		if w.since.IsZero() {
			w.since = now
		}
		switch wait := w.since.Add(Patience).Sub(now); {
		case wait <= 0:
			overdue = append(overdue, w.object)
		case left == 0 || wait < left:
			left = wait
		}
		w.hidden = false
		o.latest[uid] = w
	}
	slices.SortFunc(overdue, func(a, b client.Object) int { return strings.Compare(string(a.GetUID()), string(b.GetUID())) })
	return overdue, left
}

// Live enters an object as the API server has it now, and reports whether that is
// older than what was written last: the update has not happened by now, and is not
// shown any more.
func (o *Written) Live(now time.Time, live client.Object) (wentBack bool) {
	w, ok := o.latest[live.GetUID()]
	if !ok {
		return false
	}
	c, err := resourceversion.CompareResourceVersion(live.GetResourceVersion(), w.object.GetResourceVersion())
	if err == nil && c < 0 {
		delete(o.latest, live.GetUID())
		return true
	}
	w.since = now
	o.latest[live.GetUID()] = w
	return false
}

// Prune forgets the objects that are not among those given.
func (o *Written) Prune(listed []client.Object) {
	if len(o.latest) == 0 {
		return
	}
	there := make(map[types.UID]struct{}, len(listed))
	for _, obj := range listed {
		there[obj.GetUID()] = struct{}{}
	}
	for uid := range o.latest {
		if _, ok := there[uid]; !ok {
			delete(o.latest, uid)
		}
	}
}
