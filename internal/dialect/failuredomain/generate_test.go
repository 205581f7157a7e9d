package failuredomain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func machines(t *testing.T, specs ...string) (out []machinev1beta1.Machine) {
	t.Helper()
	for i, text := range specs {
		m := machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("m-%d", i), CreationTimestamp: metav1.NewTime(time.Unix(int64(i), 0)), Labels: map[string]string{machinev1beta1.MachineClusterIDLabel: "c1"},
		}}
		m.Spec.ProviderSpec = spec(t, text)
		out = append(out, m)
	}
	return out
}

// TestGenerate: the failure domains of all machines, and the spec of the newest one without them.
func TestGenerate(t *testing.T) {
	for _, c := range []struct {
		about    string
		platform configv1.PlatformType
		machines []string
		domains  string // nothing: none
		spec     string
		err      string
	}{
		{
			"AWS", configv1.AWSPlatformType,
			[]string{`{kind: AWSMachineProviderConfig, placement: {availabilityZone: b, region: r}, subnet: {id: s}}`, `{kind: AWSMachineProviderConfig, placement: {availabilityZone: a, region: r}, subnet: {id: s}, instanceType: new, later: 1}`},
			`{platform: AWS, aws: [{placement: {availabilityZone: a}, subnet: {type: ID, id: s}}, {placement: {availabilityZone: b}, subnet: {type: ID, id: s}}]}`,
			`{kind: AWSMachineProviderConfig, placement: {region: r}, instanceType: new, later: 1}`, "",
		},
		{
			"Azure: equal fields stay in the spec", configv1.AzurePlatformType,
			[]string{`{kind: AzureMachineProviderSpec, zone: "1", subnet: s}`, `{kind: AzureMachineProviderSpec, zone: "2", subnet: s}`},
			`{platform: Azure, azure: [{zone: "1"}, {zone: "2"}]}`, `{kind: AzureMachineProviderSpec, subnet: s}`, "",
		},
		{
			"Azure: equal zones", configv1.AzurePlatformType,
			[]string{`{kind: AzureMachineProviderSpec, zone: "1", subnet: s}`, `{kind: AzureMachineProviderSpec, zone: "1", subnet: t}`},
			`{platform: Azure, azure: [{zone: "", subnet: s}, {zone: "", subnet: t}]}`, `{kind: AzureMachineProviderSpec, zone: "1"}`, "",
		},
		{
			"Azure: one failure domain is none", configv1.AzurePlatformType,
			[]string{`{kind: AzureMachineProviderSpec, zone: "1"}`, `{kind: AzureMachineProviderSpec, zone: "1"}`},
			`{platform: ""}`, `{kind: AzureMachineProviderSpec, zone: "1"}`, "",
		},
		{
			"GCP", configv1.GCPPlatformType,
			[]string{`{kind: GCPMachineProviderSpec, zone: a}`, `{kind: GCPMachineProviderSpec, zone: a, region: r}`},
			`{platform: GCP, gcp: [{zone: a}]}`, `{kind: GCPMachineProviderSpec, region: r}`, "",
		},
		{
			"OpenStack", configv1.OpenStackPlatformType,
			[]string{`{kind: OpenstackProviderSpec, availabilityZone: a}`, `{kind: OpenstackProviderSpec, availabilityZone: b, rootVolume: {diskSize: 1, volumeType: f}}`},
			`{platform: OpenStack, openstack: [{availabilityZone: a}, {availabilityZone: b, rootVolume: {volumeType: f}}]}`, `{kind: OpenstackProviderSpec, rootVolume: {diskSize: 1}}`, "",
		},
		{"OpenStack: none", configv1.OpenStackPlatformType, []string{`{kind: OpenstackProviderSpec}`, `{kind: OpenstackProviderSpec}`}, "", `{kind: OpenstackProviderSpec}`, ""},
		{"OpenStack: some", configv1.OpenStackPlatformType, []string{`{kind: OpenstackProviderSpec}`, `{kind: OpenstackProviderSpec, availabilityZone: a}`}, "", "", "an empty failure domain was found and other failure domains are not empty"},
		{"OpenStack: groups", configv1.OpenStackPlatformType, []string{`{kind: OpenstackProviderSpec, serverGroupName: a}`, `{kind: OpenstackProviderSpec, serverGroupName: b}`}, "", "", "provider specs are inconsistent: machine m-0 has the server group"},
		{
			"VSphere", configv1.VSpherePlatformType,
			[]string{
				`{kind: VSphereMachineProviderSpec, workspace: {server: v1, datacenter: dc1, datastore: /dc1/ds, resourcePool: /dc1/host/c/Resources/p/}}`,
				`{kind: VSphereMachineProviderSpec, template: x, numCPUs: 4, workspace: {server: v2, datacenter: dc2, datastore: /dc2/ds, vmGroup: g, resourcePool: /dc2/host/c/Resources}, network: {devices: [{networkName: nn}, {networkName: nn, addressesFromPools: [{name: p}]}]}}`,
			},
			`{platform: VSphere, vsphere: [{name: east}, {name: west}]}`,
			`{kind: VSphereMachineProviderSpec, template: "", numCPUs: 4, workspace: {}, network: {devices: [{addressesFromPools: [{name: p}]}]}}`, "",
		},
		{"VSphere: none", configv1.VSpherePlatformType, []string{`{kind: VSphereMachineProviderSpec}`}, "", "", "failed to build failure domains: no failure domains were generated"},
		{
			"Nutanix", configv1.NutanixPlatformType,
			[]string{`{kind: NutanixMachineProviderConfig, failureDomain: {name: fd1}, cluster: {type: uuid}, subnets: [{type: name}], vcpuSockets: 2}`},
			`{platform: Nutanix, nutanix: [{name: fd1}]}`, `{kind: NutanixMachineProviderConfig, cluster: {}, subnets: [], vcpuSockets: 2}`, "",
		},
		{"Nutanix: none", configv1.NutanixPlatformType, []string{`{kind: NutanixMachineProviderConfig, cluster: {type: uuid}}`}, `{platform: ""}`, `{kind: NutanixMachineProviderConfig, cluster: {type: uuid}}`, ""},
		{"another platform", configv1.PowerVSPlatformType, []string{`{kind: x}`}, "", "", "unsupported platform type: PowerVS"},
		{"a spec of another platform", configv1.AWSPlatformType, []string{`{kind: GCPMachineProviderSpec}`}, "", "", "machine m-0: the kind of its provider spec is not AWSMachineProviderConfig"},
	} {
		got, err := Generate(c.platform, machines(t, c.machines...), parsed[configv1.Infrastructure](t, infrastructure))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %s", c.about, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.about, err)
			continue
		}
		template := got.Template.OpenShiftMachineV1Beta1Machine
		if text := asJSON(t, template.FailureDomains); !jsonEqual(t, text, asJSON(t, wantedDomains(t, c.domains))) {
			t.Errorf("%s: failure domains %s, want %s", c.about, text, c.domains)
		}
		if raw := template.Spec.ProviderSpec.Value.Raw; !jsonEqual(t, string(raw), string(spec(t, c.spec).Value.Raw)) {
			t.Errorf("%s: spec %s, want %s", c.about, raw, c.spec)
		}
		if *got.Replicas != 3 || got.State != machinev1.ControlPlaneMachineSetStateInactive || got.Selector.MatchLabels[machinev1beta1.MachineClusterIDLabel] != "c1" || template.ObjectMeta.Labels[RoleLabel] != Master {
			t.Errorf("%s: %+v", c.about, got)
		}
	}
}

func wantedDomains(t *testing.T, text string) *machinev1.FailureDomains {
	t.Helper()
	if text == "" {
		return nil
	}
	return parsed[machinev1.FailureDomains](t, text)
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := yaml.Marshal(v)
	if err == nil {
		raw, err = yaml.YAMLToJSON(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
