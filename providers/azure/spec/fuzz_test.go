package spec_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

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
		a := provider.Admission{Spec: raw, Path: field.NewPath("providerSpec"), Machine: machine, Platform: provider.Platform{ID: id, Cloud: "AzureChinaCloud"}}
		_, faults := spec.Admitter{}.Admit(a)
		if len(faults) > 80 || len(faults) > 0 && len(faults.ToAggregate().Error()) > 256<<10 {
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
