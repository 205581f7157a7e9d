package spec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
)

// patched is a JSON object with a merge patch applied: null takes a field out.
func patched(t *testing.T, base, patch string) []byte {
	t.Helper()
	var into, with map[string]any
	for text, to := range map[string]*map[string]any{base: &into, patch: &with} {
		if err := json.Unmarshal([]byte(text), to); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	text, err := json.Marshal(merge(into, with))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func merge(into, with map[string]any) map[string]any {
	if into == nil {
		into = map[string]any{}
	}
	for name, value := range with {
		inner, deep := value.(map[string]any)
		switch {
		case value == nil:
			delete(into, name)
		case deep:
			was, _ := into[name].(map[string]any)
			into[name] = merge(was, inner)
		default:
			into[name] = value
		}
	}
	return into
}

func admission(raw []byte) provider.Admission {
	return provider.Admission{Spec: raw, Path: field.NewPath("providerSpec")}
}

// words are faults as "field type", with the root of the path and the prefix of the type left out.
func words(t *testing.T, faults field.ErrorList) (short []string) {
	t.Helper()
	for _, fault := range faults {
		path, below := strings.CutPrefix(fault.Field, "providerSpec.")
		if !below {
			t.Errorf("%v is not below providerSpec", fault)
		}
		if fault.Detail == "" && fault.Type != field.ErrorTypeNotSupported {
			t.Errorf("%v does not say why", fault)
		}
		short = append(short, path+" "+strings.TrimPrefix(string(fault.Type), "FieldValue"))
	}
	return short
}

// fieldsOf are the paths that warnings begin with.
func fieldsOf(t *testing.T, warnings []string) (fields []string) {
	t.Helper()
	for _, warning := range warnings {
		path, why, found := strings.Cut(warning, ": ")
		if path = strings.TrimPrefix(path, "providerSpec."); !found || why == "" {
			t.Errorf("%q does not say why", warning)
		}
		fields = append(fields, path)
	}
	return fields
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), sorted); diff != "" {
		t.Errorf("%s, wanted and got:\n%s", what, diff)
	}
}

// some is so many entries of a JSON list.
func some(n int, entry string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(entry+",", n), ",") + "]"
}
