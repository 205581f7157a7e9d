package failuredomain

import (
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"
)

type azure struct{}

func (azure) kind() string { return "AzureMachineProviderSpec" }

func (azure) text(d Domain) string {
	return fields("AzureFailureDomain", "Zone:", d.Zone, "Subnet:", d.Subnet)
}

// fields is the text of a failure domain: pairs of a name and a value, of which empty values are omitted.
func fields(name string, pairs ...string) string {
	var out []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, pairs[i]+pairs[i+1])
		}
	}
	if len(out) == 0 {
		return unknown
	}
	return name + "{" + strings.Join(out, ", ") + "}"
}

func (azure) list(fds machinev1.FailureDomains) (all []Domain, configured bool) {
	for _, fd := range ptr.Deref(fds.Azure, nil) {
		all = append(all, Domain{Zone: fd.Zone, Subnet: fd.Subnet})
	}
	return all, fds.Azure != nil
}

func (azure) read(raw []byte, _ *configv1.Infrastructure) (Domain, error) {
	s, err := decode[machinev1beta1.AzureMachineProviderSpec](raw)
	return Domain{Zone: s.Zone, Subnet: s.Subnet}, err
}

func (azure) write(spec object, d Domain, _ *configv1.Infrastructure) error {
	for name, value := range map[string]string{"zone": d.Zone, "subnet": d.Subnet} {
		if value == "" {
			continue
		}
		if err := spec.set(value, name); err != nil {
			return err
		}
	}
	return nil
}

func (azure) compared(raw []byte) (any, error) {
	return relevant(raw, func(s *machinev1beta1.AzureMachineProviderSpec) { s.Image = machinev1beta1.Image{} })
}

// generate omits a field that is equal in all failure domains: it stays in the spec.
func (azure) generate(all []Domain) (*machinev1.FailureDomains, error) {
	if len(all) < 2 {
		return &machinev1.FailureDomains{}, nil
	}
	zones, subnets := differ(all)
	list := []machinev1.AzureFailureDomain{}
	for _, d := range all {
		fd := machinev1.AzureFailureDomain{}
		if zones {
			fd.Zone = d.Zone
		}
		if subnets {
			fd.Subnet = d.Subnet
		}
		list = append(list, fd)
	}
	return &machinev1.FailureDomains{Platform: configv1.AzurePlatformType, Azure: &list}, nil
}

func (azure) clear(spec object, all []Domain, _ *configv1.Infrastructure) error {
	zones, subnets := differ(all)
	if zones {
		spec.remove("zone")
	}
	if subnets {
		spec.remove("subnet")
	}
	return nil
}

// differ reports which fields differ between failure domains.
func differ(all []Domain) (zones, subnets bool) {
	return slices.ContainsFunc(all, func(d Domain) bool { return d.Zone != all[0].Zone }),
		slices.ContainsFunc(all, func(d Domain) bool { return d.Subnet != all[0].Subnet })
}
