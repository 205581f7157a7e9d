package spec_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/alicloud/spec"
)

const machine = `{"apiVersion":"machine.openshift.io/v1","kind":"AlibabaCloudMachineProviderConfig","instanceType":"ecs.g7.large","vpcId":"vpc-1","regionId":"cn-hangzhou",` +
	`"zoneId":"cn-hangzhou-h","imageId":"m-1","securityGroups":[{"type":"ID","id":"sg-1"},{"type":"Tags","tags":[{"Key":"Name","Value":"workers"}]}],` +
	`"vSwitch":{"type":"ID","id":"vsw-1"},"resourceGroup":{"type":"Name","name":"c1"},"dataDisk":[{"Name":"data","Size":40}],"tag":[{"Key":"team","Value":"blue"}]}`

// machineRows are changes to a valid spec of machine.openshift.io (merge patches), and the fields that they make
// invalid.
var machineRows = []struct{ reason, patch, path string }{
	{"the usual", `{}`, ""},
	{"no reference to a resource group: the account's default", `{"resourceGroup":{"type":""}}`, ""},
	{"a resource group by ID", `{"resourceGroup":{"type":"ID","id":"rg-1"}}`, ""},
	{"an unknown field, which the original ignores", `{"systemDiskCategory":"cloud_essd"}`, ""},
	{"a tenancy of the original", `{"tenancy":"host"}`, ""},
	{"no image", `{"imageId":""}`, "imageId"},
	{"no type", `{"instanceType":null}`, "instanceType"},
	{"no region", `{"regionId":""}`, "regionId"},
	{"no security group", `{"securityGroups":[]}`, "securityGroups"},
	{"a security group without its ID", `{"securityGroups":[{"type":"ID"}]}`, "securityGroups[0].id"},
	{"a security group without its tags", `{"securityGroups":[{"type":"Tags"}]}`, "securityGroups[0].tags"},
	{"a security group by name, which the original does not find", `{"securityGroups":[{"type":"Name","name":"workers"}]}`, "securityGroups[0].type"},
	{"a vSwitch without its ID", `{"vSwitch":{"id":""}}`, "vSwitch.id"},
	{"a vSwitch without its tags", `{"vSwitch":{"type":"Tags","id":null}}`, "vSwitch.tags"},
	{"a vSwitch by name, which the original does not find", `{"vSwitch":{"type":"Name","name":"private"}}`, "vSwitch.type"},
	{"a resource group without its ID", `{"resourceGroup":{"type":"ID"}}`, "resourceGroup.id"},
	{"a resource group without its name", `{"resourceGroup":{"name":""}}`, "resourceGroup.name"},
	{"a resource group by tags, which there is not", `{"resourceGroup":{"type":"Tags"}}`, "resourceGroup.type"},
	{"another tenancy", `{"tenancy":"dedicated"}`, "tenancy"},
	{"too many disks", `{"dataDisk":[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]}`, "dataDisk"},
}

func TestSpecsOfMachines(t *testing.T) {
	for _, r := range machineRows {
		t.Run(r.reason, func(t *testing.T) {
			raw := admissiontest.Patched(t, machine, r.patch)
			_, err := spec.DecodeConfig(raw)
			names(t, err, r.path)
			// The original has no admission: faults are warnings.
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

// names checks that an error names the field; without a field, that there is no error.
func names(t *testing.T, err error, path string) {
	t.Helper()
	switch {
	case path == "" && err != nil:
		t.Errorf("refused: %v", err)
	case path != "" && (err == nil || provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), path+": ")):
		t.Errorf("%v, want it to name %s", err, path)
	}
}

// TestDisksAreReadInAnyCase: the types of upstream have no JSON names for the fields of data disks and tags.
func TestDisksAreReadInAnyCase(t *testing.T) {
	s, err := spec.DecodeConfig(admissiontest.Patched(t, machine,
		`{"dataDisk":[{"name":"d","snapshotId":"s-1","SIZE":40,"diskEncryption":"encrypted","kmsKeyId":"k","diskPreservation":"PreserveDisk"}],"tag":[{"key":"a","value":"b"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	d := s.DataDisks[0]
	if d.Name != "d" || d.SnapshotID != "s-1" || d.Size != 40 || d.DiskEncryption != "encrypted" || d.KMSKeyID != "k" || d.DiskPreservation != "PreserveDisk" || s.Tags[0].Key != "a" || s.Tags[0].Value != "b" {
		t.Errorf("read as %+v, %+v", d, s.Tags)
	}
}

// TestAdmissionOfAnySpec: admission of any spec ends, and Default changes nothing.
func TestAdmissionOfAnySpec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(admissiontest.Draw(t, &spec.Config{}, "ID", "Tags", "Name", "host"))
		if err != nil {
			t.Fatal(err)
		}
		admissiontest.Holds(t, spec.Admitter{}, admissiontest.Admission(raw), admissiontest.EmptyAndKnown)
	})
}

func TestUndecodableSpecs(t *testing.T) {
	for _, raw := range []string{`{"vSwitch":[]}`, `{`, ``, `[]`} {
		if _, faults := (spec.Admitter{}).Admit(admissiontest.Admission([]byte(raw))); len(faults) != 1 {
			t.Errorf("%q: %v", raw, faults)
		}
	}
}

func TestRegionOf(t *testing.T) {
	for _, r := range []struct{ api, raw, region string }{
		{provider.OpenShift, machine, "cn-hangzhou"},
		{provider.OpenShift, `{"regionId":"eu-central-1","securityGroups":[]}`, "eu-central-1"},
		{provider.Gardener, class, "eu-central-1"},
		{provider.Gardener, `{"regionId":"cn-hangzhou"}`, ""},
		{provider.Gardener, `{"region":"eu-central-1","systemDisk":7}`, "eu-central-1"},
		{provider.Gardener, `{`, ""},
	} {
		if got := spec.RegionOf(r.api, []byte(r.raw)); got != r.region {
			t.Errorf("%s %s: %q, want %q", r.api, r.raw, got, r.region)
		}
	}
}

// FuzzDecode: any input is decoded, or refused as Invalid.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(machine))
	f.Add([]byte(class))
	for _, r := range machineRows {
		f.Add([]byte(r.patch))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := spec.DecodeConfig(raw)
		if err != nil && provider.KindOf(err) != provider.Invalid {
			t.Errorf("%q: %v", raw, err)
		}
		if err == nil && (m.ImageID == "" || len(m.SecurityGroups) == 0) {
			t.Errorf("%q is read as %+v", raw, m)
		}
		c, err := spec.DecodeProviderSpec(raw)
		if err != nil && provider.KindOf(err) != provider.Invalid {
			t.Errorf("%q: %v", raw, err)
		}
		if err == nil && (c.ImageID == "" || c.VSwitchID == "") {
			t.Errorf("%q is read as %+v", raw, c)
		}
	})
}
