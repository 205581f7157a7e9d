package store

import (
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// matching returns those of objects that the options select.
func (s *Store) matching(k *Kind, objects []client.Object, o *client.ListOptions) []client.Object {
	return slices.DeleteFunc(objects, func(obj client.Object) bool {
		return o.Namespace != "" && obj.GetNamespace() != o.Namespace ||
			o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(obj.GetLabels())) ||
			o.FieldSelector != nil && !s.fieldsMatch(k, obj, o.FieldSelector)
	})
}

func (s *Store) fieldsMatch(k *Kind, o client.Object, f fields.Selector) bool {
	for _, r := range f.Requirements() {
		index := s.indexes[index{k, r.Field}]
		if index == nil {
			panic("no index " + r.Field + " over " + k.Kind)
		}
		if !slices.Contains(index.of(o), r.Value) {
			return false
		}
	}
	return true
}

func listOptions(opts []client.ListOption) *client.ListOptions {
	return (&client.ListOptions{}).ApplyOptions(opts)
}
