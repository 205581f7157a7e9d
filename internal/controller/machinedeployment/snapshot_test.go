package machinedeployment_test

import (
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// snapshot is a cache that shares what it holds with its readers, as the real
// one does when it is asked not to copy.
type snapshot struct {
	kinds   map[reflect.Type][]client.Object
	indexes map[string]client.IndexerFunc
	// byName makes reading by name as fast as the real cache's; nil before
	// prepare.
	byName map[reflect.Type]map[client.ObjectKey]client.Object
}

// prepare makes what is held now fast to read, for benchmarks.
func (s *snapshot) prepare() {
	s.byName = map[reflect.Type]map[client.ObjectKey]client.Object{}
	for kind, objects := range s.kinds {
		s.byName[kind] = make(map[client.ObjectKey]client.Object, len(objects))
		for _, o := range objects {
			s.byName[kind][client.ObjectKeyFromObject(o)] = o
		}
	}
}

// show replaces what is held of the kind that list lists.
func (s *snapshot) show(list client.ObjectList, objects []client.Object, indexes map[string]client.IndexerFunc) {
	if s.kinds == nil {
		s.kinds = map[reflect.Type][]client.Object{}
	}
	s.indexes, s.byName = indexes, nil
	s.kinds[elem(list)] = objects
}

// elem is the type of a list's items.
func elem(list client.ObjectList) reflect.Type {
	return reflect.TypeOf(list).Elem().Field(2).Type.Elem()
}

func (s *snapshot) copy() map[reflect.Type][]client.Object {
	out := map[reflect.Type][]client.Object{}
	for kind, objects := range s.kinds {
		for _, o := range objects {
			out[kind] = append(out[kind], o.DeepCopyObject().(client.Object))
		}
		if objects == nil {
			out[kind] = nil
		}
	}
	return out
}

func (s *snapshot) get(key client.ObjectKey, into client.Object) error {
	if o, ok := s.byName[reflect.TypeOf(into).Elem()][key]; ok {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o).Elem())
		return nil
	}
	for _, o := range s.kinds[reflect.TypeOf(into).Elem()] {
		if client.ObjectKeyFromObject(o) == key {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, key.Name)
}

func (s *snapshot) list(into client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	var found []runtime.Object
	for _, object := range s.kinds[elem(into)] {
		if o.Namespace != "" && object.GetNamespace() != o.Namespace || !s.matches(object, o) {
			continue
		}
		found = append(found, object)
	}
	return meta.SetList(into, found)
}

func (s *snapshot) matches(object client.Object, o client.ListOptions) bool {
	if o.FieldSelector == nil {
		return true
	}
	for _, r := range o.FieldSelector.Requirements() {
		if !slices.Contains(s.indexes[r.Field](object), r.Value) {
			return false
		}
	}
	return true
}
