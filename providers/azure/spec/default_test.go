package spec_test

import (
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

var cluster = admit.Platform{ID: "c-1-x", Architecture: "amd64"}

// defaulted is an empty spec with its defaults.
const defaulted = `{"vmSize": "Standard_D4s_V3", "vnet": "c-1-x-vnet", "subnet": "c-1-x-worker-subnet",
	"image": {"publisher": "azureopenshift", "offer": "aro4", "sku": "aro_420", "version": "9.6.20251015"},
	"userDataSecret": {"name": "worker-user-data"}, "credentialsSecret": {"name": "azure-cloud-credentials", "namespace": "openshift-machine-api"}}`

const gallery = "/resourceGroups/c-1-x-rg/providers/Microsoft.Compute/galleries/gallery_c_1_x/images/c-1-x-gen2/versions/latest"

func TestDefault(t *testing.T) {
	arm := admit.Platform{ID: "c-1-x", Architecture: "arm64"}
	for _, r := range []struct {
		name     string
		reason   string
		spec     string
		platform admit.Platform
		change   string // of defaulted
	}{
		{"all, amd64", "nothing is given", `{}`, cluster, `{}`},
		{"all, no architecture known", "amd64 is the usual one", `{}`, admit.Platform{ID: "c-1-x"}, `{}`},
		{"all, arm64", "nothing is given", `{}`, arm, `{"vmSize": "Standard_D4ps_V5", "image": {"sku": "420-arm"}}`},
		{"all, no cluster known", "names cannot be made of it", `{}`, admit.Platform{}, `{"vnet": null, "subnet": null}`},
		{"null", "it counts as empty", `null`, cluster, `{}`},
		{"vmSize", "it is given", `{"vmSize": "x"}`, cluster, `{"vmSize": "x"}`},
		{"vmSize, in another case", "it is given", `{"VmSize": "x"}`, cluster, `{"vmSize": null, "VmSize": "x"}`},
		{"vmSize, empty in another case", "it is filled in where it is", `{"VmSize": ""}`, cluster, `{"vmSize": null, "VmSize": "Standard_D4s_V3"}`},
		{"vnet only", "they go together", `{"vnet": "v"}`, cluster, `{"vnet": "v", "subnet": null}`},
		{"subnet only", "they go together", `{"subnet": "s"}`, cluster, `{"vnet": null, "subnet": "s"}`},
		{"image, a part", "parts go together", `{"image": {"offer": "o"}}`, cluster, `{"image": {"offer": "o", "publisher": null, "sku": null, "version": null}}`},
		{"image, type only", "parts go together", `{"image": {"type": "ID"}}`, cluster, `{"image": {"type": "ID", "offer": null, "publisher": null, "sku": null, "version": null}}`},
		{"image, an unknown part", "it says nothing, and stays", `{"image": {"x": 1, "offer": ""}}`, cluster, `{"image": {"x": 1}}`},
		{
			"image, securityProfile", "it is in the gallery of the cluster", `{"securityProfile": {}}`, cluster,
			`{"securityProfile": {}, "image": {"publisher": null, "offer": null, "sku": null, "version": null, "resourceID": "` + gallery + `"}}`,
		},
		{
			"image, securityProfile, arm64", "it is in the gallery of the cluster", `{"securityProfile": {}}`, arm,
			`{"vmSize": "Standard_D4ps_V5", "securityProfile": {}, "image": {"publisher": null, "offer": null, "sku": null, "version": null, "resourceID": "` + gallery + `"}}`,
		},
		{
			"image, securityProfile, no cluster known", "the gallery has its name", `{"securityProfile": {}}`,
			admit.Platform{},
			`{"vnet": null, "subnet": null, "securityProfile": {}, "image": null}`,
		},
		{"userDataSecret", "it is given", `{"userDataSecret": {"name": "s"}}`, cluster, `{"userDataSecret": {"name": "s"}}`},
		{"userDataSecret, no name", "its namespace stays", `{"userDataSecret": {"namespace": "n"}}`, cluster, `{"userDataSecret": {"namespace": "n"}}`},
		{"credentialsSecret, no name", "each part is filled in", `{"credentialsSecret": {"namespace": "n"}}`, cluster, `{"credentialsSecret": {"namespace": "n"}}`},
		{"credentialsSecret, no namespace", "each part is filled in", `{"credentialsSecret": {"name": "s"}}`, cluster, `{"credentialsSecret": {"name": "s"}}`},
		{
			"unknown fields and numbers", "they stay as they are", `{"x": {"y": [1.50, 12345678901234567890]}, "zone": 1, "publicIP": true}`, cluster,
			`{"x": {"y": [1.50, 12345678901234567890]}, "zone": 1, "publicIP": true}`,
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

// TestDefaultedIsAdmitted: only the size of the OS disk is required.
func TestDefaultedIsAdmitted(t *testing.T) {
	a := admit.Request{Spec: []byte(`{"osDisk": {"diskSizeGB": 128}}`), Path: field.NewPath("providerSpec"), Machine: "m", Platform: cluster}
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

// TestUndecodable: an unreadable spec is one fault, and an error of its kind that names the field.
func TestUndecodable(t *testing.T) {
	for _, raw := range []string{
		`[]`, `"x"`, `7`, `{"vmSize": `, `{} {}`, `{"vmSize": []}`, `{"osDisk": {"diskSizeGB": "128"}}`, `{"osDisk": {"diskSizeGB": 1.5}}`,
		`{"spotVMOptions": {"MAXPRICE": "1e999999999"}}`,
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
