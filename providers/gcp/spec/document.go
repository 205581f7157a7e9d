package spec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	strictjson "sigs.k8s.io/json"

	"github.com/millwright-dev/millwright/provider"
)

// decode returns the spec as the type that it is of, and as the document that people wrote. It reads what the
// original reads: names of fields in any case, numbers and booleans where text belongs, whole numbers in any notation.
// Unknown fields are let through. The error is [provider.Invalid].
func decode[T any](raw []byte) (spec T, document map[string]any, err error) {
	var tree any
	if len(raw) > 0 {
		if tree, err = parse(raw); err != nil {
			return spec, nil, provider.Errorf(provider.Invalid, "decode the provider spec: %w", err)
		}
	}
	canonical, err := encode(fit(tree, reflect.TypeFor[T]()))
	if err != nil {
		return spec, nil, err
	}
	err = provider.DecodeStrict(canonical, &spec)
	if _, unknown := errors.AsType[strictjson.FieldError](err); err != nil && !unknown {
		return spec, nil, err
	}
	if document, _ = tree.(map[string]any); document == nil {
		document = map[string]any{}
	}
	return spec, document, nil
}

// parse returns one JSON value, whose numbers are as they were written.
func parse(raw []byte) (tree any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("there is more behind the end, at byte %d", decoder.InputOffset())
	}
	return tree, nil
}

// encode returns a tree as JSON, no longer than it has to be.
func encode(tree any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(tree); err != nil {
		return nil, provider.Errorf(provider.Invalid, "encode the provider spec: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// fit returns a value as strict decoding into t takes it: fields under their names, scalars as text where t has text,
// 1.28e2 as 128. What does not fit stays as it is.
func fit(value any, t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		return fitObject(v, t)
	case []any:
		if t.Kind() != reflect.Slice {
			return value
		}
		out := make([]any, len(v))
		for i := range v {
			out[i] = fit(v[i], t.Elem())
		}
		return out
	case json.Number:
		if t.Kind() == reflect.String {
			return v.String()
		}
		return whole(v, t)
	case bool:
		if t.Kind() == reflect.String {
			return strconv.FormatBool(v)
		}
	}
	return value
}

func fitObject(v map[string]any, t reflect.Type) any {
	if t.Kind() != reflect.Map && t.Kind() != reflect.Struct {
		return v
	}
	out := make(map[string]any, len(v))
	// Of several spellings of a name the last counts, in the order in which an API server writes them.
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if t.Kind() == reflect.Map {
			out[name] = fit(v[name], t.Elem())
		} else if as, fieldType := fieldOf(t, name); fieldType != nil {
			out[as] = fit(v[name], fieldType)
		} else {
			out[name] = v[name]
		}
	}
	return out
}

// fieldOf is the name and the type of the field that decoding without regard to case finds; nil when there is none.
func fieldOf(t reflect.Type, name string) (string, reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			if as, found := fieldOf(f.Type, name); found != nil {
				return as, found
			}
		} else if tag != "" && strings.EqualFold(tag, name) {
			return tag, f.Type
		}
	}
	return "", nil
}

// whole returns a number in the notation of whole ones, where t takes no other and it is one.
func whole(n json.Number, t reflect.Type) json.Number {
	if t.Kind() < reflect.Int || t.Kind() > reflect.Uint64 || !strings.ContainsAny(n.String(), ".eE") {
		return n
	}
	if f, err := n.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return n
}

// set gives a field of an object a value, under the spelling that it has there.
func set(object map[string]any, name string, value any) { object[spelling(object, name)] = value }

// child is the object in a field of another one; where there is none, it is put there.
func child(object map[string]any, name string) map[string]any {
	name = spelling(object, name)
	inner, ok := object[name].(map[string]any)
	if !ok {
		inner = map[string]any{}
		object[name] = inner
	}
	return inner
}

// spelling is how a name is written in an object; as it is given where the object does not have it.
func spelling(object map[string]any, name string) string {
	var as string
	for other := range object {
		if strings.EqualFold(other, name) {
			as = max(as, other)
		}
	}
	return cmp.Or(as, name)
}

// undecodable is the fault of a spec that decode refuses.
func undecodable(path *field.Path, err error) *field.Error {
	return field.Invalid(path, field.OmitValueType{}, provider.Clip(err.Error(), 1<<10))
}

// shown is a value as a fault quotes it.
func shown[S ~string](value S) string { return provider.Clip(string(value), 256) }

// mostFaults is how many faults of a list are told.
const mostFaults = 50
