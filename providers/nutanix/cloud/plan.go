package cloud

import (
	"fmt"

	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/nutanix/spec"
)

// plan is a spec. It is shared: do not change it.
type plan struct{ *spec.Config }

// decode decodes a spec. machine.sapcloud.io has none for Nutanix.
func decode(api string, raw []byte) (*plan, error) {
	if api != provider.OpenShift {
		return nil, provider.Errorf(provider.Invalid, "%s has no specs for Nutanix", provider.Clip(api, 100))
	}
	s, err := spec.DecodeConfig(raw)
	if err != nil {
		return nil, err
	}
	return &plan{Config: s}, nil
}

// sizeFormat has sockets, vCPUs of a socket, and MiB.
const sizeFormat = "%dx%dvcpu-%dmib"

// sizeName describes the size of a virtual machine: Nutanix has no types with a name.
func sizeName(sockets, perSocket, memoryMiB int64) string {
	return fmt.Sprintf(sizeFormat, sockets, perSocket, memoryMiB)
}

func (p *plan) sizeName() string {
	return sizeName(int64(p.VCPUSockets), int64(p.VCPUsPerSocket), spec.MiB(p.MemorySize))
}

// choice is the one variant of a virtual machine of the spec.
func (s *session) choice() provider.Choice {
	sold := s.plan.sizeName()
	for _, g := range s.plan.GPUs {
		sold += " gpu " + gpuName(g)
	}
	at := nameOf(s.place.cluster)
	return provider.Choice{Name: sold + " in " + at, Zone: at, Type: sold}
}

func gpuName(g machinev1.NutanixGPU) string {
	if g.Type == machinev1.NutanixGPUIdentifierDeviceID {
		return fmt.Sprint(deref(g.DeviceID))
	}
	return deref(g.Name)
}

// accepts returns an error for a choice that the spec does not have.
func (s *session) accepts(choice string) error {
	if choice == "" || choice == s.choice().Name {
		return nil
	}
	return provider.Errorf(provider.Invalid, "the spec has no choice %q", provider.Clip(choice, 200))
}

// Differences implements [provider.Session]. Of a cluster that the spec names by UUID, instances do not show
// whether it is theirs.
func (s *session) Differences(_ provider.Ref, i provider.Instance) (out []string) {
	if s.plan == nil {
		return nil
	}
	differs := func(field string, has, says any) {
		if has != says {
			out = append(out, fmt.Sprintf("%s: the virtual machine has %v, the spec says %v", field, has, says))
		}
	}
	var sockets, perSocket, memory int64
	if _, err := fmt.Sscanf(i.Tags[sizeTag], sizeFormat, &sockets, &perSocket, &memory); err == nil {
		differs("vcpuSockets", sockets, int64(s.plan.VCPUSockets))
		differs("vcpusPerSocket", perSocket, int64(s.plan.VCPUsPerSocket))
		differs("memorySize", fmt.Sprintf("%dMi", memory), fmt.Sprintf("%dMi", spec.MiB(s.plan.MemorySize)))
	}
	if s.placeErr == nil && s.place.cluster.Type == machinev1.NutanixIdentifierName && i.Zone != "" {
		differs("cluster.name", i.Zone, deref(s.place.cluster.Name))
	}
	return out
}
