package spec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/providers/aws/spec"
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

// texts are those that mean something, in a case or another.
var texts = strings.Fields(`ami-1 m5.large us-east-1 host default DedicatedHost AnyAvailable Dynamic UserProvided h-01234567 gp3 Spot OnDemand CapacityBlock
	cr-0123456789abcdef0 ENA EFA Required Disabled`)

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
		`{"ami":{"id":1,"filters":[{"name":"a","values":[true]}]},"tags":[{"name":"a"},{"name":"a"}],"cpuOptions":{},"unknown":[[[1e400]]]}`,
		`{"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"allocationStrategy":"Dynamic","dynamicHostAllocation":{"tags":[]}}}}}`,
		`{"marketType":"CapacityBlock","spotMarketOptions":{},"blockDevices":[{"ebs":{"throughputMib":1}},null],"placementGroupPartition":9}`,
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
