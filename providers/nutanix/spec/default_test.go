package spec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/nutanix/spec"
)

func TestDefaults(t *testing.T) {
	for _, r := range []struct{ name, raw, want, reason string }{
		{"both secrets", `{"a":1}`, `{"a":1,"credentialsSecret":{"name":"nutanix-credentials"},"userDataSecret":{"name":"worker-user-data"}}`, "there is none"},
		{"null", `null`, `{"credentialsSecret":{"name":"nutanix-credentials"},"userDataSecret":{"name":"worker-user-data"}}`, "null is empty"},
		{"no secret but null", `{"userDataSecret":null,"credentialsSecret":{"name":"x"}}`, `{"credentialsSecret":{"name":"x"},"userDataSecret":{"name":"worker-user-data"}}`, "null is none"},
		{"secrets without a name", `{"userDataSecret":{},"credentialsSecret":{"name":"","more":1}}`, `{"userDataSecret":{},"credentialsSecret":{"name":"","more":1}}`, "what is there stays, and is refused"},
		{"digits", `{"userDataSecret":{"name":"u"},"big":12345678901234567890.10}`, `{"big":12345678901234567890.10,"credentialsSecret":{"name":"nutanix-credentials"},"userDataSecret":{"name":"u"}}`, "numbers keep their digits"},
	} {
		t.Run(r.name, func(t *testing.T) {
			got, err := spec.Admitter{}.Default(admissiontest.Admission([]byte(r.raw)))
			if err != nil || string(got) != r.want {
				t.Errorf("%s, %v\nwant %s: %s", got, err, r.want, r.reason)
			}
		})
	}
}

func TestDefaultedIsAdmitted(t *testing.T) {
	once, err := spec.Admitter{}.Default(admissiontest.Admission([]byte(minimal)))
	if err != nil {
		t.Fatal(err)
	}
	if warnings, faults := (spec.Admitter{}).Admit(admissiontest.Admission(once)); len(warnings)+len(faults) > 0 {
		t.Errorf("warns %q and finds %v in what it filled in itself", warnings, faults)
	}
	twice, err := spec.Admitter{}.Default(admissiontest.Admission(once))
	if err != nil || string(twice) != string(once) {
		t.Errorf("defaults of\n%s\nare\n%s\n%v", once, twice, err)
	}
}

func TestKinds(t *testing.T) {
	var got []string
	for _, k := range (spec.Admitter{}).Kinds() {
		got = append(got, k.GroupVersion().String()+" "+k.Kind)
	}
	want := []string{"machine.openshift.io/v1 NutanixMachineProviderConfig", "machine.openshift.io/v1beta1 NutanixMachineProviderConfig"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
