package lenient

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// Document is a spec as people wrote it, unknown fields and all.
type Document struct {
	Object
	raw []byte
}

// Object is one of a document, to be filled in. What is set is under the spelling of its name that counts for [Decode].
type Object struct {
	fields map[string]any
	filled *bool // of the whole document
}

// newDocument makes one of its text and of what that says: an object or null.
func newDocument(raw []byte, tree any) *Document {
	fields, _ := tree.(map[string]any)
	if fields == nil {
		fields = map[string]any{}
	}
	return &Document{Object: Object{fields: fields, filled: new(bool)}, raw: raw}
}

// JSON returns the text as it was, byte for byte, if nothing was set. Otherwise it is no longer than it has to be, and all that was
// not set is as it was, with every digit of a number. The error is [provider.Invalid].
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

// Set gives a field a value, whatever it had.
func (o Object) Set(name string, value any) {
	o.fields[o.spelling(name)] = value
	*o.filled = true
}

// In is the object in a field; where there is none, it is put there.
func (o Object) In(name string) Object {
	inner, there := o.fields[o.spelling(name)].(map[string]any)
	if !there {
		inner = map[string]any{}
		o.Set(name, inner)
	}
	return Object{fields: inner, filled: o.filled}
}

// Entry is the object at an index of the list in a field; where there is none, it is put there.
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

// spelling is how a name has to be written in an object for its value to count: as the last of the spellings that are there, unless
// that says nothing and the name itself comes behind it.
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
