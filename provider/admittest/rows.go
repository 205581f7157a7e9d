package admittest

import (
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider/admit"
)

// root is where specs are found that [Admission] makes.
const root = "providerSpec"

// Admission is a spec to be judged, of a template, with nothing known of the cluster.
func Admission(raw []byte) admit.Request {
	return admit.Request{Spec: raw, Path: field.NewPath(root)}
}

// Patched is a document with a JSON merge patch applied: null takes a field out.
func Patched(t rapid.TB, base, patch string) []byte {
	t.Helper()
	text, err := jsonpatch.MergePatch([]byte(base), []byte(patch))
	if err != nil {
		t.Fatalf("%v in %s or %s", err, base, patch)
	}
	return text
}

// Words are faults as "field type": "placement.region Required". Each is below the spec, or is called as an original calls it that
// begins at the machine's spec, and says why.
func Words(t rapid.TB, faults field.ErrorList) (short []string) {
	t.Helper()
	for _, fault := range faults {
		path, below := strings.CutPrefix(fault.Field, root+".")
		if !below && !strings.HasPrefix(path, "spec.") {
			t.Errorf("%v is not below %s", fault, root)
		}
		if fault.Detail == "" && fault.Type != field.ErrorTypeNotSupported {
			t.Errorf("%v does not say why", fault)
		}
		short = append(short, path+" "+strings.TrimPrefix(string(fault.Type), "FieldValue"))
	}
	return short
}

// Warned are the fields that warnings begin with. Each says why.
func Warned(t rapid.TB, warnings []string) (fields []string) {
	t.Helper()
	for _, warning := range warnings {
		path, why, found := strings.Cut(warning, ": ")
		if path = strings.TrimPrefix(path, root+"."); !found || why == "" {
			t.Errorf("%q does not say why", warning)
		}
		fields = append(fields, path)
	}
	return fields
}

// Same checks that there are the words that are wanted, in any order.
func Same(t rapid.TB, what string, got, want []string) {
	t.Helper()
	sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), sorted); diff != "" {
		t.Errorf("%s, wanted and got:\n%s", what, diff)
	}
}

// List is a JSON list of so many equal entries.
func List(n int, entry string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(entry+",", n), ",") + "]"
}
