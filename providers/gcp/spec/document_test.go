package spec

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/provider"
)

// TestReadsWhatTheOriginalReads: the original reads specs as YAML into the type. What it can read so, is read here, and
// as the same.
func TestReadsWhatTheOriginalReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := drawSpec(t)
		var want machineSpec
		if yaml.Unmarshal(raw, &want) != nil {
			return
		}
		got, _, err := decode[machineSpec](raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if g, w := written(t, got), written(t, want); g != w {
			t.Fatalf("%s is read as\n%s, want\n%s", raw, g, w)
		}
	})
}

// TestDefaultLosesNothing: whatever is in a spec is in it afterwards, but for the emptiness of what was filled in;
// and there is nothing left to fill in.
func TestDefaultLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := drawSpec(t)
		a := provider.Admission{Spec: raw, Platform: provider.Platform{
			ID: rapid.SampledFrom([]string{"", "c1"}).Draw(t, "id"), Architecture: rapid.SampledFrom([]string{"", "amd64", "arm64"}).Draw(t, "architecture"),
		}}
		once, err := Admitter{}.Default(a)
		_, faults := Admitter{}.Admit(a)
		if refused := len(faults) == 1 && faults[0].Field == a.Path.String(); refused != (err != nil) {
			t.Fatalf("%s: defaulted with %v, admitted with %v", raw, err, faults)
		}
		if err != nil {
			if provider.KindOf(err) != provider.Invalid {
				t.Fatalf("%s: %v is not Invalid", raw, err)
			}
			return
		}
		if lost := missing(parsed(t, raw), parsed(t, once), ""); lost != "" {
			t.Fatalf("%s became %s: lost %s", raw, once, lost)
		}
		a.Spec = once
		if twice, err := (Admitter{}).Default(a); err != nil || string(twice) != string(once) {
			t.Fatalf("%s, defaulted again, is %s, %v", once, twice, err)
		}
	})
}

// drawSpec returns a document with fields of the spec and others, in any case, now and then of a wrong type.
func drawSpec(t *rapid.T) []byte {
	return []byte(written(t, drawValue(t, reflect.TypeFor[machineSpec]())))
}

func drawValue(t *rapid.T, of reflect.Type) any {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	chance := rapid.IntRange(0, 60).Draw(t, "chance")
	switch {
	case chance == 0:
		return rapid.SampledFrom([]any{nil, "x", 7, true, []any{}, []any{map[string]any{}, 1.5}, map[string]any{"a": 1}}).Draw(t, "any")
	case chance < 4:
		return nil
	case reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return rapid.SampledFrom([]any{nil, 0.5, "2Gi", "2006-01-02T15:04:05Z", map[string]any{}}).Draw(t, "custom")
	}
	switch of.Kind() {
	case reflect.Struct:
		out := map[string]any{}
		drawFields(t, of, out)
		return out
	case reflect.Map:
		return map[string]any{"k": drawValue(t, of.Elem()), "K": drawValue(t, of.Elem())}
	case reflect.Slice:
		out := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range out {
			out[i] = drawValue(t, of.Elem())
		}
		return out
	case reflect.Bool:
		return rapid.Bool().Draw(t, "bool")
	case reflect.String:
		return rapid.SampledFrom([]any{"", "", "a", "<&>", "Enabled", "Local", "us-east1", 0, 7, true}).Draw(t, "text")
	}
	return rapid.SampledFrom([]any{0, 1, -1, 64, 128, json.Number("1.28e2"), json.Number("16.0"), json.Number("1e99")}).Draw(t, "number")
}

func drawFields(t *rapid.T, of reflect.Type, into map[string]any) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			drawFields(t, f.Type, into)
			continue
		}
		switch rapid.IntRange(0, 5).Draw(t, name) {
		case 0, 1:
			into[name] = drawValue(t, f.Type)
		case 2:
			into[strings.ToUpper(name)] = drawValue(t, f.Type)
		case 3:
			into["x-"+name] = drawValue(t, f.Type)
		}
	}
}

// missing is the path of what was in a document and is no longer; empty for nothing.
func missing(before, after any, path string) string {
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok {
			return path + " {}"
		}
		for key, value := range b {
			if _, there := a[key]; !there {
				return path + "." + key
			}
			if lost := missing(value, a[key], path+"."+key); lost != "" {
				return lost
			}
		}
		return ""
	case []any:
		if a, ok := after.([]any); ok && len(a) >= len(b) && (len(a) == len(b) || len(b) == 0) {
			for i := range b {
				if lost := missing(b[i], a[i], path+"[]"); lost != "" {
					return lost
				}
			}
			return ""
		}
		return path + " []"
	}
	empty := before == nil || before == "" || before == json.Number("0")
	if reflect.DeepEqual(before, after) || empty && !strings.Contains(path, ".x-") {
		return ""
	}
	return path
}

func parsed(t *rapid.T, raw []byte) any {
	tree, err := parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if tree == nil {
		return map[string]any{}
	}
	return tree
}

func written(t *rapid.T, value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
