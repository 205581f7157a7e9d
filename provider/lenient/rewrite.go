package lenient

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// rewritten returns a tree as JSON that strict decoding into t reads as the originals read the tree. Fields
// that t does not have are left out, or kept; a value that does not fit is left for the decoder to refuse.
func rewritten(tree any, t reflect.Type, keep bool) []byte {
	r := rewriting{fields: map[reflect.Type][]named{}, keep: keep}
	r.strings = json.NewEncoder(&r.out)
	r.strings.SetEscapeHTML(false)
	r.value(tree, t)
	return r.out.Bytes()
}

// rewriting is the text so far, with the settings of the rewrite.
type rewriting struct {
	out     bytes.Buffer
	strings *json.Encoder // to out
	fields  map[reflect.Type][]named
	keep    bool // fields that no type has
}

// named is a field with its JSON name.
type named struct {
	name string
	of   reflect.Type
}

// value writes a value for a place of type t; nil: the type is not known.
func (r *rewriting) value(value any, t reflect.Type) {
	t = plain(t)
	switch v := value.(type) {
	case map[string]any:
		r.object(v, t)
	case []any:
		r.list(v, t)
	case string:
		r.text(v)
	case json.Number:
		r.number(v, is(t, reflect.String))
	case bool:
		if is(t, reflect.String) {
			r.text(strconv.FormatBool(v))
		} else {
			r.out.WriteString(strconv.FormatBool(v))
		}
	default:
		r.out.WriteString("null")
	}
}

// plain is the type that a pointer leads to; nil if it decodes itself.
func plain(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	return t
}

func is(t reflect.Type, kind reflect.Kind) bool { return t != nil && t.Kind() == kind }

func (r *rewriting) object(object map[string]any, t reflect.Type) {
	before := byte('{')
	for _, spelled := range slices.Sorted(maps.Keys(object)) {
		name, of := spelled, reflect.Type(nil)
		switch {
		case is(t, reflect.Map):
			of = t.Elem()
		case is(t, reflect.Struct):
			f, known := r.field(t, spelled)
			if !known && !r.keep {
				continue
			}
			name, of = cmp.Or(f.name, spelled), f.of
		}
		r.out.WriteByte(before)
		r.text(name)
		r.out.WriteByte(':')
		r.value(object[spelled], of)
		before = ','
	}
	if before == '{' {
		r.out.WriteByte(before)
	}
	r.out.WriteByte('}')
}

func (r *rewriting) list(list []any, t reflect.Type) {
	var of reflect.Type
	if is(t, reflect.Slice) {
		of = t.Elem()
	}
	r.out.WriteByte('[')
	for i, entry := range list {
		if i > 0 {
			r.out.WriteByte(',')
		}
		r.value(entry, of)
	}
	r.out.WriteByte(']')
}

// text writes a string, without escaping HTML characters.
func (r *rewriting) text(s string) {
	_ = r.strings.Encode(s)         // a string cannot fail
	r.out.Truncate(r.out.Len() - 1) // the line's end
}

// field returns the field for a name: the one with exactly this name, or else the first one in another
// case.
func (r *rewriting) field(t reflect.Type, name string) (named, bool) {
	fields, known := r.fields[t]
	if !known {
		fields = fieldsOf(t)
		r.fields[t] = fields
	}
	i := slices.IndexFunc(fields, func(f named) bool { return f.name == name })
	if i < 0 {
		i = slices.IndexFunc(fields, func(f named) bool { return strings.EqualFold(f.name, name) })
	}
	if i < 0 {
		return named{}, false
	}
	return fields[i], true
}

// fieldsOf returns the fields of a struct and of its embedded structs.
func fieldsOf(t reflect.Type) (fields []named) {
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-", !f.IsExported(), f.Anonymous && name == "":
			continue
		case name == "":
			name = f.Name
		}
		fields = append(fields, named{name, f.Type})
	}
	return fields
}

// number writes a number as a reader of YAML understands it: whole numbers of up to 64 bits with every
// digit, others as the nearest 64-bit float, without an exponent if they are whole numbers of up to 21
// digits. A larger number is text.
func (r *rewriting) number(n json.Number, asText bool) {
	s := n.String()
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		s = strconv.FormatInt(i, 10)
	} else if _, err := strconv.ParseUint(s, 10, 64); err == nil {
		// Unchanged.
	} else if f, err := strconv.ParseFloat(s, 64); err != nil {
		asText = true
	} else if asText {
		s = strconv.FormatFloat(f, 'g', -1, 32)
	} else {
		raw, _ := json.Marshal(f) // a number that was parsed cannot fail
		s = string(raw)
	}
	if asText {
		r.text(s)
	} else {
		r.out.WriteString(s)
	}
}
