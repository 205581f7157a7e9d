package failuredomain

import (
	"errors"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
)

type openStack struct{}

func (openStack) kind() string { return "OpenstackProviderSpec" }

func (openStack) text(d Domain) string {
	volume := ""
	if d.Volume != nil {
		volume = fields("", "AvailabilityZone:", d.Volume.AvailabilityZone, "VolumeType:", d.Volume.VolumeType)
	}
	if volume == unknown {
		volume = ""
	}
	return fields("OpenStackFailureDomain", "AvailabilityZone:", d.Zone, "RootVolume:", volume)
}

func (openStack) list(fds machinev1.FailureDomains) (all []Domain, configured bool) {
	for _, fd := range fds.OpenStack {
		all = append(all, Domain{Zone: fd.AvailabilityZone, Volume: fd.RootVolume})
	}
	return all, len(all) > 0
}

func (openStack) read(raw []byte, _ *configv1.Infrastructure) (Domain, error) {
	s, err := decode[machinev1alpha1.OpenstackProviderSpec](raw)
	d := Domain{Zone: s.AvailabilityZone}
	if v := s.RootVolume; v != nil && (v.Zone != "" || v.VolumeType != "") {
		d.Volume = &machinev1.RootVolume{AvailabilityZone: v.Zone, VolumeType: v.VolumeType}
	}
	return d, err
}

// write changes the root volume only if the spec has one.
func (openStack) write(spec object, d Domain, _ *configv1.Infrastructure) error {
	var errs []error
	set := func(value string, path ...string) {
		if value != "" {
			errs = append(errs, spec.set(value, path...))
		}
	}
	set(d.Zone, "availabilityZone")
	if raw, has := spec[spec.key(rootVolume)]; has && string(raw) != "null" && d.Volume != nil {
		set(d.Volume.AvailabilityZone, rootVolume, "availabilityZone")
		set(d.Volume.VolumeType, rootVolume, "volumeType")
	}
	return errors.Join(errs...)
}

const rootVolume = "rootVolume"

func (openStack) compared(raw []byte) (any, error) {
	return relevant(raw, func(*machinev1alpha1.OpenstackProviderSpec) {})
}

var errMixed = errors.New("an empty failure domain was found and other failure domains are not empty")

func (openStack) generate(all []Domain) (*machinev1.FailureDomains, error) {
	if slices.ContainsFunc(all, func(d Domain) bool { return d.Zone == "" && d.Volume == nil }) {
		if len(all) > 1 {
			return nil, errMixed
		}
		return nil, nil
	}
	list := []machinev1.OpenStackFailureDomain{}
	for _, d := range all {
		list = append(list, machinev1.OpenStackFailureDomain{AvailabilityZone: d.Zone, RootVolume: d.Volume})
	}
	return &machinev1.FailureDomains{Platform: configv1.OpenStackPlatformType, OpenStack: list}, nil
}

func (openStack) clear(spec object, _ []Domain, _ *configv1.Infrastructure) error {
	spec.remove("availabilityZone")
	if _, has := spec[spec.key(rootVolume)]; has {
		spec.remove(rootVolume, "availabilityZone")
		spec.remove(rootVolume, "volumeType")
	}
	return nil
}
