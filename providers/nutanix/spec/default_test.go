package spec_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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
	want := []string{"machine.openshift.io/v1 NutanixMachineProviderConfig", "machine.openshift.io/v1beta1 NutanixMachineProviderConfig"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// anyJSON draws JSON whose fields are mostly those of a spec.
func anyJSON(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int32().AsAny(), rapid.StringN(0, 70, -1).AsAny(),
		rapid.SampledFrom([]any{"", "uuid", "name", "Name", "DeviceID", "Disk", "CDRom", "SCSI", "IDE", "Flash", "UEFI", "1Gi", "2Gi", "1e30", "-1", 0.5, json.Number("1e30")}),
	)
	if depth == 0 {
		return leaf
	}
	names := rapid.OneOf(rapid.SampledFrom([]string{
		"cluster", "image", "subnets", "type", "uuid", "name", "vcpuSockets", "vcpusPerSocket", "memorySize", "systemDiskSize", "bootType", "project", "categories", "key", "value",
		"gpus", "deviceID", "dataDisks", "diskSize", "deviceProperties", "deviceType", "adapterType", "deviceIndex", "storageConfig", "diskMode", "storageContainer", "dataSource",
		"userDataSecret", "credentialsSecret", "UserDataSecret", "metadata", "failureDomain", "apiVersion", "kind",
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
		if filledIn := value == nil && (name == "userDataSecret" || name == "credentialsSecret"); filledIn {
			continue
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
