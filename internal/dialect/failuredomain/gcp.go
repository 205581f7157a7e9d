package failuredomain

import (
	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"
)

type gcp struct{}

func (gcp) kind() string { return "GCPMachineProviderSpec" }

func (gcp) text(d Domain) string { return fields("GCPFailureDomain", "Zone:", d.Zone) }

func (gcp) list(fds machinev1.FailureDomains) (all []Domain, configured bool) {
	for _, fd := range ptr.Deref(fds.GCP, nil) {
		all = append(all, Domain{Zone: fd.Zone})
	}
	return all, fds.GCP != nil
}

func (gcp) read(raw []byte, _ *configv1.Infrastructure) (Domain, error) {
	s, err := decode[machinev1beta1.GCPMachineProviderSpec](raw)
	return Domain{Zone: s.Zone}, err
}

func (gcp) write(spec object, d Domain, _ *configv1.Infrastructure) error {
	if d.Zone == "" {
		return nil
	}
	return spec.set(d.Zone, "zone")
}

func (gcp) compared(raw []byte) (any, error) {
	return relevant(raw, func(s *machinev1beta1.GCPMachineProviderSpec) {
		for _, disk := range s.Disks {
			if disk != nil {
				disk.Image = ""
			}
		}
	})
}

func (gcp) generate(all []Domain) (*machinev1.FailureDomains, error) {
	list := []machinev1.GCPFailureDomain{}
	for _, d := range all {
		list = append(list, machinev1.GCPFailureDomain{Zone: d.Zone})
	}
	return &machinev1.FailureDomains{Platform: configv1.GCPPlatformType, GCP: &list}, nil
}

func (gcp) clear(spec object, _ []Domain, _ *configv1.Infrastructure) error {
	spec.remove("zone")
	return nil
}
