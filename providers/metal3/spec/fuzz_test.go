package spec_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/providers/metal3/spec"
)

// holds checks the properties of every spec.
func holds(t rapid.TB, a admit.Request) {
	_, filled := admissiontest.Holds(t, spec.Admitter{}, a, func(string, any) bool { return false })
	if filled == nil {
		return
	}
	warnings, faults := spec.Admitter{}.Admit(a)
	if len(faults) > 0 {
		t.Errorf("%s is refused: %v", a.Spec, faults)
	}
	if again, _ := (spec.Admitter{}).Admit(a); !slices.Equal(warnings, again) {
		t.Errorf("%q, and asked again %q: the text of a status would change", warnings, again)
	}
	if m, err := spec.DecodeOpenShift(a.Spec); err == nil {
		m.Selector().Matches(labels.Set{})
	}
}

// Half of the specs are the whole one with some fields replaced: few random ones are valid.
func TestWhateverTheSpecSays(t *testing.T) {
	texts := strings.Fields("role worker In notin Exists != gt 5 install_coreos http://images.example.com/a")
	rapid.Check(t, func(r *rapid.T) {
		raw, err := json.Marshal(admissiontest.Draw(r, &spec.OpenShift{}, texts...))
		if err != nil {
			r.Fatal(err)
		}
		if rapid.Bool().Draw(r, "mostly whole") {
			raw = admissiontest.Patched(r, whole, string(raw))
		}
		holds(r, admissiontest.Admission(raw))
	})
}

func FuzzAdmit(f *testing.F) {
	for _, raw := range []string{
		whole, installed, `{}`, `null`, `[]`, `"x"`, `{`, `{"hostSelectr":1}`, `{"hostSelector":{"matchExpressions":[{},null]}}`,
		`{"hostSelector":{"matchLabels":{"":"","a":null}}}`, `{"image":null,"IMAGE":{"url":1}}`,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		at := time.Now()
		holds(t, admissiontest.Admission(raw))
		_, _ = spec.DecodeGardener(raw)
		if took := time.Since(at); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
