package failuredomain

import (
	"errors"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
)

type nutanix struct{}

func (nutanix) kind() string { return "NutanixMachineProviderConfig" }

func (nutanix) text(d Domain) string { return fields("NutanixFailureDomainReference", "Name:", d.Name) }

func (nutanix) list(fds machinev1.FailureDomains) (all []Domain, configured bool) {
	for _, fd := range fds.Nutanix {
		all = append(all, Domain{Name: fd.Name})
	}
	return all, len(all) > 0
}

// nutanixDomain returns a failure domain of the Infrastructure.
func nutanixDomain(name string, in *configv1.Infrastructure) (configv1.NutanixFailureDomain, error) {
	if name == "" {
		return configv1.NutanixFailureDomain{}, fmt.Errorf("empty failure domain name. %w", errInvalidName)
	}
	if in != nil && in.Spec.PlatformSpec.Nutanix != nil {
		for _, fd := range in.Spec.PlatformSpec.Nutanix.FailureDomains {
			if fd.Name == name {
				return fd, nil
			}
		}
	}
	return configv1.NutanixFailureDomain{}, fmt.Errorf("the failure domain with name %q is not defined in the infrastructure resource. %w", name, errInvalidName)
}

var errInvalidName = errors.New("invalid failure domain name")

// Defined returns an error if the Infrastructure does not have a failure domain of Nutanix with this name.
func Defined(name string, in *configv1.Infrastructure) error {
	_, err := nutanixDomain(name, in)
	return err
}

func (nutanix) read(raw []byte, in *configv1.Infrastructure) (Domain, error) {
	s, err := decode[machinev1.NutanixMachineProviderConfig](raw)
	if err != nil || s.FailureDomain == nil || Defined(s.FailureDomain.Name, in) != nil {
		return Domain{}, err
	}
	return Domain{Name: s.FailureDomain.Name}, nil
}

func (nutanix) write(spec object, d Domain, in *configv1.Infrastructure) error {
	if d.Name == "" {
		return nil
	}
	fd, err := nutanixDomain(d.Name, in)
	if err != nil {
		return fmt.Errorf("unknown failure domain: %w", err)
	}
	subnets := []machinev1.NutanixResourceIdentifier{}
	for _, s := range fd.Subnets {
		subnets = append(subnets, identifier(s))
	}
	return errors.Join(
		spec.set(machinev1.NutanixFailureDomainReference{Name: fd.Name}, "failureDomain"),
		spec.set(identifier(fd.Cluster), "cluster"),
		spec.set(subnets, "subnets"),
	)
}

// identifier converts an identifier of the Infrastructure. The two APIs spell the types differently.
func identifier(i configv1.NutanixResourceIdentifier) machinev1.NutanixResourceIdentifier {
	out := machinev1.NutanixResourceIdentifier{UUID: i.UUID, Name: i.Name}
	switch i.Type {
	case configv1.NutanixIdentifierName:
		out.Type = machinev1.NutanixIdentifierName
	case configv1.NutanixIdentifierUUID:
		out.Type = machinev1.NutanixIdentifierUUID
	}
	return out
}

func (nutanix) compared(raw []byte) (any, error) {
	return relevant(raw, func(*machinev1.NutanixMachineProviderConfig) {})
}

func (nutanix) generate(all []Domain) (*machinev1.FailureDomains, error) {
	out := &machinev1.FailureDomains{}
	for _, d := range all {
		if d.Name != "" {
			out.Nutanix = append(out.Nutanix, machinev1.NutanixFailureDomainReference{Name: d.Name})
		}
	}
	if len(out.Nutanix) > 0 {
		out.Platform = configv1.NutanixPlatformType
	}
	return out, nil
}

func (nutanix) clear(spec object, all []Domain, _ *configv1.Infrastructure) error {
	for _, d := range all {
		if d.Name == "" {
			continue
		}
		spec.remove("failureDomain")
		return errors.Join(spec.set(struct{}{}, "cluster"), spec.set([]string{}, "subnets"))
	}
	return nil
}
