package failuredomain

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// infrastructure has failure domains of VSphere and Nutanix.
const infrastructure = `
status: {infrastructureName: c1}
spec:
  platformSpec:
    type: VSphere
    vsphere:
      failureDomains:
      - {name: east, region: r, zone: e, server: v1, topology: {datacenter: dc1, computeCluster: /dc1/host/c, datastore: /dc1/ds, networks: [net1, net2], resourcePool: /dc1/host/c/Resources/p, template: /dc1/vm/rhcos, folder: /dc1/vm/f}}
      - {name: west, region: r, zone: w, server: v2, topology: {datacenter: dc2, computeCluster: /dc2/host/c, datastore: /dc2/ds, networks: [net3]}, zoneAffinity: {type: HostGroup, hostGroup: {vmGroup: g, hostGroup: h, vmHostRule: x}}}
    nutanix:
      failureDomains:
      - {name: fd1, cluster: {type: UUID, uuid: u1}, subnets: [{type: Name, name: s1}]}
      - {name: fd2, cluster: {type: Name, name: c2}, subnets: [{type: UUID, uuid: s2}]}
`

func parsed[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.Unmarshal([]byte(text), out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

func spec(t *testing.T, text string) machinev1beta1.ProviderSpec {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return machinev1beta1.ProviderSpec{Value: &runtime.RawExtension{Raw: raw}}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func config(t *testing.T, text string) Config {
	t.Helper()
	return must[Config](t)(Of(spec(t, text), parsed[configv1.Infrastructure](t, infrastructure)))
}

// TestInAnotherDomain: each platform writes its fields, keeps all others, those that no type has included, and reads back what it has written.
func TestInAnotherDomain(t *testing.T) {
	for _, c := range []struct{ about, spec, domains, want, text string }{
		{
			"AWS, by ID",
			`{kind: AWSMachineProviderConfig, instanceType: m5, later: {a: [1]}, placement: {region: r, group: g2, availabilityZone: a}, subnet: {filters: [{name: nn}]}}`,
			`{platform: AWS, aws: [{placement: {availabilityZone: b}, subnet: {type: ID, id: s-1}}]}`,
			`{kind: AWSMachineProviderConfig, instanceType: m5, later: {a: [1]}, placement: {region: r, group: g2, availabilityZone: b}, subnet: {id: s-1}}`,
			"AWSFailureDomain{AvailabilityZone:b, Subnet:{Type:ID, Value:s-1}}",
		},
		{
			"AWS, by filters", `{kind: AWSMachineProviderConfig}`,
			`{platform: AWS, aws: [{placement: {availabilityZone: b}, subnet: {type: Filters, filters: [{name: "tag:Name", values: [x]}]}}]}`,
			`{kind: AWSMachineProviderConfig, placement: {availabilityZone: b}, subnet: {filters: [{name: "tag:Name", values: [x]}]}}`,
			"AWSFailureDomain{AvailabilityZone:b, Subnet:{Type:Filters, Value:&[{Name:tag:Name Values:[x]}]}}",
		},
		{
			"AWS, the zone only", `{kind: AWSMachineProviderConfig, subnet: {arn: x}}`, `{platform: AWS, aws: [{placement: {availabilityZone: b}}]}`,
			`{kind: AWSMachineProviderConfig, subnet: {arn: x}, placement: {availabilityZone: b}}`,
			"AWSFailureDomain{AvailabilityZone:b, Subnet:{Type:ARN, Value:x}}",
		},
		{
			"Azure", `{kind: AzureMachineProviderSpec, subnet: s, vmSize: v, later: 1}`, `{platform: Azure, azure: [{zone: "2"}]}`,
			`{kind: AzureMachineProviderSpec, subnet: s, vmSize: v, later: 1, zone: "2"}`, "AzureFailureDomain{Zone:2, Subnet:s}",
		},
		{
			"GCP", `{kind: GCPMachineProviderSpec, zone: a, later: 1}`, `{platform: GCP, gcp: [{zone: b}]}`, `{kind: GCPMachineProviderSpec, zone: b, later: 1}`, "GCPFailureDomain{Zone:b}",
		},
		{
			"another spelling of a name", `{kind: GCPMachineProviderSpec, Zone: a}`, `{platform: GCP, gcp: [{zone: b}]}`, `{kind: GCPMachineProviderSpec, Zone: b}`, "GCPFailureDomain{Zone:b}",
		},
		{
			"OpenStack", `{kind: OpenstackProviderSpec, rootVolume: {diskSize: 10, later: 1}}`,
			`{platform: OpenStack, openstack: [{availabilityZone: nn, rootVolume: {availabilityZone: v, volumeType: fast}}]}`,
			`{kind: OpenstackProviderSpec, availabilityZone: nn, rootVolume: {diskSize: 10, later: 1, availabilityZone: v, volumeType: fast}}`,
			"OpenStackFailureDomain{AvailabilityZone:nn, RootVolume:{AvailabilityZone:v, VolumeType:fast}}",
		},
		{
			"OpenStack, without a root volume", `{kind: OpenstackProviderSpec}`,
			`{platform: OpenStack, openstack: [{availabilityZone: nn, rootVolume: {availabilityZone: v, volumeType: fast}}]}`,
			`{kind: OpenstackProviderSpec, availabilityZone: nn}`, "OpenStackFailureDomain{AvailabilityZone:nn}",
		},
		{
			"VSphere", `{kind: VSphereMachineProviderSpec, numCPUs: 4, later: 1, workspace: {server: old, later: 1}, network: {later: 1, devices: [{networkName: old}]}}`,
			`{platform: VSphere, vsphere: [{name: east}]}`,
			`{kind: VSphereMachineProviderSpec, numCPUs: 4, later: 1, template: rhcos, workspace: {server: v1, datacenter: dc1, datastore: /dc1/ds, folder: /dc1/vm/f, resourcePool: /dc1/host/c/Resources/p}, network: {later: 1, devices: [{networkName: net1}, {networkName: net2}]}}`,
			"VSphereFailureDomain{Name:east}",
		},
		{
			"VSphere, defaults, and addresses from pools (OCPBUGS-29114)", `{kind: VSphereMachineProviderSpec, network: {devices: [{addressesFromPools: [{group: g, resource: r, name: nn}], nameservers: [1.1.1.1], later: 1}]}}`,
			`{platform: VSphere, vsphere: [{name: west}]}`,
			`{kind: VSphereMachineProviderSpec, template: c1-rhcos-r-w, workspace: {server: v2, datacenter: dc2, datastore: /dc2/ds, folder: /dc2/vm/c1, resourcePool: /dc2/host/c/Resources, vmGroup: g}, network: {devices: [{addressesFromPools: [{group: g, resource: r, name: nn}], nameservers: [1.1.1.1], later: 1, networkName: net3}]}}`,
			"VSphereFailureDomain{Name:west}",
		},
		{
			"Nutanix", `{kind: NutanixMachineProviderConfig, cluster: {type: name, name: old}, vcpuSockets: 2, later: 1}`, `{platform: Nutanix, nutanix: [{name: fd1}]}`,
			`{kind: NutanixMachineProviderConfig, cluster: {type: uuid, uuid: u1}, subnets: [{type: name, name: s1}], failureDomain: {name: fd1}, vcpuSockets: 2, later: 1}`,
			"NutanixFailureDomainReference{Name:fd1}",
		},
	} {
		was := config(t, c.spec)
		domains := must[[]Domain](t)(List(parsed[machinev1.FailureDomains](t, c.domains)))
		now := must[Config](t)(was.In(domains[0]))
		want := config(t, c.want)
		if got, want := string(now.Raw()), string(must[[]byte](t)(edited(want.raw, func(object) error { return nil }))); !jsonEqual(t, got, want) {
			t.Errorf("%s:\n got %s\nwant %s", c.about, got, want)
		}
		read := must[Domain](t)(now.Domain())
		base := must[Domain](t)(was.Domain())
		if read.String() != c.text {
			t.Errorf("%s: reads %s, want %s", c.about, read, c.text)
		}
		if got := domains[0].Completed(base).String(); got != c.text && !strings.Contains(c.about, "without a root volume") {
			t.Errorf("%s: completed to %s, want %s", c.about, got, c.text)
		}
		if diff := must[[]string](t)(now.Diff(now)); len(diff) > 0 {
			t.Errorf("%s: differs from itself: %v", c.about, diff)
		}
	}
}

func jsonEqual(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	for text, into := range map[string]*any{a: &x, b: &y} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if a == b {
		return true
	}
	return reflect.DeepEqual(x, y)
}

func TestDiff(t *testing.T) {
	for _, c := range []struct{ about, a, b, want string }{
		{"AWS: another type", `{kind: AWSMachineProviderConfig, instanceType: m6}`, `{kind: AWSMachineProviderConfig, instanceType: m5}`, "instanceType: m6 != m5"},
		{"AWS: the image does not count", `{kind: AWSMachineProviderConfig, ami: {id: a}}`, `{kind: AWSMachineProviderConfig, ami: {id: b}}`, ""},
		{"Azure: nor here", `{kind: AzureMachineProviderSpec, image: {sku: a}}`, `{kind: AzureMachineProviderSpec, image: {sku: b}}`, ""},
		{"GCP: nor here", `{kind: GCPMachineProviderSpec, disks: [{image: a, sizeGb: 1}]}`, `{kind: GCPMachineProviderSpec, disks: [{image: b, sizeGb: 1}]}`, ""},
		{"GCP: but the size does", `{kind: GCPMachineProviderSpec, disks: [{image: a, sizeGb: 2}]}`, `{kind: GCPMachineProviderSpec, disks: [{image: b, sizeGb: 1}]}`, "disks[0].sizeGb: 2 != 1"},
		{"OpenStack: the image counts", `{kind: OpenstackProviderSpec, image: a}`, `{kind: OpenstackProviderSpec, image: b}`, "image: a != b"},
		{"VSphere: the folder of the template does not count", `{kind: VSphereMachineProviderSpec, template: /dc/vm/x}`, `{kind: VSphereMachineProviderSpec, template: x}`, ""},
		{"VSphere: the template does", `{kind: VSphereMachineProviderSpec, template: /dc/vm/x}`, `{kind: VSphereMachineProviderSpec, template: yy}`, "template: x != yy"},
		{"VSphere: of devices only the network counts", `{kind: VSphereMachineProviderSpec, network: {devices: [{networkName: nn, gateway: a}]}}`, `{kind: VSphereMachineProviderSpec, network: {devices: [{networkName: nn, ipAddrs: [b]}]}}`, ""},
		{"VSphere: and address pools", `{kind: VSphereMachineProviderSpec, network: {devices: [{addressesFromPools: [{name: a}]}]}}`, `{kind: VSphereMachineProviderSpec, network: {devices: [{addressesFromPools: [{name: b}]}]}}`, "network.devices[0].addressesFromPools[0].name: a != b"},
		{"K15: an empty list is an absent one", `{kind: AWSMachineProviderConfig, tags: [], metadata: {creationTimestamp: null}}`, `{kind: AWSMachineProviderConfig, placement: {}}`, ""},
		{"false is not absent", `{kind: AWSMachineProviderConfig, publicIp: false}`, `{kind: AWSMachineProviderConfig}`, "publicIp: false != <none>"},
		{"a field that no type has does not count", `{kind: AWSMachineProviderConfig, later: a}`, `{kind: AWSMachineProviderConfig, later: b}`, ""},
		{"another kind: every field counts", `{kind: KubemarkMachineProviderConfig, a: 1}`, `{kind: KubemarkMachineProviderConfig, a: 2}`, "a: 1 != 2"},
		{"another kind: the order does not", `{kind: KubemarkMachineProviderConfig, a: 1, b: {}}`, `{a: 1, kind: KubemarkMachineProviderConfig}`, ""},
	} {
		if got := strings.Join(must[[]string](t)(config(t, c.a).Diff(config(t, c.b))), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.about, got, c.want)
		}
	}
	if _, err := config(t, `{kind: GCPMachineProviderSpec}`).Diff(config(t, `{kind: AWSMachineProviderConfig}`)); err == nil {
		t.Error("specs of two platforms are compared")
	}
}

func TestDefaulted(t *testing.T) {
	c := config(t, `{kind: AWSMachineProviderConfig}`)
	filled := c.Defaulted(func([]byte) ([]byte, error) {
		return []byte(`{"kind": "AWSMachineProviderConfig", "instanceType": "m5"}`), nil
	})
	if diff := must[[]string](t)(filled.Diff(c)); len(diff) != 1 {
		t.Errorf("differences %v", diff)
	}
	if same := c.Defaulted(func([]byte) ([]byte, error) { return nil, ErrMissing }); string(same.Raw()) != string(c.Raw()) {
		t.Errorf("a rejected spec became %s", same.Raw())
	}
}

// TestUnusable: what cannot be decoded, or names what does not exist, is an error, and never another failure domain.
func TestUnusable(t *testing.T) {
	for about, c := range map[string]struct{ fds, spec, want string }{
		"no list":                {`{platform: AWS}`, `{kind: AWSMachineProviderConfig}`, "missing failure domain configuration"},
		"an empty list":          {`{platform: VSphere, vsphere: []}`, `{kind: VSphereMachineProviderSpec}`, "missing failure domain configuration"},
		"another platform":       {`{platform: PowerVS}`, `{kind: x}`, "unsupported platform type: PowerVS"},
		"None":                   {`{platform: None}`, `{kind: x}`, "unsupported platform type: None"},
		"an unknown zone":        {`{platform: VSphere, vsphere: [{name: north}]}`, `{kind: VSphereMachineProviderSpec}`, "failed to inject failure domain: unknown failure domain: failure domain is not defined in the infrastructure resource"},
		"an unknown name":        {`{platform: Nutanix, nutanix: [{name: fd9}]}`, `{kind: NutanixMachineProviderConfig}`, `failed to inject failure domain: unknown failure domain: the failure domain with name "fd9" is not defined in the infrastructure resource. invalid failure domain name`},
		"a spec that is no spec": {`{platform: AWS, aws: [{placement: {availabilityZone: a}}]}`, `{kind: AWSMachineProviderConfig, instanceType: 3}`, "failed to unmarshal provider config"},
	} {
		template := machinev1.OpenShiftMachineV1Beta1MachineTemplate{FailureDomains: parsed[machinev1.FailureDomains](t, c.fds)}
		template.Spec.ProviderSpec = spec(t, c.spec)
		config, err := OfTemplate(template, parsed[configv1.Infrastructure](t, infrastructure))
		if err == nil {
			var all []Domain
			if all, err = List(template.FailureDomains); err == nil {
				_, err = config.In(all[0])
			}
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", about, err, c.want)
		}
	}
	if _, err := Of(machinev1beta1.ProviderSpec{}, nil); err == nil {
		t.Error("a machine without a spec has a failure domain")
	}
	// K21: without an Infrastructure, or a workspace, there is no failure domain, and no panic.
	for _, text := range []string{`{kind: VSphereMachineProviderSpec}`, `{kind: VSphereMachineProviderSpec, workspace: {server: v1}}`, `{kind: NutanixMachineProviderConfig, failureDomain: {name: fd1}}`} {
		c := must[Config](t)(Of(spec(t, text), nil))
		if d := must[Domain](t)(c.Domain()); d.Name != "" || d.String() != unknown {
			t.Errorf("%s is in %s", text, d)
		}
	}
}

// TestCompleted: K23. Failure domains that are equal only after they are completed have one text.
func TestCompleted(t *testing.T) {
	base := Domain{Platform: configv1.AzurePlatformType, Zone: "1", Subnet: "s"}
	a, b := Domain{Platform: configv1.AzurePlatformType, Zone: "2"}, Domain{Platform: configv1.AzurePlatformType, Zone: "2", Subnet: "s"}
	if a.Completed(base).String() != b.Completed(base).String() || a.String() == b.String() {
		t.Errorf("%s, %s", a.Completed(base), b.Completed(base))
	}
	volume := Domain{Platform: configv1.OpenStackPlatformType, Volume: &machinev1.RootVolume{AvailabilityZone: "v"}}
	if got := volume.Completed(Domain{Volume: &machinev1.RootVolume{AvailabilityZone: "w", VolumeType: "fast"}}).String(); got != "OpenStackFailureDomain{RootVolume:{AvailabilityZone:v, VolumeType:fast}}" {
		t.Error(got)
	}
}

// TestElsewhere: a machine on VSphere is in a failure domain only if everything that names its place is equal.
func TestElsewhere(t *testing.T) {
	const west = "server: v2, datacenter: dc2, datastore: /dc2/ds, vmGroup: g, resourcePool: /dc2/host/c/Resources/"
	for about, c := range map[string][2]string{
		"there": {west, "west"}, "another server": {strings.Replace(west, "v2", "v1", 1), ""}, "another datacenter": {strings.Replace(west, "dc2", "dc1", 1), ""},
		"another datastore": {strings.Replace(west, "/dc2/ds", "/dc2/x", 1), ""}, "another group": {strings.Replace(west, "g,", "h,", 1), ""}, "another pool": {west + "x", ""},
		"no pool":                     {strings.Replace(west, "resourcePool: /dc2/host/c/Resources/", "resourcePool: ''", 1), "west"},
		"no pool, where there is one": {"server: v1, datacenter: dc1, datastore: /dc1/ds", ""},
	} {
		if d := must[Domain](t)(config(t, "{kind: VSphereMachineProviderSpec, workspace: {"+c[0]+"}}").Domain()); d.Name != c[1] {
			t.Errorf("%s: %q, want %q", about, d.Name, c[1])
		}
	}
}

// TestTexts: failure domains without fields, or with a reference of another type, have one text.
func TestTexts(t *testing.T) {
	for _, d := range []Domain{{Platform: configv1.AWSPlatformType}, {Platform: configv1.AWSPlatformType, Zone: "a", Reference: &machinev1.AWSResourceReference{Type: "x"}}, {Platform: configv1.GCPPlatformType}, {Platform: configv1.OpenStackPlatformType, Volume: &machinev1.RootVolume{}}} {
		if d.String() != unknown {
			t.Errorf("%+v is %s", d, d)
		}
	}
	if text := (Domain{Platform: configv1.PowerVSPlatformType}).String(); text != "PowerVSFailureDomain{}" {
		t.Error(text)
	}
}

// TestPlatformOfATemplate: the failure domains name the platform, or the kind of the spec.
func TestPlatformOfATemplate(t *testing.T) {
	for about, c := range map[string]struct {
		fds  *machinev1.FailureDomains
		kind string
		want configv1.PlatformType
	}{
		"no failure domains": {nil, "GCPMachineProviderSpec", configv1.GCPPlatformType},
		"no platform":        {&machinev1.FailureDomains{}, "GCPMachineProviderSpec", configv1.GCPPlatformType},
		"a platform":         {&machinev1.FailureDomains{Platform: configv1.AWSPlatformType}, "x", configv1.AWSPlatformType},
		"an unknown kind":    {nil, "x", ""},
	} {
		template := machinev1.OpenShiftMachineV1Beta1MachineTemplate{FailureDomains: c.fds}
		template.Spec.ProviderSpec = spec(t, "{kind: "+c.kind+"}")
		if got := must[Config](t)(OfTemplate(template, nil)); got.Platform != c.want {
			t.Errorf("%s: %q, want %q", about, got.Platform, c.want)
		}
	}
}
