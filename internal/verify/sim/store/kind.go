// Package store is an API server in memory, for simulation. It has typed objects with
// resource versions, generations, a status subresource, optimistic concurrency,
// finalizers and preconditions. It has a log of all changes, and views that lag behind the
// log. Nothing in it runs by itself, and it is not safe for concurrent use.
package store

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kind is one kind of object.
type Kind struct {
	schema.GroupVersionKind
	// Subresource: status is written separately. Counted: metadata.generation counts
	// changes of the spec.
	Subresource, Counted bool
	// StatusAtBirth: a status given at creation is stored.
	StatusAtBirth bool

	typ    reflect.Type
	meta   []int
	status []int
}

// NewKind describes the kind of example, which is a pointer to its struct.
func NewKind(gvk schema.GroupVersionKind, example client.Object) *Kind {
	k := &Kind{GroupVersionKind: gvk, typ: reflect.TypeOf(example).Elem()}
	if f, ok := k.typ.FieldByName("ObjectMeta"); ok {
		k.meta = f.Index
	}
	if f, ok := k.typ.FieldByName("Status"); ok {
		k.status = f.Index
	}
	return k
}

// New returns an empty object.
func (k *Kind) New() client.Object { return reflect.New(k.typ).Interface().(client.Object) }

func (k *Kind) copyField(index []int, to, from client.Object) {
	if index != nil {
		source := from.DeepCopyObject()
		reflect.ValueOf(to).Elem().FieldByIndex(index).Set(reflect.ValueOf(source).Elem().FieldByIndex(index))
	}
}

func (k *Kind) copyStatus(to, from client.Object) { k.copyField(k.status, to, from) }
func (k *Kind) copyMeta(to, from client.Object)   { k.copyField(k.meta, to, from) }

func (k *Kind) resource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Kind}
}

// kinds finds the kind of an object or a list.
type kinds map[reflect.Type]*Kind

func (ks kinds) of(o runtime.Object) *Kind {
	t := reflect.TypeOf(o).Elem()
	if k := ks[t]; k != nil {
		return k
	}
	if f, ok := t.FieldByName("Items"); ok {
		if k := ks[f.Type.Elem()]; k != nil {
			return k
		}
	}
	panic(fmt.Sprintf("the simulated API server has no kind for %T", o))
}

// fill puts objects into a list. The list gets copies unless shared is true.
func fill(list client.ObjectList, objects []client.Object, shared bool) {
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	out := reflect.MakeSlice(items.Type(), 0, len(objects))
	for _, o := range objects {
		if !shared {
			o = o.DeepCopyObject().(client.Object)
		}
		out = reflect.Append(out, reflect.ValueOf(o).Elem())
	}
	items.Set(out)
}

// assign puts the contents of from into to.
func assign(to, from client.Object) {
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from.DeepCopyObject()).Elem())
}
