package failuredomain

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"
)

// unknown is the text of a failure domain without fields.
const unknown = "<unknown>"

type aws struct{}

func (aws) kind() string { return "AWSMachineProviderConfig" }

func (aws) text(d Domain) string {
	if d.Reference == nil {
		if d.Zone == "" {
			return unknown
		}
		return fmt.Sprintf("AWSFailureDomain{AvailabilityZone:%s}", d.Zone)
	}
	var value string
	switch r := d.Reference; {
	case r.Type == machinev1.AWSIDReferenceType && r.ID != nil:
		value = *r.ID
	case r.Type == machinev1.AWSARNReferenceType && r.ARN != nil:
		value = *r.ARN
	case r.Type == machinev1.AWSFiltersReferenceType && r.Filters != nil:
		value = fmt.Sprintf("%+v", r.Filters)
	default:
		return unknown
	}
	zone := ""
	if d.Zone != "" {
		zone = "AvailabilityZone:" + d.Zone + ", "
	}
	return fmt.Sprintf("AWSFailureDomain{%sSubnet:{Type:%s, Value:%s}}", zone, d.Reference.Type, value)
}

func (aws) list(fds machinev1.FailureDomains) (all []Domain, configured bool) {
	for _, fd := range ptr.Deref(fds.AWS, nil) {
		all = append(all, Domain{Zone: fd.Placement.AvailabilityZone, Reference: fd.Subnet})
	}
	return all, fds.AWS != nil
}

func (aws) read(raw []byte, _ *configv1.Infrastructure) (Domain, error) {
	s, err := decode[machinev1beta1.AWSMachineProviderConfig](raw)
	return Domain{Zone: s.Placement.AvailabilityZone, Reference: referenceOf(s.Subnet)}, err
}

// referenceOf returns the reference to a subnet, of which the first of ID, filters and ARN counts; nil: none.
func referenceOf(subnet machinev1beta1.AWSResourceReference) *machinev1.AWSResourceReference {
	switch {
	case subnet.ID != nil:
		return &machinev1.AWSResourceReference{Type: machinev1.AWSIDReferenceType, ID: subnet.ID}
	case subnet.Filters != nil:
		filters := []machinev1.AWSResourceFilter{}
		for _, f := range subnet.Filters {
			filters = append(filters, machinev1.AWSResourceFilter{Name: f.Name, Values: f.Values})
		}
		return &machinev1.AWSResourceReference{Type: machinev1.AWSFiltersReferenceType, Filters: &filters}
	case subnet.ARN != nil:
		return &machinev1.AWSResourceReference{Type: machinev1.AWSARNReferenceType, ARN: subnet.ARN}
	}
	return nil
}

func (aws) write(spec object, d Domain, _ *configv1.Infrastructure) error {
	if d.Zone != "" {
		if err := spec.set(d.Zone, "placement", "availabilityZone"); err != nil {
			return err
		}
	}
	if d.Reference == nil {
		return nil
	}
	subnet := map[string]any{}
	switch r := d.Reference; r.Type {
	case machinev1.AWSIDReferenceType:
		subnet["id"] = r.ID
	case machinev1.AWSARNReferenceType:
		subnet["arn"] = r.ARN
	case machinev1.AWSFiltersReferenceType:
		subnet["filters"] = ptr.Deref(r.Filters, []machinev1.AWSResourceFilter{})
	}
	return spec.set(subnet, "subnet")
}

func (aws) compared(raw []byte) (any, error) {
	return relevant(raw, func(s *machinev1beta1.AWSMachineProviderConfig) { s.AMI = machinev1beta1.AWSResourceReference{} })
}

func (aws) generate(all []Domain) (*machinev1.FailureDomains, error) {
	list := []machinev1.AWSFailureDomain{}
	for _, d := range all {
		list = append(list, machinev1.AWSFailureDomain{Subnet: d.Reference, Placement: machinev1.AWSFailureDomainPlacement{AvailabilityZone: d.Zone}})
	}
	return &machinev1.FailureDomains{Platform: configv1.AWSPlatformType, AWS: &list}, nil
}

func (aws) clear(spec object, _ []Domain, _ *configv1.Infrastructure) error {
	spec.remove("subnet")
	spec.remove("placement", "availabilityZone")
	return nil
}
