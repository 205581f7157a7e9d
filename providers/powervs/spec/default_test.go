package spec_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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
			got, err := spec.Admitter{}.Default(admission(r.raw))
			if err != nil || string(got) != r.want {
				t.Errorf("%s, %v\nwant %s: %s", got, err, r.want, r.reason)
			}
		})
	}
}

func TestDefaultedIsAdmitted(t *testing.T) {
	once, err := spec.Admitter{}.Default(admission(minimal))
	if err != nil {
		t.Fatal(err)
	}
	if warnings, faults := (spec.Admitter{}).Admit(admission(string(once))); len(warnings)+len(faults) > 0 {
		t.Errorf("warns %q and finds %v in what it filled in itself", warnings, faults)
	}
	twice, err := spec.Admitter{}.Default(admission(string(once)))
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

// anyJSON draws JSON whose fields are mostly those of a spec.
func anyJSON(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int32().AsAny(), rapid.StringN(0, 20, -1).AsAny(),
		rapid.SampledFrom([]any{"", "ID", "Name", "RegEx", "s922", "e880", "e980", "Shared", "Dedicated", "0.5", "-1", "NaN", 0, 1, 0.5}),
	)
	if depth == 0 {
		return leaf
	}
	names := rapid.OneOf(rapid.SampledFrom([]string{
		"serviceInstance", "image", "network", "type", "id", "name", "regex", "keyPairName", "systemType", "processorType", "processors", "memoryGiB",
		"loadBalancers", "userDataSecret", "credentialsSecret", "SystemType", "metadata", "apiVersion", "kind",
	}), rapid.StringN(0, 5, -1))
	inner := rapid.Deferred(func() *rapid.Generator[any] { return anyJSON(depth - 1) })
	return rapid.OneOf(leaf, rapid.MapOfN(names, inner, 0, 8).AsAny(), rapid.SliceOfN(inner, 0, 3).AsAny())
}

func TestAnySpec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(anyJSON(4).Draw(t, "spec"))
		if err != nil {
			t.Fatal(err)
		}
		judge(t, string(raw))
	})
}

// judge holds Default to what it promises of any spec, and Admit to an answer.
func judge(t rapid.TB, raw string) {
	spec := spec.Admitter{}
	_, faults := spec.Admit(admission(raw))
	once, err := spec.Default(admission(raw))
	if err != nil {
		if len(faults) != 1 {
			t.Fatalf("%v, of which the faults are %v", err, faults)
		}
		return
	}
	twice, err := spec.Default(admission(string(once)))
	if err != nil || string(twice) != string(once) {
		t.Fatalf("defaults of\n%s\nare\n%s\n%v", once, twice, err)
	}
	before, after := fields(t, raw), fields(t, string(once))
	for name, value := range before {
		if value == nil || value == "" || value == json.Number("0") {
			continue // it may be filled in
		}
		if got, ok := after[name]; !ok || !reflect.DeepEqual(value, got) {
			t.Fatalf("%q was %v, and is %v", name, value, got)
		}
	}
}

// fields are those of an object, with numbers as they are written.
func fields(t rapid.TB, raw string) (out map[string]any) {
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return out
}
