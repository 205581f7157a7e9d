package spec_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/providers/openstack/spec"
)

func admission(raw string) admit.Request {
	return admit.Request{Spec: []byte(raw), Path: field.NewPath("providerSpec", "value")}
}

// TestAdmit: every readable spec is accepted, as it was by the original; a field that cannot work, or has
// no effect, is a warning.
func TestAdmit(t *testing.T) {
	for _, r := range []struct{ reason, raw, warning string }{
		{"a good one", `{"flavor":"f","image":"i","networks":[{"uuid":"n"}]}`, ""},
		{"an image from the root volume", `{"flavor":"f","rootVolume":{"diskSize":10,"sourceUUID":"i"}}`, ""},
		{"no flavor", `{"image":"i"}`, "providerSpec.value.flavor: a flavor must be named"},
		{"no image", `{"flavor":"f"}`, "providerSpec.value.image: an image must be named"},
		{"a network that is none", `{"flavor":"f","image":"i","networks":[{"portTags":["x"]}]}`, "providerSpec.value.networks[0]: names no network"},
		{"a group that is any", `{"flavor":"f","image":"i","securityGroups":[{}]}`, "providerSpec.value.securityGroups[0]: selects every security group of the project"},
		{"a port in no network", `{"flavor":"f","image":"i","ports":[{}]}`, "providerSpec.value.ports[0].networkID"},
		{"no MAC address", `{"flavor":"f","image":"i","ports":[{"networkID":"n","macAddress":"x"}]}`, `providerSpec.value.ports[0].macAddress: "x" is no MAC address`},
		{"no address", `{"flavor":"f","image":"i","ports":[{"networkID":"n","fixedIPs":[{"subnetID":"s","ipAddress":"x"}]}]}`, "fixedIPs[0].ipAddress"},
		{"groups without port security", `{"flavor":"f","image":"i","ports":[{"networkID":"n","portSecurity":false,"securityGroups":["g"]}]}`, "ports[0].securityGroups: cannot be together"},
		{"two disks of a name", `{"flavor":"f","image":"i","additionalBlockDevices":[{"name":"a","sizeGiB":1,"storage":{"type":"Local"}},{"name":"a","sizeGiB":1,"storage":{"type":"Local"}}]}`, "additionalBlockDevices[1].name"},
		{"a disk of another kind", `{"flavor":"f","image":"i","additionalBlockDevices":[{"name":"a","sizeGiB":1,"storage":{"type":"Tape"}}]}`, "storage.type"},
		{"a volume with the root volume's name", `{"flavor":"f","image":"i","additionalBlockDevices":[{"name":"root","sizeGiB":1,"storage":{"type":"Volume"}}]}`, "additionalBlockDevices[0].name"},
		{"what has no effect", `{"flavor":"f","image":"i","sshUserName":"core"}`, "providerSpec.value.sshUserName: is ignored"},
		{"what has none any more", `{"flavor":"f","image":"i","networks":[{"uuid":"n","subnets":[{"uuid":"s","portSecurity":true}]}]}`, "networks[0].subnets[0].portSecurity: is ignored"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			warnings, faults := spec.Admitter{}.Admit(admission(r.raw))
			if len(faults) > 0 {
				t.Errorf("refused: %v", faults)
			}
			if r.warning == "" && len(warnings) > 0 || r.warning != "" && !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, r.warning) }) {
				t.Errorf("warnings %q, want %q", warnings, r.warning)
			}
		})
	}
	if _, faults := (spec.Admitter{}).Admit(admission(`{"flavor":{}}`)); len(faults) != 1 || faults[0].Field != "providerSpec.value" {
		t.Errorf("what cannot be read: %v", faults)
	}
}

// TestDefault fills in nothing, and keeps every byte.
func TestDefault(t *testing.T) {
	const raw = `{ "flavor" : "f", "unknown": 1 }`
	if out, err := (spec.Admitter{}).Default(admission(raw)); err != nil || string(out) != raw {
		t.Errorf("%s, %v", out, err)
	}
	if _, err := (spec.Admitter{}).Default(admission(`[]`)); provider.KindOf(err) != provider.Invalid {
		t.Error(err)
	}
}

func TestGardener(t *testing.T) {
	const good = `{"apiVersion":"openstack.machine.gardener.cloud/v1alpha1","kind":"MachineProviderConfig","spec":{"imageName":"i","flavorName":"f","region":"r","availabilityZone":"z","keyName":"k","networkID":"n","podNetworkCIDRs":["10.0.0.0/8"],"tags":{"kubernetes.io-cluster-a":"1","kubernetes.io-role-node":"1"}}}`
	s, err := spec.DecodeGardener([]byte(good))
	if err != nil || len(s.Spec.Owning()) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, r := range []struct{ old, with, field string }{
		{`"region":"r"`, `"region":""`, "spec.region"},
		{`"availabilityZone":"z"`, `"availabilityZone":""`, "spec.availabilityZone"},
		{`"keyName":"k",`, ``, "spec.keyName"},
		{`"imageName":"i"`, `"imageName":""`, "spec.imageName"},
		{`"networkID":"n"`, `"networkID":""`, "spec.networkID"},
		{`"networkID":"n"`, `"networkID":"n","networks":[{"id":"a"}]`, "spec.networks"},
		{`"networkID":"n"`, `"networks":[{"id":"a","name":"b"}]`, "spec.networks[0]"},
		{`"networkID":"n"`, `"networks":[{"id":"a"},{}]`, "spec.networks[1]"},
		{`"networkID":"n","podNetworkCIDRs":["10.0.0.0/8"]`, `"networks":[{"id":"a","podNetwork":true}]`, "spec.networks[0].podNetwork"},
		{`"podNetworkCIDRs":["10.0.0.0/8"]`, `"podNetworkCIDRs":[]`, "spec.podNetworkCIDRs"},
		{`"podNetworkCIDRs":["10.0.0.0/8"]`, `"podNetworkCidr":"x"`, "spec.podNetworkCidr"},
		{`"kubernetes.io-cluster-a":"1",`, ``, "spec.tags"},
		{`"imageName":"i"`, `"imageName":"i","rootDiskSize":-1`, "spec.rootDiskSize"},
		{`"imageName":"i"`, `"imageName":"i","securityGroups":["a",""]`, "spec.securityGroups[1]"},
		{`"imageName":"i"`, `"imageName":"i","image":"i"`, "spec.image"},
		{`"imageName":"i"`, `"imageName":"i","networks":[{"id":"a","subnetID":"s"}]`, "spec.networks[0].subnetID"},
		{`gardener.cloud/v1alpha1`, `gardener.cloud/v1beta1`, "apiVersion"},
		{`MachineProviderConfig`, `OpenStackMachineClass`, "kind"},
	} {
		_, err := spec.DecodeGardener([]byte(strings.Replace(good, r.old, r.with, 1)))
		if !names(err, r.field) {
			t.Errorf("%s for %s: %v, want field %s", r.with, r.old, err, r.field)
		}
	}
	for old, with := range map[string]string{
		`"kind":"MachineProviderConfig",`: ``, `"networkID":"n"`: `"networks":[{"id":"a"}],"subnetID":"s","subnetIDs":["t"]`, `10.0.0.0/8`: `10.0.0.1`,
		`kubernetes.io-cluster-a`: `x-kubernetes.io-cluster-a`,
	} {
		if s, err := spec.DecodeGardener([]byte(strings.Replace(good, old, with, 1))); err != nil || len(s.Spec.Owning()) != 2 {
			t.Errorf("%s for %s is accepted by the original: %v", with, old, err)
		}
	}
	if _, err := spec.DecodeGardener([]byte(strings.Replace(good, `"tags":{"kubernetes.io-cluster-a":"1","kubernetes.io-role-node":"1"}`, `"tags":{}`, 1))); err != nil {
		t.Errorf("without keys the class's cluster stands in: %v", err)
	}
}

// names reports whether an error, or one of those that are joined in it, is about the field.
func names(err error, path string) bool {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(all.Unwrap(), func(e error) bool { return names(e, path) })
	}
	e, ok := errors.AsType[*provider.Error](err)
	return ok && e.Field == path
}
