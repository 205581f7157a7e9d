package cloud

import (
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/ibmcloud/spec"
)

// plan is a spec with its tags in the form of IBM Cloud. It is shared: do not change it.
type plan struct {
	*spec.ProviderSpec
	tags []string
}

// decode decodes a spec. machine.sapcloud.io has none for IBM Cloud.
func decode(api string, raw []byte) (*plan, error) {
	if api != provider.OpenShift {
		return nil, provider.Errorf(provider.Invalid, "%s has no specs for IBM Cloud", provider.Clip(api, 100))
	}
	s, err := spec.Decode(raw)
	if err != nil {
		return nil, err
	}
	p := &plan{ProviderSpec: s}
	for _, t := range s.Tags {
		p.tags = append(p.tags, t.String())
	}
	slices.Sort(p.tags)
	p.tags = slices.Compact(p.tags)
	return p, nil
}

// networkGroup is the resource group of VPC and subnet.
func (p *plan) networkGroup() (name, field string) {
	if p.NetworkResourceGroup != "" {
		return p.NetworkResourceGroup, "networkResourceGroup"
	}
	return p.ResourceGroup, "resourceGroup"
}

// defaultVolume is the profile of a boot volume without another one, as in the original.
const defaultVolume = "general-purpose"

// volume is the boot volume of an instance.
func (p *plan) volume(name string) volumePrototype {
	v := volumePrototype{
		Name: name, Profile: reference{Name: defaultVolume}, Capacity: p.BootVolume.SizeGiB, IOPS: p.BootVolume.Iops, Bandwidth: p.BootVolume.Bandwidth,
	}
	if p.BootVolume.Profile != "" {
		v.Profile.Name = p.BootVolume.Profile
	}
	if p.BootVolume.EncryptionKey != "" {
		v.Key = &reference{CRN: p.BootVolume.EncryptionKey}
	}
	return v
}

// choice is the one variant of an instance of the spec. A dedicated host has its own capacity.
func (p *plan) choice() provider.Choice {
	sold := p.Profile
	if p.DedicatedHost != "" {
		sold += " on " + p.DedicatedHost
	}
	return provider.Choice{Name: sold + " in " + p.Zone, Region: p.Region, Zone: p.Zone, Type: sold}
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
	differs("profile", i.Type, p.Profile)
	differs("zone", i.Zone, p.Zone)
	return out
}
