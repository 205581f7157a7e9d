package admissiontest

import (
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider/admit"
)

// root is the path of the specs that [Admission] returns.
const root = "providerSpec"

// Admission is a request for the spec of a template, with no information about the cluster.
func Admission(raw []byte) admit.Request {
	return admit.Request{Spec: raw, Path: field.NewPath(root)}
}

// Patched is a document with a JSON merge patch applied: null removes a field.
func Patched(t rapid.TB, base, patch string) []byte {
	t.Helper()
	text, err := jsonpatch.MergePatch([]byte(base), []byte(patch))
	if err != nil {
		t.Fatalf("%v in %s or %s", err, base, patch)
	}
	return text
}

// Words returns faults as "field type": "placement.region Required". It checks that each fault is below the
// spec, or has the name of an original that begins at the machine's spec, and gives a reason.
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

// Warned returns the fields that warnings begin with. It checks that each gives a reason.
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

// Same checks that got has the wanted words, in any order.
func Same(t rapid.TB, what string, got, want []string) {
	t.Helper()
	sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), sorted); diff != "" {
		t.Errorf("%s, wanted and got:\n%s", what, diff)
	}
}

// List is a JSON list of n equal entries.
func List(n int, entry string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(entry+",", n), ",") + "]"
}
