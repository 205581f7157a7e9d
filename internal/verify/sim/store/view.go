package store

import (
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// View is an informer's view: the objects of a kind after the changes that it has seen.
type View struct {
	store   *Store
	kind    *Kind
	seen    int
	objects *sortedObjects
}

// View returns a new listing that lacks the last changes; behind is their number.
func (s *Store) View(k *Kind, behind int) *View {
	v := &View{store: s, kind: k, objects: newSortedObjects()}
	for v.Behind() > behind {
		v.Advance()
	}
	return v
}

// Store is the store of the view.
func (v *View) Store() *Store { return v.store }

// Kind is the kind of the view.
func (v *View) Kind() *Kind { return v.kind }

// Behind is how many changes the view has not seen.
func (v *View) Behind() int { return len(v.store.logs[v.kind]) - v.seen }

// Oldest is the time of the first change that the view has not seen.
func (v *View) Oldest() time.Time { return v.store.logs[v.kind][v.seen].At }

// Reached is the version of the store up to which the view has seen changes of its kind.
func (v *View) Reached() int64 {
	if v.Behind() == 0 {
		return v.store.version
	}
	next, err := strconv.ParseInt(v.store.logs[v.kind][v.seen].Object().GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return next - 1
}

// Advance applies the next change and returns it.
func (v *View) Advance() Event {
	e := v.store.logs[v.kind][v.seen]
	v.seen++
	if e.New == nil {
		v.objects.drop(client.ObjectKeyFromObject(e.Old))
	} else {
		v.objects.put(e.New)
	}
	return e
}

// All are the objects in the view, by name. Callers must not change them.
func (v *View) All() []client.Object { return v.objects.all() }

// Shown are the objects in the view. Callers must not change them.
func (v *View) Shown() []client.Object { return v.objects.sorted }

// Lookup returns the object with the key; nil if the view does not have it.
func (v *View) Lookup(key client.ObjectKey) client.Object { return v.objects.get(key) }

func (v *View) get(key client.ObjectKey, into client.Object) error {
	o := v.objects.get(key)
	if o == nil {
		return apierrors.NewNotFound(v.kind.resource(), key.Name)
	}
	assign(into, o)
	return nil
}

// list fills the list with the objects that the options select, and returns them as they are in the view.
func (v *View) list(into client.ObjectList, o *client.ListOptions) []client.Object {
	shared := o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy
	found := v.store.matching(v.kind, v.All(), o)
	fill(into, found, shared)
	return found
}

// Relist updates the view as a new list does, and returns the events for its watcher. Several changes of an object become one
// event, and a recreated object becomes a changed one.
func (v *View) Relist() (out []Event) {
	now := v.store.objects[v.kind]
	for _, o := range now.all() {
		if old := v.objects.get(client.ObjectKeyFromObject(o)); old != o {
			out = append(out, Event{Kind: v.kind, Old: old, New: o, At: v.store.now()})
		}
	}
	for _, o := range v.All() {
		if now.get(client.ObjectKeyFromObject(o)) == nil {
			out = append(out, Event{Kind: v.kind, Old: o, At: v.store.now()})
		}
	}
	v.seen, v.objects = len(v.store.logs[v.kind]), now.clone()
	return out
}
