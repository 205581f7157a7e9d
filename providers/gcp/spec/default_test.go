package spec_test

import (
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/providers/gcp/spec"
)

var cluster = admit.Platform{ID: "c1", Architecture: "amd64"}

const (
	image = "projects/rhcos-cloud/global/images/rhcos-414-92-202307070025-0-gcp-"

	// defaulted is the result for an empty spec.
	defaulted = `{"machineType": "n1-standard-4", "networkInterfaces": [{"network": "c1-network", "subnetwork": "c1-worker-subnet"}],
		"disks": [{"autoDelete": true, "boot": true, "sizeGb": 128, "type": "pd-standard", "image": "` + image + `x86-64"}], "tags": ["c1-worker"],
		"userDataSecret": {"name": "worker-user-data"}, "credentialsSecret": {"name": "gcp-cloud-credentials"}}`
)

func TestDefault(t *testing.T) {
	for _, r := range []struct {
		name     string
		reason   string
		spec     string
		platform admit.Platform
		change   string // of defaulted
	}{
		{"all, amd64", "nothing is given", `{}`, cluster, `{}`},
		{"all, no architecture known", "amd64 is the usual one", `{}`, admit.Platform{ID: "c1"}, `{}`},
		{
			"all, arm64", "nothing is given", `{}`,
			admit.Platform{ID: "c1", Architecture: "arm64"},
			`{"machineType": "t2a-standard-4", "disks": [{"autoDelete": true, "boot": true, "sizeGb": 128, "type": "pd-standard", "image": "` + image + `aarch64"}]}`,
		},
		{"all, no cluster known", "names cannot be made of it", `{}`, admit.Platform{}, `{"networkInterfaces": null, "tags": null}`},
		{"null", "it counts as empty", `null`, cluster, `{}`},
		{"machineType", "it is given", `{"machineType": "x"}`, cluster, `{"machineType": "x"}`},
		{"machineType, in another case", "it is given", `{"MachineType": "x"}`, cluster, `{"machineType": null, "MachineType": "x"}`},
		{"networkInterfaces, empty list", "it has none", `{"networkInterfaces": []}`, cluster, `{}`},
		{"networkInterfaces, a part", "it is given", `{"networkInterfaces": [{"network": "n"}]}`, cluster, `{"networkInterfaces": [{"network": "n"}]}`},
		{"disks, empty list", "it has none", `{"disks": []}`, cluster, `{}`},
		{
			"disks, each", "types are filled in, and images of boot disks", `{"disks": [{"type": "pd-ssd", "x": 1, "boot": true}, {"image": "i", "labels": {}}, null, {"type": "pd-ssd", "image": "i"}, {"boot": false}, {"boot": true, "image": ""}]}`, cluster,
			`{"disks": [{"type": "pd-ssd", "x": 1, "boot": true, "image": "` + image + `x86-64"}, {"image": "i", "labels": {}, "type": "pd-standard"},
				{"type": "pd-standard"}, {"type": "pd-ssd", "image": "i"}, {"boot": false, "type": "pd-standard"}, {"boot": true, "type": "pd-standard", "image": "` + image + `x86-64"}]}`,
		},
		{"disks, in another case", "they are filled in where they are", `{"DISKS": [{"Type": "", "image": "i"}]}`, cluster, `{"disks": null, "DISKS": [{"Type": "pd-standard", "image": "i"}]}`},
		{"gpus, no count", "it is one", `{"gpus": [{"type": "t"}]}`, cluster, `{"gpus": [{"type": "t", "count": 1}]}`},
		{"gpus, count 0", "it is one", `{"gpus": [{"type": "t", "count": 0}]}`, cluster, `{"gpus": [{"type": "t", "count": 1}]}`},
		{"gpus, count 2", "it is given", `{"gpus": [{"type": "t", "count": 2}]}`, cluster, `{"gpus": [{"type": "t", "count": 2}]}`},
		{"gpus, null", "it counts as empty", `{"gpus": [null]}`, cluster, `{"gpus": [{"count": 1}]}`},
		{"gpus, a second one", "it is refused anyway", `{"gpus": [{"count": 2}, {}]}`, cluster, `{"gpus": [{"count": 2}, {}]}`},
		{"tags", "they are given", `{"tags": ["t"]}`, cluster, `{"tags": ["t"]}`},
		{"userDataSecret", "it is given", `{"userDataSecret": {"name": "s"}}`, cluster, `{"userDataSecret": {"name": "s"}}`},
		{"userDataSecret, no name", "the original fills in none", `{"userDataSecret": {}}`, cluster, `{"userDataSecret": {"name": null}}`},
		{"credentialsSecret", "it is given", `{"credentialsSecret": {"name": "s"}}`, cluster, `{"credentialsSecret": {"name": "s"}}`},
		{"credentialsSecret, no name", "the original fills in none", `{"credentialsSecret": {"name": ""}}`, cluster, `{"credentialsSecret": {"name": ""}}`},
		{
			"unknown fields and numbers", "they stay as they are", `{"x": {"y": [1.50, 12345678901234567890]}, "zone": 1, "preemptible": true}`, cluster,
			`{"x": {"y": [1.50, 12345678901234567890]}, "zone": 1, "preemptible": true}`,
		},
	} {
		t.Run(r.name, func(t *testing.T) {
			want := admissiontest.Patched(t, defaulted, r.change)
			once, err := spec.Admitter{}.Default(admit.Request{Spec: []byte(r.spec), Platform: r.platform})
			if err != nil || !jsonpatch.Equal(once, want) {
				t.Fatalf("got %s, %v; want %s: %s", once, err, want, r.reason)
			}
			twice, err := spec.Admitter{}.Default(admit.Request{Spec: once, Platform: r.platform})
			if err != nil || string(twice) != string(once) {
				t.Errorf("defaulted again it is %s, %v", twice, err)
			}
		})
	}
}

// TestDefaultedIsAdmitted: users only have to set the place and the service account.
func TestDefaultedIsAdmitted(t *testing.T) {
	a := admit.Request{
		Spec: []byte(`{"region": "r", "zone": "r-a", "serviceAccounts": [{"email": "e", "scopes": ["s"]}]}`),
		Path: field.NewPath("providerSpec"), Machine: "m", Platform: cluster,
	}
	for _, architecture := range []string{"amd64", "arm64"} {
		t.Run(architecture, func(t *testing.T) {
			a.Platform.Architecture = architecture
			raw, err := spec.Admitter{}.Default(a)
			if err != nil {
				t.Fatal(err)
			}
			warnings, faults := spec.Admitter{}.Admit(admit.Request{Spec: raw, Path: a.Path, Machine: a.Machine, Platform: a.Platform})
			if len(warnings)+len(faults) > 0 {
				t.Errorf("%s: %q, %v", raw, warnings, faults)
			}
		})
	}
}

// TestUndecodable: a document that cannot be decoded has one error, of its kind.
func TestUndecodable(t *testing.T) {
	for _, raw := range []string{
		`[]`, `"x"`, `7`, `{"zone": `, `{} {}`, `{"zone": []}`, `{"disks": [{"sizeGb": "16"}]}`, `{"disks": [{"sizeGb": 1.5}]}`, `{"gpus": [{"count": 4294967296}]}`, `{"preemptible": "true"}`,
	} {
		a := admissiontest.Admission([]byte(raw))
		warnings, faults := spec.Admitter{}.Admit(a)
		if len(faults) != 1 || faults[0].Field != "providerSpec" || faults[0].Type != field.ErrorTypeInvalid || len(warnings) > 0 {
			t.Errorf("%s: %v, %q", raw, faults, warnings)
		}
		if out, err := (spec.Admitter{}).Default(a); provider.KindOf(err) != provider.Invalid || out != nil {
			t.Errorf("%s: %s, %v", raw, out, err)
		}
	}
	if _, faults := (spec.Admitter{}).Admit(admit.Request{Path: field.NewPath("providerSpec")}); len(faults) < 2 {
		t.Errorf("nothing at all has %v", faults)
	}
}
