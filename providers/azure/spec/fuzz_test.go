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
	"github.com/millwright-dev/millwright/providers/azure/spec"
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
		whole, defaulted, ``, `{}`, `null`, `[]`, `"x"`, `{"dataDisks":[null,{"lun":-1}]}`, `{"zone":1,"VMSIZE":true,"vmSize":""}`, `{"image":[],"image":{}}`,
		`{"spotVMOptions":{"maxprice":"1e999999999"}}`, `{"capacityReservationGroupID":"azure:///providers/a/providers"}`, `{"osDisk":{"diskSizeGB":1.28e2}}`,
		`{"securityProfile":{"settings":{"securityType":"TrustedLaunch"}}}`, `{"x":1e400}`, `{"metadata":{"creationTimestamp":"x"}}`,
	} {
		f.Add([]byte(raw), "m", "c1")
	}
	f.Fuzz(func(t *testing.T, raw []byte, machine, id string) {
		id = strings.ToValidUTF8(id, "") // as an API server has it
		at := time.Now()
		a := admit.Request{Spec: raw, Path: field.NewPath("providerSpec"), Machine: machine, Platform: admit.Platform{ID: id, Cloud: "AzureChinaCloud"}}
		faults, _ := admissiontest.Holds(t, spec.Admitter{}, a, admissiontest.EmptyAndKnown)
		if len(faults) > 80 || len(faults) > 0 && len(faults.ToAggregate().Error()) > 256<<10 {
			t.Errorf("%d faults", len(faults))
		}
		if took := time.Since(at); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
