package spec_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/gcp/spec"
)

// wholeGardener is a valid spec.
const wholeGardener = `{"region": "europe-west1", "zone": "europe-west1-b", "machineType": "n2-standard-4",
	"disks": [{"boot": true, "sizeGb": 50, "type": "pd-ssd", "image": "projects/x/global/images/y", "labels": {"name": "shoot--a--b"}}],
	"networkInterfaces": [{"subnetwork": "shoot--a--b"}], "scheduling": {"automaticRestart": true, "onHostMaintenance": "MIGRATE", "preemptible": false},
	"serviceAccounts": [{"email": "n@p.iam.gserviceaccount.com", "scopes": ["compute"]}], "tags": ["kubernetes-io-cluster-shoot--a--b", "kubernetes-io-role-node"]}`

// faultyFields are the fields in an error.
func faultyFields(t *testing.T, err error) (fields []string) {
	t.Helper()
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		e, ok := errors.AsType[*provider.Error](err)
		switch {
		case err == nil:
		case !ok || e.Kind != provider.Invalid:
			t.Errorf("%v is not Invalid", err)
		default:
			fields = append(fields, e.Field)
		}
	}
	return fields
}

func TestDecodeGardener(t *testing.T) {
	for _, r := range []struct {
		name, patch string
		want        []string
	}{
		{"whole", `{}`, nil},
		{"names in another case, and unknown ones", `{"CanIPForward": true, "fancy": 1}`, nil},
		{"a small disk, as the original takes it", `{"disks": [{"boot": true, "image": "i", "sizeGb": 1}]}`, nil},
		{"nothing of where", `{"region": null, "zone": "", "machineType": null}`, []string{"region", "zone", "machineType"}},
		{"no disk", `{"disks": []}`, []string{"disks"}},
		{"a disk of nothing", `{"disks": [null]}`, []string{"disks[0]"}},
		{"a boot disk without an image", `{"disks": [{"boot": true}]}`, []string{"disks[0].image"}},
		{"a blank disk without one", `{"disks": [{"sizeGb": 10}]}`, nil},
		{"a disk of less than nothing", `{"disks": [{"sizeGb": -1}]}`, []string{"disks[0].sizeGb"}},
		{"a local SSD without an interface", `{"disks": [{"type": "SCRATCH"}]}`, []string{"disks[0].interface"}},
		{"a local SSD", `{"disks": [{"type": "SCRATCH", "interface": "SCSI"}]}`, nil},
		{"a key without a name", `{"disks": [{"encryption": {"kmsKeyName": " "}}]}`, []string{"disks[0].encryption.kmsKeyName"}},
		{"a blank account", `{"disks": [{"encryption": {"kmsKeyName": "k", "kmsKeyServiceAccount": " "}}]}`, []string{"disks[0].encryption.kmsKeyServiceAccount"}},
		{"no network", `{"networkInterfaces": null}`, []string{"networkInterfaces"}},
		{"an interface of nothing", `{"networkInterfaces": [{}]}`, []string{"networkInterfaces[0]"}},
		{"another stack", `{"networkInterfaces": [{"network": "n", "stackType": "IPV6"}]}`, []string{"networkInterfaces[0].stackType"}},
		{"another access", `{"networkInterfaces": [{"network": "n", "ipv6accessType": "BOTH"}]}`, []string{"networkInterfaces[0].ipv6accessType"}},
		{"a range", `{"networkInterfaces": [{"network": "n", "ipCidrRange": "/32"}]}`, nil},
		{"a range of too much", `{"networkInterfaces": [{"network": "n", "ipCidrRange": "/33"}]}`, []string{"networkInterfaces[0].ipCidrRange"}},
		{"a range of no length", `{"networkInterfaces": [{"network": "n", "ipCidrRange": "24"}]}`, []string{"networkInterfaces[0].ipCidrRange"}},
		{"user data in metadata", `{"metadata": [{"key": "a"}, {"key": "user-data"}]}`, []string{"metadata[1].key"}},
		{"no word for maintenance", `{"scheduling": {"onHostMaintenance": "Migrate"}}`, []string{"scheduling.onHostMaintenance"}},
		{"GPUs that migrate", `{"gpu": {"acceleratorType": "a", "count": 1}}`, []string{"scheduling.onHostMaintenance"}},
		{"GPUs of nothing", `{"gpu": {}, "scheduling": {"onHostMaintenance": "TERMINATE"}}`, []string{"gpu.acceleratorType", "gpu.count"}},
		{"two accounts", `{"serviceAccounts": [{"email": "a"}, {"email": "b"}]}`, []string{"serviceAccounts"}},
	} {
		t.Run(r.name, func(t *testing.T) {
			_, err := spec.DecodeGardener(admissiontest.Patched(t, wholeGardener, r.patch))
			if got := faultyFields(t, err); !slices.Equal(got, r.want) {
				t.Errorf("%s: %q, want %q: %v", r.name, got, r.want, err)
			}
		})
	}
	if _, err := spec.DecodeGardener([]byte(`{"disks": 1}`)); provider.KindOf(err) != provider.Invalid {
		t.Errorf("what is no spec: %v", err)
	}
}

func TestDecodeOpenShift(t *testing.T) {
	for _, r := range []struct {
		name, patch string
		want        []string
	}{
		{"whole", `{}`, nil},
		{"what the webhook refuses and the actuator takes", `{"zone": "us-west1-b", "userDataSecret": null, "disks": [{"type": "x", "sizeGb": 1, "image": "i"}]}`, nil},
		{"nothing of where", `{"region": "", "zone": "", "machineType": ""}`, []string{"region", "zone", "machineType"}},
		{"no network", `{"networkInterfaces": [null]}`, []string{"networkInterfaces"}},
		{"a pool without a name", `{"targetPools": ["a", ""]}`, []string{"targetPools[1]"}},
		{"half a tag", `{"resourceManagerTags": [{"key": "k"}]}`, []string{"resourceManagerTags[0]"}},
		{"no disk", `{"disks": null}`, []string{"disks"}},
		{"a boot disk without an image", `{"disks": [{"boot": true}]}`, []string{"disks[0].image"}},
		{"two types of GPUs", `{"gpus": [{"type": "a"}, {"type": "b"}]}`, []string{"gpus"}},
		{"two accounts", `{"serviceAccounts": [{"email": "a"}, {"email": "b"}]}`, []string{"serviceAccounts"}},
		{"another policy", `{"confidentialCompute": "x"}`, []string{"confidentialCompute"}},
		{"another model", `{"provisioningModel": "x"}`, []string{"provisioningModel"}},
		{"spot twice", `{"provisioningModel": "Spot", "preemptible": true}`, []string{"provisioningModel"}},
		{"spot that is restarted", `{"preemptible": true, "restartPolicy": "Always"}`, []string{"restartPolicy"}},
		{"another word for maintenance", `{"onHostMaintenance": "SUSPEND"}`, []string{"onHostMaintenance"}},
	} {
		t.Run(r.name, func(t *testing.T) {
			_, err := spec.DecodeOpenShift(admissiontest.Patched(t, whole, r.patch))
			if got := faultyFields(t, err); !slices.Equal(got, r.want) {
				t.Errorf("%s: %q, want %q: %v", r.name, got, r.want, err)
			}
		})
	}
	if _, err := spec.DecodeOpenShift([]byte(strings.Replace(whole, `"disks": [`, `"disks": 1, "x": [`, 1))); provider.KindOf(err) != provider.Invalid {
		t.Errorf("what is no spec: %v", err)
	}
}

func FuzzDecodeGardener(f *testing.F) {
	f.Add([]byte(wholeGardener))
	f.Add([]byte(`{"disks": [null], "networkInterfaces": [null], "metadata": [null]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := spec.DecodeGardener(raw); err != nil {
			faultyFields(t, err)
		}
	})
}
