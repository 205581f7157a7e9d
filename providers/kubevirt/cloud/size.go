package cloud

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/provider"
)

var _ provider.Sizer = &session{}

// Size implements [provider.Sizer] from the spec, without a call.
func (s *session) Size(context.Context) (provider.Size, error) {
	if s.bare {
		return provider.Size{}, provider.Errorf(provider.Invalid, "the class has no spec")
	}
	size := provider.Size{VCPU: s.plan.VCPUs(), MemoryMiB: s.plan.MemoryMiB(), Labels: map[string]string{}}
	if root := s.plan.RootVolume.Size(); root != nil {
		size.EphemeralStorageMiB = root.Value() >> 20
	}
	for key, value := range map[string]string{corev1.LabelTopologyZone: s.plan.Zone, corev1.LabelTopologyRegion: s.plan.Region} {
		if value != "" && len(validation.IsValidLabelValue(value)) == 0 {
			size.Labels[key] = value
		}
	}
	return size, nil
}

// choice is the name of the only choice.
func (p plan) choice() string { return typeName(p.Machine) + " in " + cmp.Or(p.Zone, "any zone") }

// Differences implements [provider.Session] for the properties that a virtual machine shows.
func (s *session) Differences(_ provider.Ref, i provider.Instance) (out []string) {
	if s.bare {
		return nil
	}
	add := func(field, is, want string) {
		if is != "" && want != "" && is != want {
			out = append(out, fmt.Sprintf("%s: the virtual machine has %q, the spec says %q", field, is, want))
		}
	}
	add("resources", i.Type, typeName(s.plan.Machine))
	add("region", i.Region, s.plan.Region)
	add("zone", i.Zone, s.plan.Zone)
	return out
}
