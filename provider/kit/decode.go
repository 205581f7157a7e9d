package kit

import (
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"

	strictjson "sigs.k8s.io/json"

	"github.com/millwright-dev/millwright/provider"
)

// Bounds of a provider spec. Any user who may create a machine can write one, and every reconciliation of
// every machine of its class decodes it.
const (
	// mostBytes is the limit of an API server.
	mostBytes = 3 << 20
	// mostLevels is the deepest nesting of values. Decoders call themselves for each level.
	mostLevels = 1000
	// mostPath is the most bytes of a field's path in an error.
	mostPath = 1 << 10
)

// DecodeStrict decodes the JSON of a provider spec into the struct that into points to. Field names are
// case-sensitive, as in the API server.
//
// Unknown fields, duplicate fields and values of the wrong type are [provider.Invalid] errors that name the
// field's path ("disks[1].size"); for unknown and duplicate fields there is one each, joined. For text that
// is not JSON the error is [provider.Invalid] without a path. An empty raw is treated as {}.
//
// More than 3 MiB, values more than 1000 levels deep, and quantities of more than 100 digits or with a
// three-digit exponent, are Invalid. The work is bounded: if the search for the path takes too much, it
// ends at a part that contains the wrong value.
func DecodeStrict(raw []byte, into any) error {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	if len(raw) > mostBytes {
		return provider.Errorf(provider.Invalid, "the provider spec has %d bytes: more than %d", len(raw), mostBytes)
	}
	if err := inspect(raw, reflect.TypeOf(into)); err != nil {
		return err
	}
	strict, err := strictjson.UnmarshalStrict(raw, into)
	if err != nil {
		return mistyped(raw, reflect.TypeOf(into), err)
	}
	errs := make([]error, 0, len(strict))
	for _, err := range strict {
		e := provider.Errorf(provider.Invalid, "%w", err)
		if f, ok := errors.AsType[strictjson.FieldError](err); ok {
			e.Field = provider.Clip(f.FieldPath(), mostPath)
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// mistyped returns an Invalid error for an error that ended decoding. A value that decodes itself (a
// duration, a quantity) reports no path: mistyped then finds it by decoding the document piece by piece.
func mistyped(raw []byte, into reflect.Type, err error) error {
	if !json.Valid(raw) || into == nil || into.Kind() != reflect.Pointer {
		return provider.Errorf(provider.Invalid, "decode the provider spec: %w", err)
	}
	n := narrowing{into: into.Elem(), left: work}
	path, found := n.narrow(part{raw: raw})
	if found != nil {
		err = found
	}
	return &provider.Error{Kind: provider.Invalid, Field: provider.Clip(path, mostPath), Err: err}
}

// Bounds of the search for a wrong value: 8 MiB take a fraction of a second, and are many times the search
// in a spec that a person wrote.
const (
	work = 8 << 20
	// attempt is the cost of each piece beside its length, in bytes.
	attempt = 1 << 10
	// deepest is the number of levels that are searched.
	deepest = 20
)

// narrowing searches for the smallest part of a document that does not decode.
type narrowing struct {
	into reflect.Type
	left int // the bytes that may still be read
}

// part is a value of the document, and the text around it when everything else is left out.
type part struct {
	raw           json.RawMessage
	before, after string
	path          string
	level         int
}

// narrow returns the path of the first part of p that does not decode when
// everything else is left out, and its error.
func (n *narrowing) narrow(p part) (string, error) {
	err := n.decode(p)
	if err == nil || p.level == deepest {
		return p.path, err
	}
	for child := range n.children(p) {
		if path, err := n.narrow(child); err != nil {
			return path, err
		}
	}
	return p.path, err
}

// children yields the values in an object, with their names, or in a list, within the remaining work. Each
// part is built only when the caller asks for it: the text around it may be long.
func (n *narrowing) children(p part) iter.Seq[part] {
	var fields map[string]json.RawMessage
	var list []json.RawMessage
	around := len(p.before) + len(p.after) + len(p.path)
	return func(yield func(part) bool) {
		switch {
		case !n.afford(len(p.raw)):
		case json.Unmarshal(p.raw, &fields) == nil:
			for _, key := range slices.Sorted(maps.Keys(fields)) {
				if !n.afford(around+len(key)+len(fields[key])) || !yield(p.field(key, fields[key])) {
					return
				}
			}
		case json.Unmarshal(p.raw, &list) == nil:
			for i, raw := range list {
				if !n.afford(around+len(raw)) || !yield(p.entry(i, raw)) {
					return
				}
			}
		}
	}
}

func (p part) field(key string, raw json.RawMessage) part {
	name, _ := json.Marshal(key) // a string cannot fail
	return part{raw: raw, before: p.before + "{" + string(name) + ":", after: "}" + p.after, path: join(p.path, key), level: p.level + 1}
}

func (p part) entry(i int, raw json.RawMessage) part {
	return part{raw: raw, before: p.before + "[", after: "]" + p.after, path: p.path + "[" + strconv.Itoa(i) + "]", level: p.level + 1}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// afford reports whether the remaining work is enough for a piece of this size.
func (n *narrowing) afford(bytes int) bool {
	n.left -= bytes + attempt
	return n.left >= 0
}

func (n *narrowing) decode(p part) error {
	_, err := strictjson.UnmarshalStrict([]byte(p.before+string(p.raw)+p.after), reflect.New(n.into).Interface())
	return err
}
