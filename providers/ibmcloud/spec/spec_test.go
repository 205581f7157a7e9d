package spec_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/ibmcloud/spec"
)

const machine = `{"apiVersion":"ibmcloudproviderconfig.openshift.io/v1beta1","kind":"IBMCloudMachineProviderSpec","vpc":"c1-vpc","image":"c1-rhcos","profile":"bx2-4x16",` +
	`"region":"us-south","zone":"us-south-1","resourceGroup":"c1-rg","networkResourceGroup":"c1-net","dedicatedHost":"host-1","primaryNetworkInterface":{"subnet":"c1-subnet-1",` +
	`"securityGroups":["c1-sg"]},"bootVolume":{"encryptionKey":"crn:v1:bluemix:public:kms:us-south:a/1:2:key:3","profile":"custom","sizeGiB":120,"iops":3000},` +
	`"tags":[{"name":"team","value":"blue"}],"userDataSecret":{"name":"worker-user-data"},"credentialsSecret":{"name":"ibmcloud-credentials"}}`

// rows are changes to a valid spec (merge patches), and the fields that they make invalid.
var rows = []struct{ reason, patch, path string }{
	{"the usual", `{}`, ""},
	{"the boot volume of the image", `{"bootVolume":null}`, ""},
	{"no security group: that of the VPC", `{"primaryNetworkInterface":{"securityGroups":null}}`, ""},
	{"an unknown field, which the original ignores", `{"sshKeys":["a"]}`, ""},
	{"a tag without a value", `{"tags":[{"name":"team"}]}`, ""},
	{"no VPC", `{"vpc":""}`, "vpc"},
	{"no image", `{"image":null}`, "image"},
	{"no profile", `{"profile":""}`, "profile"},
	{"no region", `{"region":""}`, "region"},
	{"no zone", `{"zone":""}`, "zone"},
	{"no resource group", `{"resourceGroup":""}`, "resourceGroup"},
	{"no subnet", `{"primaryNetworkInterface":{"subnet":""}}`, "primaryNetworkInterface.subnet"},
	{"a size of less than nothing", `{"bootVolume":{"sizeGiB":-1}}`, "bootVolume.sizeGiB"},
	{"a key that is no CRN", `{"bootVolume":{"encryptionKey":"my-key"}}`, "bootVolume.encryptionKey"},
	{"a tag without a name", `{"tags":[{"value":"blue"}]}`, "tags[0].name"},
	{"a tag that is too long", `{"tags":[{"name":"` + strings.Repeat("t", 129) + `"}]}`, "tags[0]"},
}

func TestSpecsOfMachines(t *testing.T) {
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			raw := admissiontest.Patched(t, machine, r.patch)
			_, err := spec.Decode(raw)
			switch {
			case r.path == "" && err != nil:
				t.Errorf("refused: %v", err)
			case r.path != "" && (err == nil || provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), r.path+": ")):
				t.Errorf("%v, want it to name %s", err, r.path)
			}
			warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission(raw))
			if len(faults) > 0 {
				t.Errorf("refused: %v", faults)
			}
			if warned := slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, r.path+": ") }); warned != (r.path != "") {
				t.Errorf("warnings %q, want one of %q", warnings, r.path)
			}
		})
	}
}

// TestAllFieldsAreRead: a field with a wrong name would be empty.
func TestAllFieldsAreRead(t *testing.T) {
	s, err := spec.Decode([]byte(machine))
	if err != nil {
		t.Fatal(err)
	}
	v, n := s.BootVolume, s.PrimaryNetworkInterface
	got := []string{s.VPC, s.Image, s.Profile, s.Region, s.Zone, s.ResourceGroup, s.NetworkResourceGroup, s.DedicatedHost, n.Subnet, n.SecurityGroups[0], v.EncryptionKey[:4], v.Profile, s.Tags[0].String(), s.UserDataSecret.Name, s.CredentialsSecret.Name}
	want := []string{"c1-vpc", "c1-rhcos", "bx2-4x16", "us-south", "us-south-1", "c1-rg", "c1-net", "host-1", "c1-subnet-1", "c1-sg", "crn:", "custom", "team:blue", "worker-user-data", "ibmcloud-credentials"}
	if !slices.Equal(got, want) || v.SizeGiB != 120 || v.Iops != 3000 {
		t.Errorf("read as %q, %+v", got, v)
	}
}

// TestAdmissionOfAnySpec: admission of any spec ends, and Default changes nothing.
func TestAdmissionOfAnySpec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(admissiontest.Draw(t, &spec.ProviderSpec{}, "us-south", "custom", "crn:"))
		if err != nil {
			t.Fatal(err)
		}
		admissiontest.Holds(t, spec.Admitter{}, admissiontest.Admission(raw), admissiontest.EmptyAndKnown)
	})
}

func TestUndecodableSpecs(t *testing.T) {
	for _, raw := range []string{`{"bootVolume":[]}`, `{`, ``, `[]`} {
		if _, faults := (spec.Admitter{}).Admit(admissiontest.Admission([]byte(raw))); len(faults) != 1 {
			t.Errorf("%q: %v", raw, faults)
		}
	}
}

func TestRegionOf(t *testing.T) {
	for raw, region := range map[string]string{machine: "us-south", `{"region":"eu-de","bootVolume":7}`: "eu-de", `{`: "", `{}`: ""} {
		if got := spec.RegionOf([]byte(raw)); got != region {
			t.Errorf("%s: %q, want %q", raw, got, region)
		}
	}
}

// FuzzDecode: any input is decoded, or refused as Invalid.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(machine))
	for _, r := range rows {
		f.Add([]byte(r.patch))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := spec.Decode(raw)
		if err != nil && provider.KindOf(err) != provider.Invalid {
			t.Errorf("%q: %v", raw, err)
		}
		if err == nil && (s.Image == "" || s.VPC == "") {
			t.Errorf("%q is read as %+v", raw, s)
		}
	})
}
