package cloud

import (
	"fmt"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/yandex/spec"
)

// plan is the request of a spec, as far as the spec alone determines it. It is shared: do not change it.
type plan struct {
	*spec.ProviderSpec
	// owner are the labels that name the owner of instances.
	owner map[string]string
}

// decode decodes a spec. machine.openshift.io has none for Yandex Cloud.
func decode(api string, raw []byte) (*plan, error) {
	if api != provider.Gardener {
		return nil, provider.Errorf(provider.Invalid, "%s has no specs for Yandex Cloud", provider.Clip(api, 100))
	}
	s, err := spec.DecodeProviderSpec(raw)
	if err != nil {
		return nil, err
	}
	return &plan{ProviderSpec: s, owner: s.OwnershipLabels()}, nil
}

// request is the request for one instance, without its name, labels, user data and public addresses. Like
// the original's, it has empty values, for which Compute Cloud has defaults.
func (p *plan) request() *compute.CreateInstanceRequest {
	in := &compute.CreateInstanceRequest{
		ZoneId: p.ZoneID, PlatformId: p.PlatformID, Metadata: map[string]string{},
		ResourcesSpec: &compute.ResourcesSpec{
			Cores: p.ResourcesSpec.Cores, CoreFraction: p.ResourcesSpec.CoreFraction, Memory: p.ResourcesSpec.Memory, Gpus: p.ResourcesSpec.GPUs,
		},
		BootDiskSpec: &compute.AttachedDiskSpec{
			Mode: compute.AttachedDiskSpec_READ_WRITE, AutoDelete: p.BootDiskSpec.AutoDelete,
			Disk: &compute.AttachedDiskSpec_DiskSpec_{DiskSpec: &compute.AttachedDiskSpec_DiskSpec{
				TypeId: p.BootDiskSpec.TypeID, Size: p.BootDiskSpec.Size,
				Source: &compute.AttachedDiskSpec_DiskSpec_ImageId{ImageId: p.BootDiskSpec.ImageID},
			}},
		},
		SchedulingPolicy: &compute.SchedulingPolicy{Preemptible: p.SchedulingPolicy.Preemptible},
	}
	if p.NetworkType == spec.SoftwareAccelerated {
		in.NetworkSettings = &compute.NetworkSettings{Type: compute.NetworkSettings_SOFTWARE_ACCELERATED}
	}
	for _, n := range p.NetworkInterfaceSpecs {
		address := &compute.PrimaryAddressSpec{}
		if n.AssignPublicIPAddress {
			address.OneToOneNatSpec = &compute.OneToOneNatSpec{IpVersion: compute.IpVersion_IPV4}
		}
		in.NetworkInterfaceSpecs = append(in.NetworkInterfaceSpecs, &compute.NetworkInterfaceSpec{SubnetId: n.SubnetID, PrimaryV4AddressSpec: address})
	}
	return in
}

// typeName describes the size of an instance: Compute Cloud has platforms, but no types with a name.
func typeName(platform string, cores, fraction, memory, gpus int64) string {
	name := fmt.Sprintf("%s-%dvcpu-%dmib", platform, cores, memory>>20)
	if fraction != 0 && fraction != wholeCore {
		name += fmt.Sprintf("-%dpct", fraction)
	}
	if gpus > 0 {
		name += fmt.Sprintf("-%dgpu", gpus)
	}
	return name
}

// wholeCore is the default of a vCPU's guaranteed share in percent.
const wholeCore = 100

func (p *plan) typeName() string {
	r := p.ResourcesSpec
	return typeName(p.PlatformID, r.Cores, r.CoreFraction, r.Memory, r.GPUs)
}

// choice is the one variant of an instance of the spec. Preemptible instances are another stock.
func (p *plan) choice() provider.Choice {
	sold := p.typeName()
	if p.SchedulingPolicy.Preemptible {
		sold += " (preemptible)"
	}
	return provider.Choice{Name: sold + " in " + p.ZoneID, Region: p.Region(), Zone: p.ZoneID, Type: sold}
}

// accepts returns an error for a choice that the spec does not have.
func (p *plan) accepts(choice string) error {
	if choice == "" || choice == p.choice().Name {
		return nil
	}
	return provider.Errorf(provider.Invalid, "the spec has no choice %q", provider.Clip(choice, 200))
}

// differences are the differences of an instance from the spec.
func (p *plan) differences(i provider.Instance) (out []string) {
	differs := func(field, has, says string) {
		if has != "" && has != says {
			out = append(out, fmt.Sprintf("%s: the instance has %q, the spec says %q", field, has, says))
		}
	}
	differs("resourcesSpec", i.Type, p.typeName())
	differs("zoneID", i.Zone, p.ZoneID)
	if i.Interruptible != p.SchedulingPolicy.Preemptible {
		differs("schedulingPolicy.preemptible", fmt.Sprint(i.Interruptible), fmt.Sprint(p.SchedulingPolicy.Preemptible))
	}
	return out
}
