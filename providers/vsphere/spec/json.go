package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/provider"
)

// decode reads a spec as tolerantly as the original does, which reads it as YAML: a
// field has its name in any case, and a number or boolean stands for the text that
// it looks like. Unknown fields are left out.
func decode[T any](raw []byte) (*T, error) {
	spec := new(T)
	err := json.Unmarshal(raw, spec)
	if _, mistyped := errors.AsType[*json.UnmarshalTypeError](err); !mistyped {
		return spec, err
	}
	spec = new(T)
	return spec, yaml.Unmarshal(raw, spec)
}

// missing is a field that is empty, and the text that it gets.
type missing struct {
	path  []string
	value string
}

// fill writes what is missing into a spec; fields without a value stay as they are.
// A spec that misses nothing is returned byte for byte.
func fill(raw []byte, fields []missing) ([]byte, error) {
	var whole object
	for _, f := range fields {
		if f.value == "" {
			continue
		}
		if whole == nil {
			var err error
			if whole, err = objectOf(raw); err != nil {
				return nil, err
			}
		}
		if err := whole.put(f.value, f.path[0], f.path[1:]...); err != nil {
			return nil, err
		}
	}
	if whole == nil {
		return bytes.Clone(raw), nil
	}
	return textOf(whole)
}

// object is a JSON object whose values are kept as they were written.
type object map[string]json.RawMessage

// objectOf reads an object; null and nothing are an empty one.
func objectOf(raw []byte) (object, error) {
	o := object{}
	if len(raw) == 0 || string(raw) == "null" {
		return o, nil
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, provider.Errorf(provider.Invalid, "decode the provider spec: %w", err)
	}
	if o == nil { // null with spaces around it
		o = object{}
	}
	return o, nil
}

// put writes a text where the path leads, unless there is one, and makes the objects
// on the way.
func (o object) put(value, name string, rest ...string) error {
	for _, key := range o.keys(name) {
		if len(rest) > 0 {
			child, err := objectOf(o[key])
			if err != nil {
				return err
			}
			if err := child.put(value, rest[0], rest[1:]...); err != nil {
				return err
			}
			if o[key], err = textOf(child); err != nil {
				return err
			}
			continue
		}
		if was := string(o[key]); was == "" || was == "null" || was == `""` {
			text, err := textOf(value)
			if err != nil {
				return err
			}
			o[key] = text
		}
	}
	return nil
}

// keys are those that decode takes for the field: its name, in any case.
func (o object) keys(name string) (keys []string) {
	for key := range o {
		if strings.EqualFold(key, name) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		keys = []string{name}
	}
	return keys
}

// textOf is JSON that leaves the characters of HTML as they are.
func textOf(value any) ([]byte, error) {
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	if err := to.Encode(value); err != nil {
		return nil, provider.Errorf(provider.Invalid, "encode the provider spec: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
