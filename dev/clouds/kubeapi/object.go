package kubeapi

import (
	"encoding/json"
	"maps"
)

// Object is an object as decoded JSON.
type Object map[string]any

// At is the value at a path of fields; nil if there is no such field.
func (o Object) At(path ...string) any {
	var here any = map[string]any(o)
	for _, name := range path {
		fields, ok := here.(map[string]any)
		if !ok {
			return nil
		}
		here = fields[name]
	}
	return here
}

// Text is the text at a path.
func (o Object) Text(path ...string) string {
	s, _ := o.At(path...).(string)
	return s
}

// List is the list at a path.
func (o Object) List(path ...string) []any {
	l, _ := o.At(path...).([]any)
	return l
}

// Texts are the texts of a map, such as labels.
func (o Object) Texts(path ...string) map[string]string {
	fields, _ := o.At(path...).(map[string]any)
	all := make(map[string]string, len(fields))
	for key, value := range fields {
		if s, ok := value.(string); ok {
			all[key] = s
		}
	}
	return all
}

// Set sets the value at a path, and creates the objects on the way.
func (o Object) Set(value any, path ...string) {
	here := map[string]any(o)
	for _, name := range path[:len(path)-1] {
		inner, ok := here[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			here[name] = inner
		}
		here = inner
	}
	here[path[len(path)-1]] = value
}

// Kind is its kind.
func (o Object) Kind() string { return o.Text("kind") }

// Name is its name.
func (o Object) Name() string { return o.Text("metadata", "name") }

// Namespace is its namespace.
func (o Object) Namespace() string { return o.Text("metadata", "namespace") }

// UID is its UID.
func (o Object) UID() string { return o.Text("metadata", "uid") }

// Dying reports whether it is under deletion.
func (o Object) Dying() bool { return o.Text("metadata", "deletionTimestamp") != "" }

// Clone is a deep copy.
func (o Object) Clone() Object {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil
	}
	var out Object
	_ = json.Unmarshal(raw, &out)
	return out
}

// Owners are the UIDs of its owners.
func (o Object) Owners() (uids []string) {
	for _, ref := range o.List("metadata", "ownerReferences") {
		if fields, ok := ref.(map[string]any); ok {
			uids = append(uids, Object(fields).Text("uid"))
		}
	}
	return uids
}

// Owner is a list with an owner reference to it.
func (o Object) Owner() []any {
	return []any{map[string]any{
		"apiVersion": o.Text("apiVersion"), "kind": o.Kind(), "name": o.Name(), "uid": o.UID(), "controller": true, "blockOwnerDeletion": true,
	}}
}

// Any converts a map of texts to decoded JSON.
func Any(texts map[string]string) map[string]any {
	all := map[string]any{}
	for key, value := range texts {
		all[key] = value
	}
	return all
}

// Merged is the result of a JSON merge patch.
func Merged(into, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	fields, _ := into.(map[string]any)
	out := maps.Clone(fields)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(out, name)
			continue
		}
		out[name] = Merged(out[name], value)
	}
	return out
}
