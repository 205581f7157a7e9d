package recordtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Deletions checks that a machine can be deleted whatever its spec has become: with the spec that it was
// created with, and with variants of the spec that lack a field or cannot be read.
type Deletions struct {
	// Folder has the records of the APIs.
	Folder string
	APIs   []string
	// Delete creates a machine as the provider does with the spec of a case, or as the original does if
	// planted, or if the cloud or the provider refuses the case. It opens the class with the spec that the
	// machine has now by [ToDelete], deletes the machine and checks that nothing is left.
	Delete func(t *testing.T, r Record, planted bool, now json.RawMessage)
}

// Run tests each case with its own spec, and the first case with each variant of [Broken], alternately with
// a machine that the provider created and with one that the original created. A spec that the original
// refuses has only machines that were created before the spec was changed.
func (d Deletions) Run(t *testing.T) {
	for _, api := range d.APIs {
		all := Read(t, d.Folder, api)
		for n, r := range all {
			t.Run(api+"/"+r.ID, func(t *testing.T) { d.Delete(t, r, r.Refused || n%2 == 1, r.Spec) })
		}
		for n, b := range Broken(all[0].Spec) {
			t.Run(api+"/broken/"+b.What, func(t *testing.T) { d.Delete(t, all[0], n%2 == 1, b.Spec) })
		}
	}
}

// Variant is a changed spec.
type Variant struct {
	What string
	Spec json.RawMessage
}

// Broken returns variants of a spec, in order of their fields: each field, at any depth, is removed, null,
// empty, or of another type, and the whole is not an object or not JSON. Numbers do not replace texts:
// originals that read specs as YAML read them as names.
func Broken(spec json.RawMessage) []Variant {
	out := []Variant{{"empty", nil}, {"null", []byte("null")}, {"list", []byte("[]")}, {"text", []byte(`"x"`)}, {"cut", spec[:len(spec)/2]}, {"no JSON", []byte("{")}}
	var tree any
	if json.Unmarshal(spec, &tree) != nil {
		return out
	}
	for _, path := range paths(tree, nil) {
		name := strings.Join(path, ".")
		out = append(out, Variant{name + " removed", with(tree, path, remove)})
		others := []any{nil, "", []any{}, []any{nil}, map[string]any{}}
		if _, isText := at(tree, path).(string); !isText {
			others = append(others, -1.0, true, "x")
		}
		for _, other := range others {
			out = append(out, Variant{fmt.Sprintf("%s is %s", name, marshalled(other)), with(tree, path, other)})
		}
	}
	return out
}

// remove means no value.
var remove = &struct{}{}

// paths returns the paths of all fields of objects, at any depth.
func paths(tree any, at []string) (all [][]string) {
	object, _ := tree.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		path := append(slices.Clone(at), key)
		all = append(append(all, path), paths(object[key], path)...)
	}
	return all
}

// at returns the value at a path.
func at(tree any, path []string) any {
	for _, key := range path {
		object, _ := tree.(map[string]any)
		tree = object[key]
	}
	return tree
}

// with returns the tree as text with another value at a path.
func with(tree any, path []string, value any) json.RawMessage {
	root := clone(tree)
	object := root
	for _, key := range path[:len(path)-1] {
		object, _ = object[key].(map[string]any)
	}
	if value == remove {
		delete(object, path[len(path)-1])
	} else {
		object[path[len(path)-1]] = value
	}
	return marshalled(root)
}
