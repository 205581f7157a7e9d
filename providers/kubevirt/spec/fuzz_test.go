package spec_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/providers/kubevirt/spec"
)

// holds checks the properties of every spec.
func holds(t rapid.TB, a admit.Request) {
	_, filled := admissiontest.Holds(t, spec.Admitter{}, a, func(path string, was any) bool {
		return was == nil && (path == ".userDataSecret" || path == ".credentialsSecret")
	})
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
}

// Half of the specs are the whole one with some fields replaced: few random ones are valid.
func TestWhateverTheSpecSays(t *testing.T) {
	texts := strings.Fields("z ns/net data root-disk None 4Gi ssh-ed25519 https://images.example.com/a")
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
		whole, old, `{}`, `null`, `[]`, `"x"`, `{`, `{"userDataSecret":null}`, `{"zonez":1}`,
		`{"rootVolume":{"source":{"http":{},"blank":{}},"pvc":{},"storage":{}},"additionalVolumes":[{},null],"networks":[{},{}]}`,
		`{"resources":{"requests":{"memory":"1e999999999"}}}`, `{"requestedMemory":"1e999999999","requestedStorage":"-1","sourcePvcName":"p"}`,
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
