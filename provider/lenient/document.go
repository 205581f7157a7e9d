package lenient

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// Document is a spec as the user wrote it, including unknown fields.
type Document struct {
	Object
	raw []byte
}

// Object is an object of a document, to be filled in. Set uses the spelling of the name that counts for
// [Decode].
type Object struct {
	fields map[string]any
	filled *bool // of the whole document
}

// newDocument returns a document of its text and its parsed value: an object or null.
func newDocument(raw []byte, tree any) *Document {
	fields, _ := tree.(map[string]any)
	if fields == nil {
		fields = map[string]any{}
	}
	return &Document{Object: Object{fields: fields, filled: new(bool)}, raw: raw}
}

// JSON returns the original text, byte for byte, if nothing was set. Otherwise it is as short as possible,
// and all other values are unchanged, with every digit of a number. The error is [provider.Invalid].
func (d *Document) JSON() ([]byte, error) {
	if !*d.filled {
		return bytes.Clone(d.raw), nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(d.fields); err != nil {
		return nil, provider.Errorf(provider.Invalid, "encode the provider spec: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Set sets a field to a value and replaces an existing one.
func (o Object) Set(name string, value any) {
	o.fields[o.spelling(name)] = value
	*o.filled = true
}

// In returns the object in a field, and creates it if it is missing.
func (o Object) In(name string) Object {
	inner, there := o.fields[o.spelling(name)].(map[string]any)
	if !there {
		inner = map[string]any{}
		o.Set(name, inner)
	}
	return Object{fields: inner, filled: o.filled}
}

// Entry returns the object at an index of the list in a field, and creates it if it is missing.
func (o Object) Entry(name string, index int) Object {
	list, _ := o.fields[o.spelling(name)].([]any)
	if missing := index + 1 - len(list); missing > 0 {
		list = append(list, make([]any, missing)...)
		o.Set(name, list)
	}
	inner, there := list[index].(map[string]any)
	if !there {
		inner = map[string]any{}
		list[index] = inner
		*o.filled = true
	}
	return Object{fields: inner, filled: o.filled}
}

// spelling returns the spelling of a name in an object whose value counts: the last of the existing
// spellings, unless that one is empty and the name itself sorts after it.
func (o Object) spelling(name string) string {
	var last string
	for other := range o.fields {
		if strings.EqualFold(other, name) {
			last = max(last, other)
		}
	}
	if o.fields[last] == nil && last < name {
		return name
	}
	return cmp.Or(last, name)
}
