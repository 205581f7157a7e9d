package spec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/powervs/spec"
)

func TestDefaults(t *testing.T) {
	const secrets = `"userDataSecret":{"name":"u"},"credentialsSecret":{"name":"c"}`
	for _, r := range []struct{ name, raw, want, reason string }{
		{
			"all", `{"a":1}`,
			`{"a":1,"credentialsSecret":{"name":"powervs-credentials"},"memoryGiB":32,"processorType":"Shared","processors":"0.5","systemType":"s922","userDataSecret":{"name":"worker-user-data"}}`,
			"there is nothing",
		},
		{
			"null", `null`,
			`{"credentialsSecret":{"name":"powervs-credentials"},"memoryGiB":32,"processorType":"Shared","processors":"0.5","systemType":"s922","userDataSecret":{"name":"worker-user-data"}}`,
			"null is empty",
		},
		{
			"dedicated", `{` + secrets + `,"processorType":"Dedicated"}`,
			`{"credentialsSecret":{"name":"c"},"memoryGiB":32,"processorType":"Dedicated","processors":1,"systemType":"s922","userDataSecret":{"name":"u"}}`,
			"no dedicated processor is divided",
		},
		{
			"capped", `{` + secrets + `,"processorType":"Capped"}`,
			`{"credentialsSecret":{"name":"c"},"memoryGiB":32,"processorType":"Capped","processors":"0.5","systemType":"s922","userDataSecret":{"name":"u"}}`,
			"capped processors are shared",
		},
		{
			"zeros", `{` + secrets + `,"processors":0,"memoryGiB":0,"systemType":"","processorType":""}`,
			`{"credentialsSecret":{"name":"c"},"memoryGiB":32,"processorType":"Shared","processors":"0.5","systemType":"s922","userDataSecret":{"name":"u"}}`,
			"zero is nothing",
		},
		{
			"empty processors", `{` + secrets + `,"processors":"","memoryGiB":1,"systemType":"x","processorType":"y"}`,
			`{"credentialsSecret":{"name":"c"},"memoryGiB":1,"processorType":"y","processors":"0.5","systemType":"x","userDataSecret":{"name":"u"}}`,
			"empty is nothing, and what is there stays",
		},
		{
			"secrets without a name", `{"userDataSecret":{},"credentialsSecret":{"name":"","more":1},"processors":"0","memoryGiB":-1,"systemType":"x","processorType":"y"}`,
			`{"userDataSecret":{},"credentialsSecret":{"name":"","more":1},"processors":"0","memoryGiB":-1,"systemType":"x","processorType":"y"}`,
			"what is there stays, and is judged",
		},
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
	want := []string{"machine.openshift.io/v1 PowerVSMachineProviderConfig", "machine.openshift.io/v1beta1 PowerVSMachineProviderConfig"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
