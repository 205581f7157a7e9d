package kubevirt

import (
	"encoding/json"
	"maps"
)

// object is one of an API server, as JSON has it.
type object map[string]any

// at is what is under a path of fields; nil for nothing.
func (o object) at(path ...string) any {
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

func (o object) text(path ...string) string {
	s, _ := o.at(path...).(string)
	return s
}

func (o object) list(path ...string) []any {
	l, _ := o.at(path...).([]any)
	return l
}

// texts are the texts of a map, such as labels.
func (o object) texts(path ...string) map[string]string {
	fields, _ := o.at(path...).(map[string]any)
	all := make(map[string]string, len(fields))
	for key, value := range fields {
		if s, ok := value.(string); ok {
			all[key] = s
		}
	}
	return all
}

// set puts a value under a path, with objects on the way.
func (o object) set(value any, path ...string) {
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

func (o object) name() string { return o.text("metadata", "name") }
func (o object) uid() string  { return o.text("metadata", "uid") }
func (o object) dying() bool  { return o.text("metadata", "deletionTimestamp") != "" }

// clone is a copy that shares nothing.
func (o object) clone() object {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil
	}
	var out object
	_ = json.Unmarshal(raw, &out)
	return out
}

// owners are the UIDs of those that it goes with.
func (o object) owners() (uids []string) {
	for _, ref := range o.list("metadata", "ownerReferences") {
		if fields, ok := ref.(map[string]any); ok {
			uids = append(uids, object(fields).text("uid"))
		}
	}
	return uids
}

// owner is a reference to it.
func (o object) owner() []any {
	return []any{map[string]any{
		"apiVersion": o.text("apiVersion"), "kind": o.text("kind"), "name": o.name(), "uid": o.uid(), "controller": true, "blockOwnerDeletion": true,
	}}
}

// merged is the result of a JSON merge patch.
func merged(into, patch any) any {
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
		out[name] = merged(out[name], value)
	}
	return out
}
