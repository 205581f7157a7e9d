package spec_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/vsphere/spec"
)

func TestKinds(t *testing.T) {
	kind := func(group, version string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: "VSphereMachineProviderSpec"}
	}
	want := []schema.GroupVersionKind{
		kind("machine.openshift.io", "v1beta1"), kind("machine.openshift.io", "v1"),
		kind("vsphereprovider.openshift.io", "v1beta1"), kind("vsphereprovider.openshift.io", "v1"),
	}
	if diff := cmp.Diff(want, spec.Admitter{}.Kinds()); diff != "" {
		t.Error(diff)
	}
}

// The rows are those of section 6.6 of the notes on the original.
func TestDefault(t *testing.T) {
	for _, r := range []struct {
		reason, patch string
		want          string // as a patch of the whole spec
	}{
		{"a whole spec stays as it is", `{}`, `{}`},
		{"userDataSecret: left out", `{"userDataSecret":null}`, `{"userDataSecret":{"name":"worker-user-data"}}`},
		{"userDataSecret: another one is kept", `{"userDataSecret":{"name":"mine"}}`, `{"userDataSecret":{"name":"mine"}}`},
		{"userDataSecret.name: empty is kept", `{"userDataSecret":{"name":""}}`, `{"userDataSecret":{"name":""}}`},
		{"credentialsSecret: left out", `{"credentialsSecret":null}`, `{"credentialsSecret":{"name":"vsphere-cloud-credentials"}}`},
		{"credentialsSecret: another one is kept", `{"credentialsSecret":{"name":"mine","key":"k"}}`, `{"credentialsSecret":{"name":"mine","key":"k"}}`},
		{"credentialsSecret.name: empty is kept", `{"credentialsSecret":{"name":""}}`, `{"credentialsSecret":{"name":""}}`},
		{"only these", `{"template":null,"workspace":null,"numCPUs":null,"diskGiB":0}`, `{"template":null,"workspace":null,"numCPUs":null,"diskGiB":0}`},
	} {
		t.Run(r.reason, func(t *testing.T) {
			filled, err := spec.Admitter{}.Default(admissiontest.Admission(admissiontest.Patched(t, whole, r.patch)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(read(t, admissiontest.Patched(t, whole, r.want)), read(t, filled)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func read(t *testing.T, raw []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return value
}

// A spec that omits what the webhook fills in is admitted afterwards.
func TestDefaultsAreAdmitted(t *testing.T) {
	for _, raw := range []string{
		`{"template":"rhcos","workspace":{"server":"vc"},"network":{"devices":[{"networkName":"n"}]}}`,
		`{"template":"rhcos","workspace":{"server":"vc"},"network":{"devices":[{"networkName":"n"}]},"UserDataSecret":null,"credentialsSecret":null}`,
	} {
		t.Run(raw, func(t *testing.T) {
			a := admissiontest.Admission([]byte(raw))
			filled, err := spec.Admitter{}.Default(a)
			if err != nil {
				t.Fatal(err)
			}
			a.Spec = filled
			_, faults := spec.Admitter{}.Admit(a)
			admissiontest.Same(t, string(filled), admissiontest.Words(t, faults), nil)
		})
	}
}

func TestDefaultKeepsWhatIsWritten(t *testing.T) {
	const raw = `{"z":1.10,"big":12345678901234567890123,"html":"<&>", "workspace" : {"server":"vc","x":1e2}}`
	a := admissiontest.Admission([]byte(raw))
	filled, err := spec.Admitter{}.Default(a)
	const want = `{"big":12345678901234567890123,"credentialsSecret":{"name":"vsphere-cloud-credentials"},"html":"<&>","userDataSecret":{"name":"worker-user-data"},"workspace":{"server":"vc","x":1e2},"z":1.10}`
	if err != nil || string(filled) != want {
		t.Errorf("%v:\n%s\nwanted\n%s", err, filled, want)
	}
	a.Spec = []byte(`{ "userDataSecret":{"name":"a"}, "credentialsSecret":{"name":"a"} }`)
	if filled, err := (spec.Admitter{}).Default(a); err != nil || string(filled) != string(a.Spec) {
		t.Errorf("a spec that misses nothing is written anew: %v, %s", err, filled)
	}
}

func TestDefaultOfWhatCannotBeDecoded(t *testing.T) {
	for _, raw := range []string{`[]`, `{`, `{"workspace":[]}`, `{"userDataSecret":"a"}`} {
		if filled, err := (spec.Admitter{}).Default(admissiontest.Admission([]byte(raw))); provider.KindOf(err) != provider.Invalid {
			t.Errorf("%s: %s, %v", raw, filled, err)
		}
	}
	if filled, err := (spec.Admitter{}).Default(admissiontest.Admission([]byte(` null `))); err != nil || string(filled) == "" {
		t.Errorf("nothing is a spec without fields: %s, %v", filled, err)
	}
}
