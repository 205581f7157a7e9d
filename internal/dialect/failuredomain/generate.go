package failuredomain

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// The labels of machines of a control plane, and their value.
const (
	RoleLabel = "machine.openshift.io/cluster-api-machine-role"
	TypeLabel = "machine.openshift.io/cluster-api-machine-type"
	Master    = "master"
)

var errInconsistent = errors.New("provider specs are inconsistent")

// Supported reports whether sets are generated for a platform.
func Supported(name configv1.PlatformType) bool { return platforms[name] != nil }

// Generate returns the spec of an inactive set that describes existing machines of a control plane, at least one. It has the provider spec of
// the newest machine. Section 8 has the rules.
func Generate(name configv1.PlatformType, machines []machinev1beta1.Machine, in *configv1.Infrastructure) (machinev1.ControlPlaneMachineSetSpec, error) {
	var none machinev1.ControlPlaneMachineSetSpec
	p, known := platforms[name]
	if !known {
		return none, fmt.Errorf("%w: %s", ErrUnsupported, name)
	}
	machines = slices.SortedFunc(slices.Values(machines), func(a, b machinev1beta1.Machine) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(b.Name, a.Name))
	})
	domains := map[string]Domain{}
	var newest Config
	for i, m := range machines {
		c, err := Of(m.Spec.ProviderSpec, in)
		if err == nil && c.Platform != name {
			err = fmt.Errorf("the kind of its provider spec is not %s", p.kind())
		}
		if err != nil {
			return none, fmt.Errorf("machine %s: %w", m.Name, err)
		}
		if i == 0 {
			newest = c
		}
		d, err := c.Domain()
		if err != nil {
			return none, fmt.Errorf("machine %s: %w", m.Name, err)
		}
		domains[d.String()] = d
	}
	if name == configv1.OpenStackPlatformType {
		if err := sameServerGroup(machines); err != nil {
			return none, err
		}
	}
	return generated(p, newest, domains, machines[0].Labels[machinev1beta1.MachineClusterIDLabel], in)
}

func generated(p platform, newest Config, domains map[string]Domain, cluster string, in *configv1.Infrastructure) (machinev1.ControlPlaneMachineSetSpec, error) {
	var sorted []Domain
	for _, text := range slices.Sorted(maps.Keys(domains)) {
		sorted = append(sorted, domains[text])
	}
	fds, err := p.generate(sorted)
	if err != nil {
		return machinev1.ControlPlaneMachineSetSpec{}, fmt.Errorf("failed to build failure domains: %w", err)
	}
	raw := newest.raw
	if fds != nil && fds.Platform != "" {
		if raw, err = edited(raw, func(o object) error { return p.clear(o, sorted, in) }); err != nil {
			return machinev1.ControlPlaneMachineSetSpec{}, err
		}
	}
	labels := map[string]string{machinev1beta1.MachineClusterIDLabel: cluster, RoleLabel: Master, TypeLabel: Master}
	return machinev1.ControlPlaneMachineSetSpec{
		State: machinev1.ControlPlaneMachineSetStateInactive, Replicas: ptr.To(int32(3)),
		Strategy: machinev1.ControlPlaneMachineSetStrategy{Type: machinev1.RollingUpdate},
		Selector: metav1.LabelSelector{MatchLabels: labels},
		Template: machinev1.ControlPlaneMachineSetTemplate{
			MachineType: machinev1.OpenShiftMachineV1Beta1MachineType,
			OpenShiftMachineV1Beta1Machine: &machinev1.OpenShiftMachineV1Beta1MachineTemplate{
				FailureDomains: fds,
				ObjectMeta:     machinev1.ControlPlaneMachineSetTemplateObjectMeta{Labels: labels},
				Spec:           machinev1beta1.MachineSpec{ProviderSpec: machinev1beta1.ProviderSpec{Value: &runtime.RawExtension{Raw: raw}}},
			},
		},
	}, nil
}

// sameServerGroup returns an error unless all machines on OpenStack have the server group of the newest one.
func sameServerGroup(machines []machinev1beta1.Machine) error {
	newest := ""
	for i, m := range machines {
		s, err := decode[machinev1alpha1.OpenstackProviderSpec](m.Spec.ProviderSpec.Value.Raw)
		if err != nil {
			return fmt.Errorf("machine %s: %w", m.Name, err)
		}
		if i == 0 {
			newest = s.ServerGroupName
		}
		if s.ServerGroupName != newest {
			return fmt.Errorf("%w: machine %s has the server group %q, the newest machine has %q", errInconsistent, m.Name, s.ServerGroupName, newest)
		}
	}
	return nil
}
