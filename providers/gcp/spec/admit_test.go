package spec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/providers/gcp/spec"
)

// whole is a valid spec.
const whole = `{"apiVersion": "machine.openshift.io/v1beta1", "kind": "GCPMachineProviderSpec", "machineType": "n1-standard-4", "region": "us-east1",
	"zone": "us-east1-b", "projectID": "proj", "disks": [{"autoDelete": true, "boot": true, "sizeGb": 128, "type": "pd-ssd", "image": "projects/x/global/images/y"}],
	"networkInterfaces": [{"network": "c1-network", "subnetwork": "c1-worker-subnet"}],
	"serviceAccounts": [{"email": "w@proj.iam.gserviceaccount.com", "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}], "tags": ["c1-worker"],
	"userDataSecret": {"name": "worker-user-data"}, "credentialsSecret": {"name": "gcp-cloud-credentials"}}`

// row is a row of the table of rules, or one of its bounds.
type row struct {
	name   string
	reason string
	patch  string   // merged into whole
	faults []string // type and path below providerSpec
}

const (
	required    = "FieldValueRequired "
	invalid     = "FieldValueInvalid "
	forbidden   = "FieldValueForbidden "
	unsupported = "FieldValueNotSupported "
	tooMany     = "FieldValueTooMany "
)

func TestAdmit(t *testing.T) {
	for _, r := range slices.Concat(
		[]row{{"whole", "nothing is wrong with it", `{}`, nil}},
		placeRows, policyRows, shieldedRows, confidentialRows(), listRows, gpuRows, accountRows,
	) {
		t.Run(r.name, func(t *testing.T) {
			a := admit.Request{Spec: admissiontest.Patched(t, whole, r.patch), Path: field.NewPath("providerSpec"), Machine: "m"}
			warnings, faults := spec.Admitter{}.Admit(a)
			if got := told(faults); !slices.Equal(got, r.faults) {
				t.Errorf("got %q, want %q: %s", got, r.faults, r.reason)
			}
			if len(warnings) > 0 {
				t.Errorf("warnings %q", warnings)
			}
		})
	}
}

var placeRows = []row{
	{"region/empty", "a machine is somewhere", `{"region": ""}`, []string{required + "region"}},
	{"zone/of another region", "it lacks the prefix", `{"zone": "us-west1-b"}`, []string{invalid + "zone"}},
	{"zone/empty", "it lacks the prefix", `{"zone": ""}`, []string{invalid + "zone"}},
	{"zone/the region itself", "the original looks at the prefix only", `{"zone": "us-east1"}`, nil},
	{"machineType/empty", "there is no machine without a type", `{"machineType": ""}`, []string{required + "machineType"}},
	{"userDataSecret/missing", "a machine without it cannot join", `{"userDataSecret": null}`, []string{required + "userDataSecret"}},
	{"userDataSecret.name/empty", "a machine without it cannot join", `{"userDataSecret": {"name": ""}}`, []string{required + "userDataSecret.name"}},
	{"credentialsSecret/missing", "GCP has to be asked as somebody", `{"credentialsSecret": null}`, []string{required + "credentialsSecret"}},
	{"credentialsSecret.name/empty", "GCP has to be asked as somebody", `{"credentialsSecret": {"name": ""}}`, []string{required + "credentialsSecret.name"}},
	{"unknown field", "the webhook warns of it, and the original accepts it", `{"zones": ["us-east1-b"]}`, nil},
	{"number where text belongs", "the original reads numbers as text", `{"projectID": 1, "tags": [1, true], "labels": {"a": 1}}`, nil},
	{"names in another case", "the original reads them", `{"machineType": null, "MACHINETYPE": "x", "disks": [{"SizeGB": 16}]}`, nil},
	{"sizeGb/1.28e2", "the original reads it as 128", `{"disks": [{"sizeGb": 1.28e2}]}`, nil},
	{"tags/no list", "it cannot be decoded", `{"tags": "a"}`, []string{invalid}},
}

var policyRows = []row{
	{"onHostMaintenance/Migrate", "a value that is there", `{"onHostMaintenance": "Migrate"}`, nil},
	{"onHostMaintenance/Terminate", "a value that is there", `{"onHostMaintenance": "Terminate"}`, nil},
	{"onHostMaintenance/other", "no value that is there", `{"onHostMaintenance": "MIGRATE"}`, []string{invalid + "onHostMaintenance"}},
	{"onHostMaintenance/Migrate with gpus", "GPUs do not migrate", `{"onHostMaintenance": "Migrate", "gpus": [{"type": "nvidia-tesla-t4"}]}`, []string{forbidden + "onHostMaintenance"}},
	{"onHostMaintenance/Migrate with a2-", "it comes with GPUs", `{"onHostMaintenance": "Migrate", "machineType": "a2-highgpu-1g"}`, []string{forbidden + "onHostMaintenance"}},
	{"onHostMaintenance/left out with a2-", "the platform chooses", `{"machineType": "a2-highgpu-1g"}`, nil},
	{"onHostMaintenance/Terminate with a2-", "it may go", `{"onHostMaintenance": "Terminate", "machineType": "a2-highgpu-1g"}`, nil},
	{"onHostMaintenance/Migrate with a2", "another series", `{"onHostMaintenance": "Migrate", "machineType": "a2x-highgpu-1g"}`, nil},
	{"restartPolicy/Always", "a value that is there", `{"restartPolicy": "Always"}`, nil},
	{"restartPolicy/Never", "a value that is there", `{"restartPolicy": "Never"}`, nil},
	{"restartPolicy/other", "no value that is there", `{"restartPolicy": "OnFailure"}`, []string{invalid + "restartPolicy"}},
	{"provisioningModel/Spot", "a value that is there", `{"provisioningModel": "Spot"}`, nil},
	{"provisioningModel/other", "no value that is there", `{"provisioningModel": "Standard"}`, []string{invalid + "provisioningModel"}},
	{"provisioningModel/empty", "it is set", `{"provisioningModel": ""}`, []string{invalid + "provisioningModel"}},
	{"provisioningModel/Spot with preemptible", "it is one of them", `{"provisioningModel": "Spot", "preemptible": true}`, []string{forbidden + "provisioningModel"}},
	{"preemptible", "the older way", `{"preemptible": true}`, nil},
}

var shieldedRows = []row{
	{"shieldedInstanceConfig/Enabled", "values that are there", `{"shieldedInstanceConfig": {"secureBoot": "Enabled", "integrityMonitoring": "Enabled", "virtualizedTrustedPlatformModule": "Enabled"}}`, nil},
	{"shieldedInstanceConfig/Disabled", "values that are there", `{"shieldedInstanceConfig": {"secureBoot": "Disabled", "integrityMonitoring": "Disabled", "virtualizedTrustedPlatformModule": "Disabled"}}`, nil},
	{"shieldedInstanceConfig/empty", "the platform chooses", `{"shieldedInstanceConfig": {}}`, nil},
	{"secureBoot/other", "no value that is there", `{"shieldedInstanceConfig": {"secureBoot": "on"}}`, []string{invalid + "shieldedInstanceConfig.secureBoot"}},
	{"integrityMonitoring/other", "no value that is there", `{"shieldedInstanceConfig": {"integrityMonitoring": "on"}}`, []string{invalid + "shieldedInstanceConfig.integrityMonitoring"}},
	{
		"virtualizedTrustedPlatformModule/other", "no value that is there", `{"shieldedInstanceConfig": {"virtualizedTrustedPlatformModule": "on"}}`,
		[]string{invalid + "shieldedInstanceConfig.virtualizedTrustedPlatformModule"},
	},
	{
		"vTPM Disabled with integrityMonitoring", "it measures with it", `{"shieldedInstanceConfig": {"integrityMonitoring": "Enabled", "virtualizedTrustedPlatformModule": "Disabled"}}`,
		[]string{invalid + "shieldedInstanceConfig.virtualizedTrustedPlatformModule"},
	},
	{
		"vTPM Disabled alone", "integrityMonitoring is on where it is left out", `{"shieldedInstanceConfig": {"virtualizedTrustedPlatformModule": "Disabled"}}`,
		[]string{invalid + "shieldedInstanceConfig.virtualizedTrustedPlatformModule"},
	},
}

// confidentialRows has each technology with each series that supports it, and with each that does not.
func confidentialRows() []row {
	rows := []row{
		{"confidentialCompute/Disabled", "nothing is asked for", `{"confidentialCompute": "Disabled"}`, nil},
		{"confidentialCompute/other", "no value that is there", `{"confidentialCompute": "on"}`, []string{invalid + "confidentialCompute"}},
	}
	for technology, able := range map[string][]string{
		"Enabled":                                {"n2d", "c2d", "c3d"},
		"AMDEncryptedVirtualization":             {"n2d", "c2d", "c3d"},
		"AMDEncryptedVirtualizationNestedPaging": {"n2d"},
		"IntelTrustedDomainExtensions":           {"c3"},
	} {
		for _, series := range []string{"n1", "n2d", "c2d", "c3", "c3d"} {
			var refused []string
			if !slices.Contains(able, series) {
				refused = []string{invalid + "machineType"}
			}
			ask := fmt.Sprintf(`{"confidentialCompute": %q, "machineType": "%s-standard-4", "onHostMaintenance": `, technology, series)
			rows = append(rows,
				row{"confidentialCompute/" + technology + " with " + series, "some series can do it", ask + `"Terminate"}`, refused},
				row{"confidentialCompute/" + technology + " with " + series + " and Migrate", "it cannot migrate", ask + `"Migrate"}`, append([]string{invalid + "onHostMaintenance"}, refused...)},
				row{"confidentialCompute/" + technology + " with " + series + " alone", "it would migrate", ask + `null}`, append([]string{invalid + "onHostMaintenance"}, refused...)},
			)
		}
	}
	return rows
}

var listRows = []row{
	{"networkInterfaces/none", "a machine is in a network", `{"networkInterfaces": []}`, []string{required + "networkInterfaces"}},
	{"networkInterfaces/no network", "both are needed", `{"networkInterfaces": [{"network": "n", "subnetwork": "s"}, {"subnetwork": "s"}]}`, []string{required + "networkInterfaces[1].network"}},
	{"networkInterfaces/no subnetwork", "both are needed", `{"networkInterfaces": [{"network": "n", "subnetwork": "s"}, {"network": "n"}]}`, []string{required + "networkInterfaces[1].subnetwork"}},
	{
		"networkInterfaces/null", "it has neither", `{"networkInterfaces": [null]}`,
		[]string{required + "networkInterfaces[0].network", required + "networkInterfaces[0].subnetwork"},
	},
	{"disks/none", "a machine starts from one", `{"disks": null}`, []string{required + "disks"}},
	{"disks/null", "it has the defaults", `{"disks": [null]}`, nil},
	{"disks.sizeGb/0", "the size of its image", `{"disks": [{"sizeGb": 0}]}`, nil},
	{"disks.sizeGb/-1", "below the least", `{"disks": [{"sizeGb": -1}]}`, []string{invalid + "disks[0].sizeGb"}},
	{"disks.sizeGb/15", "below the least", `{"disks": [{}, {"sizeGb": 15}]}`, []string{invalid + "disks[1].sizeGb"}},
	{"disks.sizeGb/16", "the least", `{"disks": [{"sizeGb": 16}]}`, nil},
	{"disks.sizeGb/65536", "the most", `{"disks": [{"sizeGb": 65536}]}`, nil},
	{"disks.sizeGb/65537", "above the most", `{"disks": [{"sizeGb": 65537}]}`, []string{invalid + "disks[0].sizeGb"}},
	{"disks.type/pd-standard", "a value that is there", `{"disks": [{"type": "pd-standard"}]}`, nil},
	{"disks.type/pd-ssd", "a value that is there", `{"disks": [{"type": "pd-ssd"}]}`, nil},
	{"disks.type/pd-balanced", "a value that is there", `{"disks": [{"type": "pd-balanced"}]}`, nil},
	{"disks.type/hyperdisk-balanced", "a value that is there", `{"disks": [{"type": "hyperdisk-balanced"}]}`, nil},
	{"disks.type/empty", "a spec that was not defaulted, which the original accepts", `{"disks": [{"type": ""}]}`, nil},
	{"disks.type/other", "no value that is there", `{"disks": [{}, {"type": "local-ssd"}]}`, []string{unsupported + "disks[1].type"}},
}

var gpuRows = []row{
	{"gpus/one", "a machine may have some", `{"gpus": [{"type": "nvidia-tesla-t4", "count": 2}]}`, nil},
	{"gpus/two", "they are of one type", `{"gpus": [{"type": "nvidia-tesla-t4"}, {"type": "nvidia-tesla-p4"}]}`, []string{tooMany + "gpus"}},
	{"gpus/no type", "it is not said which", `{"gpus": [{"count": 1}]}`, []string{required + "gpus[0].type"}},
	{"gpus/null", "it is not said which", `{"gpus": [null]}`, []string{required + "gpus[0].type"}},
	{"gpus/nvidia-tesla-a100", "it comes with a2- machines", `{"gpus": [{"type": "nvidia-tesla-a100"}]}`, []string{invalid + "gpus[0].type"}},
	{"gpus/with a2-", "it has some", `{"gpus": [{"type": "nvidia-tesla-t4"}], "machineType": "a2-highgpu-1g"}`, []string{invalid + "gpus"}},
	{"gpus/nvidia-tesla-a100 with a2-", "it has them", `{"gpus": [{"type": "nvidia-tesla-a100"}], "machineType": "a2-highgpu-1g"}`, []string{invalid + "gpus[0].type", invalid + "gpus"}},
}

var accountRows = []row{
	{"serviceAccounts/two", "a machine has one", `{"serviceAccounts": [{"email": "a", "scopes": ["s"]}, {"email": "b", "scopes": ["s"]}]}`, []string{invalid + "serviceAccounts"}},
	{"serviceAccounts/no email", "it is not said which", `{"serviceAccounts": [{"scopes": ["s"]}]}`, []string{required + "serviceAccounts[0].email"}},
	{"serviceAccounts/no scopes", "it may do nothing", `{"serviceAccounts": [{"email": "a", "scopes": []}]}`, []string{required + "serviceAccounts[0].scopes"}},
}

// TestWarnings: without a service account a machine is accepted.
func TestWarnings(t *testing.T) {
	warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, whole, `{"serviceAccounts": null}`)))
	if len(faults) > 0 || len(warnings) != 1 || !strings.HasPrefix(warnings[0], "providerSpec.serviceAccounts: ") {
		t.Errorf("got %v, %q", faults, warnings)
	}
}

// TestFaultsAreBounded: the length of errors does not grow with the spec.
func TestFaultsAreBounded(t *testing.T) {
	list := `[{"sizeGb": 1}` + strings.Repeat(`,{"sizeGb": 1}`, 10000) + `]`
	long := `{"disks": ` + list + `, "networkInterfaces": ` + list + `, "zone": "` + strings.Repeat("x", 100000) + `"}`
	_, faults := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, whole, long)))
	if n := len(faults.ToAggregate().Error()); len(faults) < 100 || len(faults) > 110 || n > 20000 {
		t.Errorf("%d faults in %d bytes", len(faults), n)
	}
}

func TestKinds(t *testing.T) {
	var got []string
	for _, k := range (spec.Admitter{}).Kinds() {
		if k.Kind != "GCPMachineProviderSpec" {
			t.Errorf("kind %s", k.Kind)
		}
		got = append(got, k.GroupVersion().String())
	}
	want := []string{"machine.openshift.io/v1beta1", "machine.openshift.io/v1", "gcpprovider.openshift.io/v1beta1", "gcpprovider.openshift.io/v1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// told are the types and paths of errors.
func told(faults field.ErrorList) (out []string) {
	for _, f := range faults {
		out = append(out, string(f.Type)+" "+strings.TrimPrefix(strings.TrimPrefix(f.Field, "providerSpec"), "."))
	}
	return out
}
