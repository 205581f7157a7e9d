package store

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sortedObjects are the objects of a kind, by key and in order. All clients list them often, and between two lists few
// objects change.
type sortedObjects struct {
	byKey  map[client.ObjectKey]client.Object
	sorted []client.Object
}

func newSortedObjects() *sortedObjects {
	return &sortedObjects{byKey: map[client.ObjectKey]client.Object{}}
}

// get returns the object with the key; nil if it does not exist.
func (p *sortedObjects) get(key client.ObjectKey) client.Object { return p.byKey[key] }

// all are the objects, by namespace and name.
func (p *sortedObjects) all() []client.Object { return slices.Clone(p.sorted) }

// copied is a copy of the objects by key.
func (p *sortedObjects) copied() map[client.ObjectKey]client.Object { return maps.Clone(p.byKey) }

func (p *sortedObjects) clone() *sortedObjects {
	return &sortedObjects{byKey: p.copied(), sorted: p.all()}
}

func (p *sortedObjects) put(o client.Object) {
	key := client.ObjectKeyFromObject(o)
	at, there := p.find(key)
	if there {
		p.sorted[at] = o
	} else {
		p.sorted = slices.Insert(p.sorted, at, o)
	}
	p.byKey[key] = o
}

func (p *sortedObjects) drop(key client.ObjectKey) {
	if at, there := p.find(key); there {
		p.sorted = slices.Delete(p.sorted, at, at+1)
	}
	delete(p.byKey, key)
}

func (p *sortedObjects) find(key client.ObjectKey) (at int, there bool) {
	return slices.BinarySearchFunc(p.sorted, key, func(o client.Object, key client.ObjectKey) int {
		return cmp.Or(strings.Compare(o.GetNamespace(), key.Namespace), strings.Compare(o.GetName(), key.Name))
	})
}

// ordered returns objects in the order of namespace and name.
func ordered(objects map[client.ObjectKey]client.Object) []client.Object {
	p := newSortedObjects()
	for _, o := range objects {
		p.put(o)
	}
	return p.sorted
}
