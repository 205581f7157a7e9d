package controlplane

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/admission"
	"github.com/millwright-dev/millwright/provider/admit"
)

const infrastructure = `
status: {infrastructureName: c1}
spec:
  platformSpec:
    vsphere: {failureDomains: [{name: east, region: r, zone: e, server: v1, topology: {datacenter: dc1, computeCluster: /dc1/host/c, datastore: /dc1/ds, networks: [nn]}}]}
    nutanix: {failureDomains: [{name: fd1, cluster: {type: UUID, uuid: u1}, subnets: [{type: Name, name: s1}]}]}
`

func parsed[T any](t *testing.T, text string) T {
	t.Helper()
	var out T
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// set is a set whose template has the failure domains and the spec.
func set(t *testing.T, domains, spec string) *machinev1.ControlPlaneMachineSet {
	t.Helper()
	text := `
metadata: {name: cluster, namespace: ns}
spec:
  replicas: 3
  state: Active
  selector: {matchLabels: {a: b}}
  template:
    machineType: machines_v1beta1_machine_openshift_io
    machines_v1beta1_machine_openshift_io: {metadata: {labels: {a: b, machine.openshift.io/cluster-api-machine-role: master}}, spec: {providerSpec: {value: ` + spec + `}}`
	if domains != "" {
		text += ", failureDomains: " + domains
	}
	out := parsed[machinev1.ControlPlaneMachineSet](t, text+"}\n")
	return &out
}

// zones are machines on AWS, in zones.
func zones(all ...string) (out []machinev1beta1.Machine) {
	for _, zone := range all {
		m := machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m-" + zone}}
		m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"kind": "AWSMachineProviderConfig", "placement": {"availabilityZone": %q}}`, zone)}
		out = append(out, m)
	}
	return out
}

// strict refuses specs of the type "bad", and requires a machine of the control plane.
type strict struct{}

func (strict) Kinds() []schema.GroupVersionKind        { return nil }
func (strict) Default(a admit.Request) ([]byte, error) { return a.Spec, nil }
func (strict) Admit(a admit.Request) ([]string, field.ErrorList) {
	if strings.Contains(string(a.Spec), `"bad"`) {
		return nil, field.ErrorList{field.Invalid(a.Path.Child("instanceType"), "bad", fmt.Sprintf("is not for a control plane: %v", a.ControlPlane))}
	}
	return nil, nil
}

func facts(t *testing.T, machines ...machinev1beta1.Machine) Facts {
	in := parsed[configv1.Infrastructure](t, infrastructure)
	return Facts{Infrastructure: &in, Machines: machines, Rules: func(platform configv1.PlatformType) admission.Rules {
		if platform != configv1.AWSPlatformType {
			return admission.Rules{}
		}
		return admission.Rules{Admitter: strict{}}
	}}
}

const (
	abc    = `{platform: AWS, aws: [{placement: {availabilityZone: a}}, {placement: {availabilityZone: b}}, {placement: {availabilityZone: c}}]}`
	awsKey = `{kind: AWSMachineProviderConfig}`
	at     = "spec.template.machines_v1beta1_machine_openshift_io."
)

func TestCreate(t *testing.T) {
	for _, c := range []struct {
		about    string
		set      *machinev1.ControlPlaneMachineSet
		machines []machinev1beta1.Machine
		change   func(*machinev1.ControlPlaneMachineSet)
		want     string // the beginning of the fault
		warns    string
	}{
		{about: "valid", set: set(t, abc, awsKey), machines: zones("a", "b", "c")},
		{about: "another name", set: set(t, abc, awsKey), machines: zones("a", "b", "c"), change: func(s *machinev1.ControlPlaneMachineSet) { s.Name = "other" }, want: `metadata.name: Invalid value: "other": control plane machine set name must be cluster`},
		{about: "labels", set: set(t, abc, awsKey), machines: zones("a", "b", "c"), change: func(s *machinev1.ControlPlaneMachineSet) { s.Spec.Selector.MatchLabels = map[string]string{"a": "c"} }, want: at + `metadata.labels: Invalid value: {"a":"b","machine.openshift.io/cluster-api-machine-role":"master"}: selector does not match template labels`},
		{about: "another number of machines", set: set(t, abc, awsKey), machines: zones("a", "b"), want: "spec.replicas: Forbidden: control plane machine set replicas (3) does not match the current number of control plane machines (2)"},
		{about: "not active: the number does not matter", set: set(t, abc, awsKey), machines: zones("a", "b"), change: func(s *machinev1.ControlPlaneMachineSet) {
			s.Spec.State = machinev1.ControlPlaneMachineSetStateInactive
		}},
		{about: "a machine elsewhere", set: set(t, abc, awsKey), machines: zones("a", "b", "x"), want: at + "failureDomains: Forbidden: control plane machines are using unspecified failure domain(s) [AWSFailureDomain{AvailabilityZone:x}]"},
		{about: "two machines in one, and an unused one", set: set(t, abc, awsKey), machines: zones("a", "b", "b"), want: at + "failureDomains: Forbidden: no control plane machine is using specified failure domain(s) [AWSFailureDomain{AvailabilityZone:c}], failure domain(s) [AWSFailureDomain{AvailabilityZone:b}] are duplicated within the control plane machines, please correct failure domains to match control plane machines"},
		{about: "an unused one", set: set(t, `{platform: AWS, aws: [{placement: {availabilityZone: a}}, {placement: {availabilityZone: b}}, {placement: {availabilityZone: c}}, {placement: {availabilityZone: d}}]}`, awsKey), machines: zones("a", "b", "c")},
		{about: "no failure domains, as the machines", set: set(t, "", `{kind: AWSMachineProviderConfig, placement: {availabilityZone: a}}`), machines: zones("a", "a", "a")},
		{about: "no failure domains", set: set(t, "", `{kind: AWSMachineProviderConfig, placement: {availabilityZone: a}}`), machines: zones("a", "b", "a"), want: at + `spec.providerSpec: Invalid value: "AWSFailureDomain{AvailabilityZone:a}": Failure domain extracted from machine template providerSpec does not match failure domain of all control plane machines`},
		{about: "an invalid machine", set: set(t, abc, `{kind: AWSMachineProviderConfig, instanceType: bad}`), machines: zones("a", "b", "c"), want: `invalid machine spec: providerSpec.instanceType: Invalid value: "bad": is not for a control plane: true`},
		{about: "a spec that is no spec", set: set(t, abc, `{kind: AWSMachineProviderConfig, instanceType: 3}`), machines: zones("a", "b", "c"), want: at + "spec.providerSpec: Invalid value: error determining provider configuration: failed to unmarshal provider config"},
		{about: "Azure", set: set(t, "", `{kind: AzureMachineProviderSpec}`), want: at + "spec.providerSpec.value.internalLoadBalancer: Required value: internalLoadBalancer is required for control plane machines"},
		{about: "GCP", set: set(t, "", `{kind: GCPMachineProviderSpec}`), change: inactive, warns: at + "spec.providerSpec.value.targetPools: TargetPools field is not set on ControlPlaneMachineSet. This configuration is valid for private clusters. If your cluster is not private, please determine and set the correct value."},
		{about: "OpenStack", set: set(t, "", `{kind: OpenstackProviderSpec, additionalBlockDevices: [{name: etcd, sizeGiB: 9}, {name: x, sizeGiB: 1}]}`), want: at + "spec.providerSpec.value.additionalBlockDevices: Invalid value: 9: etcd block device size must be at least 10 GiB"},
		{about: "VSphere: template", set: set(t, "", `{kind: VSphereMachineProviderSpec, template: /a/b}`), want: at + `spec.providerSpec.value.template: Invalid value: "/a/b": template must be provided as the full path`, warns: at + "spec.providerSpec.value.template: template field is configured and may be ignored if configured in the failure domain."},
		{about: "VSphere: network", set: set(t, `{platform: VSphere, vsphere: [{name: east}]}`, `{kind: VSphereMachineProviderSpec, network: {devices: [{networkName: nn}]}}`), want: at + "spec.providerSpec.value.network: Internal error: network devices should not be set when control plane nodes are in a failure domain"},
		{about: "VSphere: workspace", set: set(t, `{platform: VSphere, vsphere: [{name: east}]}`, `{kind: VSphereMachineProviderSpec, workspace: {server: s, folder: f}}`), want: at + "spec.providerSpec.value.workspace: Internal error: workspace fields should not be set when control plane nodes are in a failure domain", warns: at + "spec.providerSpec.value.workspace.folder: folder field is configured and may be ignored if configured in the failure domain."},
		{about: "VSphere: unknown", set: set(t, `{platform: VSphere, vsphere: [{name: north}]}`, `{kind: VSphereMachineProviderSpec}`), want: at + "spec.providerSpec: Invalid value: error injecting failure domain into provider config: failed to inject failure domain: unknown failure domain"},
		{about: "Nutanix", set: set(t, `{platform: Nutanix, nutanix: [{name: fd9}]}`, `{kind: NutanixMachineProviderConfig}`), want: at + `spec.providerSpec.value.failureDomain.name: Invalid value: "fd9": error: the failure domain with name "fd9" is not defined in the infrastructure resource.`},
		{about: "another platform", set: set(t, `{platform: PowerVS}`, `{kind: x}`), want: at + "spec.providerSpec: Invalid value: error constructing failure domain config: unsupported platform type: PowerVS"},
		{about: "another kind of machine", set: set(t, abc, awsKey), change: func(s *machinev1.ControlPlaneMachineSet) { s.Spec.Template.MachineType = "x" }, want: `spec.template.machineType: Unsupported value: "x"`},
	} {
		if c.change != nil {
			c.change(c.set)
		}
		v := Validate(c.set, nil, facts(t, c.machines...))
		if c.want == "" && len(v.Faults) > 0 || c.want != "" && !slices.ContainsFunc(v.Faults, func(err error) bool { return strings.HasPrefix(err.Error(), c.want) }) {
			t.Errorf("%s:\n got %v\nwant %s", c.about, errors.Join(v.Faults...), c.want)
		}
		if c.warns != "" && !slices.Contains(v.Warnings, c.warns) || c.warns == "" && len(v.Warnings) > 0 {
			t.Errorf("%s: warnings %q, want %q", c.about, v.Warnings, c.warns)
		}
	}
}

func inactive(s *machinev1.ControlPlaneMachineSet) {
	s.Spec.State = machinev1.ControlPlaneMachineSetStateInactive
}

// TestUpdate: machines do not count, a fault that is not new is a warning, and a set under deletion can always lose its finalizer.
func TestUpdate(t *testing.T) {
	bad := set(t, abc, `{kind: AWSMachineProviderConfig, instanceType: bad}`)
	good := set(t, abc, awsKey)
	if v := Validate(bad, good, facts(t)); len(v.Faults) != 1 {
		t.Errorf("a new fault: %v", v)
	}
	if v := Validate(bad, bad.DeepCopy(), facts(t)); len(v.Faults) > 0 || len(v.Warnings) != 1 {
		t.Errorf("an old fault: %v", v)
	}
	if v := Validate(good, bad, facts(t)); len(v.Faults) > 0 {
		t.Errorf("no fault: %v", v)
	}
	now := metav1.Now()
	leaving, freed := bad.DeepCopy(), bad.DeepCopy()
	leaving.DeletionTimestamp, freed.DeletionTimestamp = &now, &now
	leaving.Finalizers = []string{"x"}
	if v := Validate(freed, leaving, Facts{}); len(v.Faults) > 0 || len(v.Warnings) > 0 {
		t.Errorf("the last finalizer: %v", v)
	}
	inactive(leaving)
	for _, s := range []*machinev1.ControlPlaneMachineSet{freed, func() *machinev1.ControlPlaneMachineSet {
		s := freed.DeepCopy()
		s.Finalizers = leaving.Finalizers
		return s
	}()} {
		if v := Validate(s, leaving, facts(t)); len(v.Faults) != 1 || v.Faults[0].Error() != "spec.state: Forbidden: control plane machine set with deletion timestamp cannot be activated" {
			t.Errorf("an activation under deletion: %v", v)
		}
	}
}
