package store

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pile is the objects of a kind, by key and in order: everybody lists them all the
// time, and few change in between.
type pile struct {
	byKey  map[client.ObjectKey]client.Object
	sorted []client.Object
}

func newPile() *pile { return &pile{byKey: map[client.ObjectKey]client.Object{}} }

// get is the object with the key; nil when there is none.
func (p *pile) get(key client.ObjectKey) client.Object { return p.byKey[key] }

// all are the objects, by namespace and name.
func (p *pile) all() []client.Object { return slices.Clone(p.sorted) }

// copied is a copy of what is there by key.
func (p *pile) copied() map[client.ObjectKey]client.Object { return maps.Clone(p.byKey) }

func (p *pile) clone() *pile { return &pile{byKey: p.copied(), sorted: p.all()} }

func (p *pile) put(o client.Object) {
	key := client.ObjectKeyFromObject(o)
	at, there := p.find(key)
	if there {
		p.sorted[at] = o
	} else {
		p.sorted = slices.Insert(p.sorted, at, o)
	}
	p.byKey[key] = o
}

func (p *pile) drop(key client.ObjectKey) {
	if at, there := p.find(key); there {
		p.sorted = slices.Delete(p.sorted, at, at+1)
	}
	delete(p.byKey, key)
}

func (p *pile) find(key client.ObjectKey) (at int, there bool) {
	return slices.BinarySearchFunc(p.sorted, key, func(o client.Object, key client.ObjectKey) int {
		return cmp.Or(strings.Compare(o.GetNamespace(), key.Namespace), strings.Compare(o.GetName(), key.Name))
	})
}

// ordered are objects by namespace and name.
func ordered(objects map[client.ObjectKey]client.Object) []client.Object {
	p := newPile()
	for _, o := range objects {
		p.put(o)
	}
	return p.sorted
}
