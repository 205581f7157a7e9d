package spec_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/providers/aws/spec"
)

func TestKinds(t *testing.T) {
	kind := func(group, version string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: "AWSMachineProviderConfig"}
	}
	want := []schema.GroupVersionKind{
		kind("machine.openshift.io", "v1beta1"), kind("machine.openshift.io", "v1"),
		kind("awsproviderconfig.openshift.io", "v1beta1"), kind("awsproviderconfig.openshift.io", "v1"),
	}
	if diff := cmp.Diff(want, spec.Admitter{}.Kinds()); diff != "" {
		t.Error(diff)
	}
}

// The rows are those of section 6.3 of the notes on the original.
func TestDefault(t *testing.T) {
	east := admit.Platform{Architecture: "amd64", Region: "us-east-1"}
	for _, r := range []struct {
		reason, patch string
		platform      admit.Platform
		want          string // as a patch of the whole spec
	}{
		{"a whole spec stays as it is", `{}`, east, `{}`},
		{"instanceType: amd64", `{"instanceType":null}`, east, `{"instanceType":"m5.large"}`},
		{"instanceType: arm64", `{"instanceType":""}`, admit.Platform{Architecture: "arm64"}, `{"instanceType":"m6g.large"}`},
		{"instanceType: an architecture that is not known", `{"instanceType":""}`, admit.Platform{}, `{"instanceType":"m5.large"}`},
		{"instanceType: an architecture that AWS has not", `{"instanceType":""}`, admit.Platform{Architecture: "s390x"}, `{"instanceType":""}`},
		{"placement.region: empty", `{"placement":{"region":"","rack":{"a":1}}}`, east, `{"placement":{"region":"us-east-1","rack":{"a":1}}}`},
		{"placement.region: left out with placement", `{"placement":null}`, east, `{"placement":{"region":"us-east-1","availabilityZone":null}}`},
		{"placement.region: another one is kept", `{"placement":{"region":"eu-west-1"}}`, east, `{"placement":{"region":"eu-west-1"}}`},
		{"placement.region: that of the cluster is not known", `{"placement":null}`, admit.Platform{}, `{"placement":null}`},
		{"userDataSecret: nil", `{"userDataSecret":null}`, east, `{"userDataSecret":{"name":"worker-user-data"}}`},
		{"userDataSecret.name: empty", `{"userDataSecret":{"name":"","key":"k"}}`, east, `{"userDataSecret":{"name":"worker-user-data","key":"k"}}`},
		{"userDataSecret: another one is kept", `{"userDataSecret":{"name":"mine"}}`, east, `{"userDataSecret":{"name":"mine"}}`},
		{"credentialsSecret: nil", `{"credentialsSecret":null}`, east, `{"credentialsSecret":{"name":"aws-cloud-credentials"}}`},
		{"credentialsSecret.name: empty is kept", `{"credentialsSecret":{"name":""}}`, east, `{"credentialsSecret":{"name":""}}`},
	} {
		t.Run(r.reason, func(t *testing.T) {
			a := admissiontest.Admission(admissiontest.Patched(t, whole, r.patch))
			a.Platform = r.platform
			filled, err := spec.Admitter{}.Default(a)
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
		`{"ami":{"id":"ami-1"}}`,
		`{"ami":{"id":"ami-1"},"placement":null,"userDataSecret":{},"instanceType":null}`,
		`{"ami":{"id":"ami-1"},"instancetype":"","Placement":{"REGION":null},"userdatasecret":{"Name":""}}`,
	} {
		t.Run(raw, func(t *testing.T) {
			a := admissiontest.Admission([]byte(raw))
			a.Platform.Region = "us-east-1"
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
	const raw = `{"z":1.10,"big":12345678901234567890123,"html":"<&>","ami":{"id":"ami-1"}, "placement" : {"region":"r","x":1e2},"instanceType":"t"}`
	a := admissiontest.Admission([]byte(raw))
	filled, err := spec.Admitter{}.Default(a)
	const want = `{"ami":{"id":"ami-1"},"big":12345678901234567890123,"credentialsSecret":{"name":"aws-cloud-credentials"},"html":"<&>","instanceType":"t","placement":{"region":"r","x":1e2},"userDataSecret":{"name":"worker-user-data"},"z":1.10}`
	if err != nil || string(filled) != want {
		t.Errorf("%v:\n%s\nwanted\n%s", err, filled, want)
	}
	a.Spec = []byte(`{ "userDataSecret":{"name":"a"}, "credentialsSecret":{"name":"a"},"placement":{"region":"r"},"instanceType":"t" }`)
	if filled, err := (spec.Admitter{}).Default(a); err != nil || string(filled) != string(a.Spec) {
		t.Errorf("a spec that misses nothing is written anew: %v, %s", err, filled)
	}
}

func TestDefaultOfWhatCannotBeDecoded(t *testing.T) {
	for _, raw := range []string{`[]`, `{`, `{"placement":[]}`, `{"userDataSecret":"a"}`} {
		if filled, err := (spec.Admitter{}).Default(admissiontest.Admission([]byte(raw))); provider.KindOf(err) != provider.Invalid {
			t.Errorf("%s: %s, %v", raw, filled, err)
		}
	}
	if filled, err := (spec.Admitter{}).Default(admissiontest.Admission([]byte(` null `))); err != nil || string(filled) == "" {
		t.Errorf("nothing is a spec without fields: %s, %v", filled, err)
	}
}
