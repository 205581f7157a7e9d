package spec_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/gcp/spec"
)

func FuzzAdmit(f *testing.F) {
	for _, raw := range []string{
		whole, defaulted, ``, `{}`, `null`, `[]`, `"x"`, `{"disks":[null,{"sizeGb":-1}],"gpus":[null]}`, `{"zone":1,"MACHINETYPE":true,"machineType":""}`, `{"disks":{},"DISKS":[{}]}`,
		`{"provisioningModel":"","preemptible":true}`, `{"confidentialCompute":"Enabled","machineType":"-"}`, `{"disks":[{"sizeGb":1.28e2}]}`,
		`{"shieldedInstanceConfig":{"virtualizedTrustedPlatformModule":"Disabled"}}`, `{"x":1e400}`, `{"metadata":{"creationTimestamp":"x"}}`,
	} {
		f.Add([]byte(raw), "m", "c1")
	}
	f.Fuzz(func(t *testing.T, raw []byte, machine, id string) {
		id = strings.ToValidUTF8(id, "") // as an API server has it
		at := time.Now()
		a := provider.Admission{Spec: raw, Path: field.NewPath("providerSpec"), Machine: machine, Platform: provider.Platform{ID: id}}
		_, faults := spec.Admitter{}.Admit(a)
		if len(faults) > 130 || len(faults) > 0 && len(faults.ToAggregate().Error()) > 256<<10 {
			t.Errorf("%d faults", len(faults))
		}
		once, err := spec.Admitter{}.Default(a)
		if refused := len(faults) == 1 && faults[0].Field == "providerSpec"; refused != (err != nil) || err != nil && provider.KindOf(err) != provider.Invalid {
			t.Errorf("defaulted with %v, admitted with %v", err, faults)
		}
		if err == nil {
			a.Spec = once
			if twice, err := (spec.Admitter{}).Default(a); err != nil || string(twice) != string(once) {
				t.Errorf("%s, defaulted again, is %s, %v", once, twice, err)
			}
		}
		if took := time.Since(at); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
