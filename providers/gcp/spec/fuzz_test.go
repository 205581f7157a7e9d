package spec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/providers/gcp/spec"
)

func TestDefaultLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(admissiontest.Draw(t, spec.Admitter{}.SpecShape(), "Enabled", "Local", "us-east1"))
		if err != nil {
			t.Fatal(err)
		}
		admissiontest.Holds(t, spec.Admitter{}, admit.Request{Spec: raw, Path: field.NewPath("providerSpec"), Platform: admit.Platform{
			ID: rapid.SampledFrom([]string{"", "c1"}).Draw(t, "id"), Architecture: rapid.SampledFrom([]string{"", "amd64", "arm64"}).Draw(t, "architecture"),
		}}, admissiontest.EmptyAndKnown)
	})
}

func FuzzAdmit(f *testing.F) {
	for _, raw := range []string{
		whole, defaulted, ``, `{}`, `null`, `[]`, `"x"`, `{"disks":[null,{"sizeGb":-1}],"gpus":[null]}`, `{"zone":1,"MACHINETYPE":true,"machineType":""}`, `{"disks":{},"DISKS":[{}]}`,
		`{"provisioningModel":"","preemptible":true}`, `{"confidentialCompute":"Enabled","machineType":"-"}`, `{"disks":[{"sizeGb":1.28e2}]}`,
		`{"shieldedInstanceConfig":{"virtualizedTrustedPlatformModule":"Disabled"}}`, `{"x":1e400}`, `{"metadata":{"creationTimestamp":"x"}}`,
	} {
		f.Add([]byte(raw), "m", "c1")
	}
	f.Fuzz(func(t *testing.T, raw []byte, machine, id string) {
		id = strings.ToValidUTF8(id, "") // as in an API server
		at := time.Now()
		a := admit.Request{Spec: raw, Path: field.NewPath("providerSpec"), Machine: machine, Platform: admit.Platform{ID: id}}
		faults, _ := admissiontest.Holds(t, spec.Admitter{}, a, admissiontest.EmptyAndKnown)
		if len(faults) > 130 || len(faults) > 0 && len(faults.ToAggregate().Error()) > 256<<10 {
			t.Errorf("%d faults", len(faults))
		}
		if took := time.Since(at); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
