package spec_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/yandex/spec"
)

const class = `{"labels":{"kubernetes-io-cluster-shoot--a--b":"1","kubernetes-io-role-worker":"1","team":"blue"},"metadata":{"ssh-keys":"ops:ssh-ed25519 A"},"regionID":"ru-central1",` +
	`"zoneID":"ru-central1-a","platformID":"standard-v3","networkType":"SOFTWARE_ACCELERATED","resourcesSpec":{"cores":2,"coreFraction":50,"memory":8589934592,"gpus":0},` +
	`"bootDiskSpec":{"autoDelete":true,"typeID":"network-ssd","size":53687091200,"imageID":"fd8image"},` +
	`"networkInterfaceSpecs":[{"subnetID":"e9bsubnet","assignPublicIPAddress":true,"publicIPAddresses":["84.201.0.7"]}],"schedulingPolicy":{"preemptible":true}}`

// rows are changes to a valid spec (merge patches), and the fields that they make invalid.
var rows = []struct{ reason, patch, path string }{
	{"the usual", `{}`, ""},
	{"labels of the owner may be missing: the name of the cluster replaces them", `{"labels":null}`, ""},
	{"an unknown field, which the original ignores", `{"unknown":1}`, ""},
	{"secrets in the spec, which are ignored", `{"secretRef":{"name":"a"},"credentialsSecretRef":{"name":"b","namespace":"c"}}`, ""},
	{"no region: that of the zone", `{"regionID":null}`, ""},
	{"another network type, which the original ignores", `{"networkType":"FAST"}`, ""},
	{"no size of the disk: that of the image", `{"bootDiskSpec":{"size":null,"typeID":null}}`, ""},
	{"no zone", `{"zoneID":""}`, "zoneID"},
	{"no platform", `{"platformID":null}`, "platformID"},
	{"no image", `{"bootDiskSpec":{"imageID":null}}`, "bootDiskSpec.imageID"},
	{"no vCPUs", `{"resourcesSpec":{"cores":0}}`, "resourcesSpec.cores"},
	{"no memory", `{"resourcesSpec":{"memory":null}}`, "resourcesSpec.memory"},
	{"more than a whole vCPU", `{"resourcesSpec":{"coreFraction":101}}`, "resourcesSpec.coreFraction"},
	{"less than no GPU", `{"resourcesSpec":{"gpus":-1}}`, "resourcesSpec.gpus"},
	{"a disk of less than nothing", `{"bootDiskSpec":{"size":-1}}`, "bootDiskSpec.size"},
	{"no interface", `{"networkInterfaceSpecs":[]}`, "networkInterfaceSpecs"},
	{"no subnet", `{"networkInterfaceSpecs":[{"subnetID":""}]}`, "networkInterfaceSpecs[0].subnetID"},
	{"a name as a public address", `{"networkInterfaceSpecs":[{"subnetID":"e9b","publicIPAddresses":["a"]}]}`, "networkInterfaceSpecs[0].publicIPAddresses[0]"},
	{"a key with capitals", `{"labels":{"Team":"blue"}}`, "labels[Team]"},
	{"a value with a space", `{"labels":{"team":"dark blue"}}`, "labels[team]"},
}

func TestSpecsOfClasses(t *testing.T) {
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			_, err := spec.DecodeProviderSpec(admissiontest.Patched(t, class, r.patch))
			switch {
			case r.path == "" && err != nil:
				t.Errorf("refused: %v", err)
			case r.path != "" && (err == nil || provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), r.path+": ")):
				t.Errorf("%v, want it to name %s", err, r.path)
			}
		})
	}
}

func TestOwnershipLabels(t *testing.T) {
	s, err := spec.DecodeProviderSpec([]byte(class))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"kubernetes-io-cluster-shoot--a--b": "1", "kubernetes-io-role-worker": "1"}
	if got := s.OwnershipLabels(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestRegionOf(t *testing.T) {
	for raw, want := range map[string]string{
		class: "ru-central1", `{"zoneID":"kz1-a"}`: "kz1", `{"regionID":"x","zoneID":"kz1-a"}`: "x", `{"zoneID":"a","resourcesSpec":7}`: "", `{"zoneID":"kz1-a","resourcesSpec":7}`: "kz1",
		`{}`: "", `{`: "", `[]`: "",
	} {
		if got := spec.RegionOf([]byte(raw)); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// FuzzDecode: any input is decoded, or refused as Invalid.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(class))
	for _, r := range rows {
		f.Add([]byte(r.patch))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := spec.DecodeProviderSpec(raw)
		if err != nil && provider.KindOf(err) != provider.Invalid {
			t.Errorf("%q: %v", raw, err)
		}
		if err == nil && (s.ZoneID == "" || len(s.NetworkInterfaceSpecs) == 0) {
			t.Errorf("%q is read as %+v", raw, s)
		}
		spec.RegionOf(raw)
	})
}
