package failuredomain

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// object is a JSON object whose fields are decoded only as far as needed, so that all other fields stay as they are.
type object map[string]json.RawMessage

func parse(raw []byte) (object, error) {
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, fmt.Errorf("failed to unmarshal provider config: %w", err)
	}
	if o == nil {
		o = object{}
	}
	return o, nil
}

// key returns the spelling of a field in o. The case of a name does not matter, as in the decoders of Go.
func (o object) key(name string) string {
	if _, has := o[name]; has {
		return name
	}
	for key := range o {
		if strings.EqualFold(key, name) {
			return key
		}
	}
	return name
}

// set writes the field at a path, and creates the objects on the way.
func (o object) set(value any, path ...string) error {
	key := o.key(path[0])
	if len(path) > 1 {
		inner := object{}
		if raw, has := o[key]; has {
			var err error
			if inner, err = parse(raw); err != nil {
				return fmt.Errorf("%s: %w", path[0], err)
			}
		}
		if err := inner.set(value, path[1:]...); err != nil {
			return fmt.Errorf("%s: %w", path[0], err)
		}
		value = inner
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s: %w", path[0], err)
	}
	o[key] = raw
	return nil
}

// remove deletes the field at a path, if it exists.
func (o object) remove(path ...string) {
	key := o.key(path[0])
	if len(path) == 1 {
		delete(o, key)
		return
	}
	inner, err := parse(o[key])
	if err != nil {
		return
	}
	inner.remove(path[1:]...)
	if raw, err := json.Marshal(inner); err == nil {
		o[key] = raw
	}
}

// edited returns raw after a change of its fields.
func edited(raw []byte, change func(object) error) ([]byte, error) {
	o, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if err := change(o); err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

// decode decodes raw into the type of a platform's spec. Unknown fields have no effect.
func decode[S any](raw []byte) (s S, err error) {
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("failed to unmarshal provider config: %w", err)
	}
	return s, nil
}

// relevant returns the fields of raw that the type of a platform's spec has, after change has cleared those that do not count.
func relevant[S any](raw []byte, change func(*S)) (any, error) {
	s, err := decode[S](raw)
	if err != nil {
		return nil, err
	}
	change(&s)
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the provider config: %w", err)
	}
	return decode[any](text)
}

// pruned returns a JSON value without the fields that are null or an empty list or object: they mean the same as an absent field (K15).
func pruned(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range v {
			if inner = pruned(inner); !empty(inner) {
				out[key] = inner
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = pruned(inner)
		}
		return out
	}
	return value
}

func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// mostDifferences limits the list of differences, as in the replaced operator.
const mostDifferences = 10

// differences lists the fields that differ: "instanceType: m6i.xlarge != m5.xlarge".
func differences(path string, a, b any) (out []string) {
	x, isObject := a.(map[string]any)
	y, isToo := b.(map[string]any)
	if isObject && isToo {
		keys := slices.Compact(slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(x)), slices.Collect(maps.Keys(y))...))))
		for _, key := range keys {
			out = append(out, differences(strings.TrimPrefix(path+"."+key, "."), x[key], y[key])...)
		}
		return out[:min(len(out), mostDifferences)]
	}
	l, isList := a.([]any)
	m, isListToo := b.([]any)
	if isList && isListToo && len(l) == len(m) {
		for i := range l {
			out = append(out, differences(fmt.Sprintf("%s[%d]", path, i), l[i], m[i])...)
		}
		return out[:min(len(out), mostDifferences)]
	}
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s != %s", path, shown(a), shown(b))}
}

// shown is a value as JSON, in a few characters.
func shown(value any) string {
	if value == nil {
		return "<none>"
	}
	raw, err := json.Marshal(value)
	if err != nil || len(raw) > 80 {
		return "..."
	}
	return strings.Trim(string(raw), `"`)
}
