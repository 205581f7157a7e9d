package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"

	strictjson "sigs.k8s.io/json"
)

// DecodeStrict decodes the JSON of a provider spec into the struct that into
// points to. Field names are case-sensitive, as in the API server.
//
// Unknown fields, fields given twice and values of the wrong type are [Invalid]
// errors that name the field's path ("disks[1].size"); of unknown and doubled
// fields there is one each, joined. Text that is no JSON is an [Invalid] error
// without a path. An empty raw counts as {}.
func DecodeStrict(raw []byte, into any) error {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	strict, err := strictjson.UnmarshalStrict(raw, into)
	if err != nil {
		return mistyped(raw, reflect.TypeOf(into), err)
	}
	errs := make([]error, 0, len(strict))
	for _, err := range strict {
		e := Errorf(Invalid, "%w", err)
		if f, ok := errors.AsType[strictjson.FieldError](err); ok {
			e.Field = f.FieldPath()
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// mistyped makes an Invalid error of one that ended decoding. A value that
// decodes itself (a duration, a quantity) reports no path: it is then found by
// decoding the document piece by piece.
func mistyped(raw []byte, into reflect.Type, err error) error {
	var document any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // as written: a float would not pass where an integer belongs
	if d.Decode(&document) != nil || into == nil || into.Kind() != reflect.Pointer {
		return Errorf(Invalid, "decode the provider spec: %w", err)
	}
	n := narrowing{into: into.Elem()}
	path, found := n.narrow(document, func(v any) any { return v }, "")
	if found != nil {
		err = found
	}
	return &Error{Kind: Invalid, Field: path, Err: err}
}

// narrowing looks for the smallest part of a document that does not decode.
type narrowing struct{ into reflect.Type }

// narrow returns the path of the first part of value that does not decode when
// everything else is left out, and its error; within puts a part in its place
// in the document.
func (n narrowing) narrow(value any, within func(any) any, path string) (string, error) {
	err := n.decode(within(value))
	if err == nil {
		return path, nil
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			only := func(part any) any { return within(map[string]any{key: part}) }
			if p, err := n.narrow(v[key], only, join(path, key)); err != nil {
				return p, err
			}
		}
	case []any:
		for i, part := range v {
			only := func(part any) any { return within([]any{part}) }
			if p, err := n.narrow(part, only, path+"["+strconv.Itoa(i)+"]"); err != nil {
				return p, err
			}
		}
	}
	return path, err
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (n narrowing) decode(document any) error {
	raw, err := json.Marshal(document)
	if err != nil {
		return err
	}
	_, err = strictjson.UnmarshalStrict(raw, reflect.New(n.into).Interface())
	return err
}
