package store

import (
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// View is an informer's view: the objects of a kind after the first so many changes.
type View struct {
	store   *Store
	kind    *Kind
	seen    int
	objects *sortedObjects
}

// View returns a fresh listing, behind by the number of changes given.
func (s *Store) View(k *Kind, behind int) *View {
	v := &View{store: s, kind: k, objects: newSortedObjects()}
	for v.Behind() > behind {
		v.Advance()
	}
	return v
}

// Store is where the view looks.
func (v *View) Store() *Store { return v.store }

// Kind is what the view shows.
func (v *View) Kind() *Kind { return v.kind }

// Behind is how many changes the view has not seen.
func (v *View) Behind() int { return len(v.store.logs[v.kind]) - v.seen }

// Oldest is when the first change that the view has not seen was made.
func (v *View) Oldest() time.Time { return v.store.logs[v.kind][v.seen].At }

// Reached is the version of the store up to which the view has seen its kind.
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

// Advance takes in the next change and returns it.
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

// All are the objects shown, by name. They must not be changed.
func (v *View) All() []client.Object { return v.objects.all() }

// Shown are the objects shown. They must not be changed.
func (v *View) Shown() []client.Object { return v.objects.sorted }

// Lookup returns the object with the key; nil when the view shows none.
func (v *View) Lookup(key client.ObjectKey) client.Object { return v.objects.get(key) }

func (v *View) get(key client.ObjectKey, into client.Object) error {
	o := v.objects.get(key)
	if o == nil {
		return apierrors.NewNotFound(v.kind.resource(), key.Name)
	}
	assign(into, o)
	return nil
}

// list fills in what the options select, and returns it as it is shown.
func (v *View) list(into client.ObjectList, o *client.ListOptions) []client.Object {
	shared := o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy
	found := v.store.matching(v.kind, v.All(), o)
	fill(into, found, shared)
	return found
}

// Relist updates the view as a new list does, and returns the events for its watcher: the last of several changes,
// and a change for a recreated object.
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
