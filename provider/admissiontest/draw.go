package admissiontest

import (
	"encoding/json"
	"reflect"
	"strings"

	"pgregory.net/rapid"
)

// Draw returns a document with fields of the spec that shape points to, in any case and sometimes of a
// wrong type, and with further fields, whose names begin with "x-". Texts are drawn from a few general ones
// and from the given ones.
func Draw(t *rapid.T, shape any, texts ...string) map[string]any {
	d := drawing{t: t, texts: []any{"", "", "a", "<&>", 0, 7, true, 0.5, json.Number("1.50")}}
	for _, text := range texts {
		d.texts = append(d.texts, text)
	}
	out := map[string]any{}
	d.fields(reflect.TypeOf(shape).Elem(), out)
	return out
}

type drawing struct {
	t     *rapid.T
	texts []any
}

// fields draws the fields of a struct into an object. It leaves out a third of them.
func (d drawing) fields(of reflect.Type, into map[string]any) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
			continue
		case name == "" && f.Anonymous:
			d.fields(f.Type, into)
			continue
		case name == "":
			name = f.Name
		}
		switch rapid.IntRange(0, 6).Draw(d.t, name) {
		case 0, 1:
			into[name] = d.value(f.Type)
		case 2:
			into[strings.ToUpper(name)] = d.value(f.Type)
		case 3:
			into["x-"+name] = d.value(f.Type)
		case 4:
			into[name], into[strings.ToUpper(name[:1])+name[1:]] = d.value(f.Type), d.value(f.Type)
		}
	}
}

func (d drawing) value(of reflect.Type) any {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	chance := rapid.IntRange(0, 60).Draw(d.t, "chance")
	switch {
	case chance == 0:
		return rapid.SampledFrom([]any{nil, "x", 7, true, []any{}, []any{map[string]any{}, 1.5}, map[string]any{"a": 1}}).Draw(d.t, "any")
	case chance < 4:
		return nil
	case reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return rapid.SampledFrom([]any{
			nil, 0.5, 2, json.Number("2.0"), json.Number("2e3"), json.Number("1e99"), "2Gi", "1e3", "2006-01-02T15:04:05Z", map[string]any{},
		}).Draw(d.t, "custom")
	}
	switch of.Kind() {
	case reflect.Struct:
		out := map[string]any{}
		d.fields(of, out)
		return out
	case reflect.Map:
		return map[string]any{"k": d.value(of.Elem()), "K": d.value(of.Elem())}
	case reflect.Slice:
		out := make([]any, rapid.IntRange(0, 3).Draw(d.t, "length"))
		for i := range out {
			out[i] = d.value(of.Elem())
		}
		return out
	case reflect.Bool:
		return rapid.Bool().Draw(d.t, "bool")
	case reflect.String:
		return rapid.SampledFrom(d.texts).Draw(d.t, "text")
	}
	return rapid.SampledFrom([]any{
		0, 1, -1, 64, 128, json.Number("1.28e2"), json.Number("16.0"), json.Number("-0"), json.Number("1e16"), json.Number("1e99"), json.Number("1e400"),
	}).Draw(d.t, "number")
}
