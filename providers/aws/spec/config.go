package spec

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// DecodeConfig reads a spec of machine.openshift.io to create instances from it. It refuses specs from
// which the original creates no instance, and nothing else that [Admitter] refuses: machines that were
// admitted by others, or before there was admission, continue to work.
func DecodeConfig(raw []byte) (*machinev1beta1.AWSMachineProviderConfig, error) {
	s, _, err := lenient.Decode[config](raw)
	if err != nil {
		return nil, err
	}
	var faults field.ErrorList
	if s.AMI.ID == nil && len(s.AMI.Filters) == 0 {
		faults = append(faults, field.Required(field.NewPath("ami"), "it is found by its id, or else by filters"))
	}
	if s.InstanceType == "" {
		faults = append(faults, field.Required(field.NewPath("instanceType"), "an instance has a type, such as m5.large"))
	}
	for _, check := range []func(*config, *field.Path) field.ErrorList{checkRoots, checkInterfaceType, checkReservation, checkTerms, checkHostOfConfig} {
		faults = append(faults, check(s, nil)...)
	}
	return s, Refused(faults)
}

// RegionOf is the region that a spec of either API names, also a refused spec; empty if it names none.
func RegionOf(api string, raw []byte) string {
	if api == provider.Gardener {
		s, _, err := lenient.Decode[struct {
			Region string `json:"region,omitempty"`
		}](raw)
		if err != nil {
			return ""
		}
		return s.Region
	}
	s, _, err := lenient.Decode[struct {
		Placement struct {
			Region string `json:"region,omitempty"`
		} `json:"placement,omitzero"`
	}](raw)
	if err != nil {
		return ""
	}
	return s.Placement.Region
}

// checkRoots refuses a second disk without a name, since the first one is the root.
func checkRoots(s *config, at *field.Path) (faults field.ErrorList) {
	roots := 0
	for i, d := range s.BlockDevices {
		if d.DeviceName != nil || d.EBS == nil {
			continue
		}
		if roots++; roots == 2 {
			faults = append(faults, field.Required(at.Child("blockDevices").Index(i).Child("deviceName"), "one disk alone is without a name: the root disk"))
		}
	}
	return faults
}

// checkTerms checks how the instance is paid, as far as an instance requires it: on-demand instances may
// have options of spot instances, which are ignored.
func checkTerms(s *config, at *field.Path) (faults field.ErrorList) {
	reserved, spot := s.CapacityReservationID != "", s.SpotMarketOptions != nil
	market := at.Child("marketType")
	refuse := func(why string) { faults = append(faults, field.Invalid(market, string(s.MarketType), why)) }
	switch s.MarketType {
	case "", machinev1beta1.MarketTypeOnDemand, machinev1beta1.MarketTypeSpot:
		if reserved && (spot || s.MarketType == machinev1beta1.MarketTypeSpot) {
			faults = append(faults, field.Invalid(at.Child("capacityReservationId"), lenient.Shown(s.CapacityReservationID), "a spot instance uses no capacity reservation"))
		}
	case machinev1beta1.MarketTypeCapacityBlock:
		if spot {
			refuse("an instance of a capacity block is no spot instance: leave out spotMarketOptions")
		}
		if !reserved {
			refuse("a capacity block is found by capacityReservationId")
		}
	default:
		faults = append(faults, oneOf(market, s.MarketType,
			"", machinev1beta1.MarketTypeOnDemand, machinev1beta1.MarketTypeSpot, machinev1beta1.MarketTypeCapacityBlock)...)
	}
	return faults
}

// checkHostOfConfig checks the host of the instance: a host is given, allocated or left to AWS. EC2 decides
// whether a tenancy and a host are compatible.
func checkHostOfConfig(s *config, _ *field.Path) field.ErrorList {
	p, at := s.Placement, field.NewPath("placement")
	faults := oneOf(at.Child("tenancy"), p.Tenancy, "", machinev1beta1.DefaultTenancy, machinev1beta1.DedicatedTenancy, machinev1beta1.HostTenancy)
	if p.Host == nil {
		return faults
	}
	affinity := at.Child("host", "affinity")
	if p.Host.Affinity == nil {
		return append(faults, field.Required(affinity, "it says whether an instance keeps its host: DedicatedHost or AnyAvailable"))
	}
	faults = append(faults, oneOf(affinity, *p.Host.Affinity, machinev1beta1.HostAffinityAnyAvailable, machinev1beta1.HostAffinityDedicatedHost)...)
	d := p.Host.DedicatedHost
	allocated := d != nil && d.AllocationStrategy != nil && *d.AllocationStrategy == machinev1beta1.AllocationStrategyDynamic
	if *p.Host.Affinity == machinev1beta1.HostAffinityDedicatedHost && !allocated && (d == nil || d.ID == "") {
		faults = append(faults, field.Required(at.Child("host", "dedicatedHost", "id"), "it says on which host an instance with affinity DedicatedHost runs"))
	}
	return faults
}
