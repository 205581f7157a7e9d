package spec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/providers/vsphere/spec"
)

// holds checks the rules for any spec.
func holds(t rapid.TB, a admit.Request) {
	faults, filled := admissiontest.Holds(t, spec.Admitter{}, a, func(path string, was any) bool {
		return (was == nil || was == "") && !strings.Contains(path, "[")
	})
	if filled == nil {
		return
	}
	a.Spec = filled
	if _, left := (spec.Admitter{}).Admit(a); len(left) > len(faults) {
		t.Errorf("defaults make faults: %v, and before %v", left, faults)
	}
}

// texts are words with a meaning in a spec, in any case.
var texts = strings.Fields(`rhcos DC0 /DC0/vm/c1 Thin Thick EagerlyZeroed linkedClone disk_1 urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc9578:GLOBAL`)

// Half of the specs are the whole one with some replaced fields: most others have faults.
func TestWhateverTheSpecSays(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		raw, err := json.Marshal(admissiontest.Draw(r, spec.Admitter{}.SpecShape(), texts...))
		if err != nil {
			r.Fatal(err)
		}
		if rapid.Bool().Draw(r, "mostly whole") {
			raw = admissiontest.Patched(r, whole, string(raw))
		}
		a := admissiontest.Admission(raw)
		a.ControlPlane = rapid.Bool().Draw(r, "control plane")
		a.Platform.Region = rapid.SampledFrom([]string{"", "us-east-1"}).Draw(r, "region")
		holds(r, a)
	})
}

func FuzzAdmit(f *testing.F) {
	for _, raw := range []string{
		whole, `{}`, `null`, `[]`, `"x"`, `{`, ``, `{"userDataSecret":null,"USERDATASECRET":{"name":1}}`,
		`{"template":7,"workspace":{"server":"vc","folder":"/vm/"},"network":{"devices":[{},{"networkName":1}]},"tagIDs":["urn:vmomi:InventoryServiceTag:x:y"]}`,
		`{"dataDisks":[{"name":"a b","sizeGiB":-1,"provisioningMode":"thin"},null],"cloneMode":"linkedClone","diskGiB":1.0,"memoryMiB":1e3,"numCPUs":1e400}`,
	} {
		f.Add([]byte(raw), true)
		f.Add([]byte(raw), false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, controlPlane bool) {
		a := admissiontest.Admission(raw)
		a.ControlPlane, a.Platform.Region = controlPlane, "us-east-1"
		at := time.Now()
		holds(t, a)
		if took := time.Since(at); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
