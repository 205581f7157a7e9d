package expect

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Overlay shows a controller its own updates before its cache does. It is
// exact where every update asks for the resource version that it was computed
// from, because then nobody can have written in between. The zero value is
// ready; it is not safe for concurrent use.
type Overlay struct{ latest map[types.UID]written }

// written is the last update of one object, and the versions it supersedes.
type written struct {
	older  map[string]struct{}
	object client.Object
}

// Wrote enters that the update of the object with the resource version before
// resulted in after.
func (o *Overlay) Wrote(before string, after client.Object) {
	if before == after.GetResourceVersion() {
		return
	}
	if o.latest == nil {
		o.latest = map[types.UID]written{}
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
func (o *Overlay) Over(cached client.Object) client.Object {
	w, ok := o.latest[cached.GetUID()]
	if !ok {
		return cached
	}
	if _, stale := w.older[cached.GetResourceVersion()]; stale {
		return w.object
	}
	delete(o.latest, cached.GetUID())
	return cached
}

// Prune forgets the objects that are not among those given.
func (o *Overlay) Prune(listed []client.Object) {
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
