package spec

import (
	"fmt"
	"regexp"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

// mostPartition is the last partition of a placement group; the first one is 1.
const mostPartition = 7

func checkPlacementGroup(s *config, at *field.Path) (faults field.ErrorList) {
	if s.PlacementGroupPartition == nil {
		return nil
	}
	partition, path := *s.PlacementGroupPartition, at.Child("placementGroupPartition")
	if partition < 1 || partition > mostPartition {
		faults = append(faults, field.Invalid(path, partition, fmt.Sprintf("give 1 to %d", mostPartition)))
	}
	if s.PlacementGroupName == "" {
		faults = append(faults, field.Invalid(path, partition, "it is a partition of a placement group: give placementGroupName"))
	}
	return faults
}

func checkPlacement(p machinev1beta1.Placement, controlPlane bool, at *field.Path) field.ErrorList {
	faults := oneOf(at.Child("tenancy"), p.Tenancy,
		"", machinev1beta1.DefaultTenancy, machinev1beta1.DedicatedTenancy, machinev1beta1.HostTenancy)
	onHost := p.Tenancy == machinev1beta1.HostTenancy
	if onHost && controlPlane {
		faults = append(faults, field.Forbidden(at.Child("tenancy"), "machines of the control plane do not run on dedicated hosts"))
	}
	switch {
	case p.Host == nil:
	case !onHost:
		faults = append(faults, field.Forbidden(at.Child("host"), "it is for tenancy host only"))
	default:
		faults = append(faults, checkHost(p.Host, at.Child("host"))...)
	}
	return faults
}

func checkHost(h *machinev1beta1.HostPlacement, at *field.Path) (faults field.ErrorList) {
	path := at.Child("affinity")
	if h.Affinity == nil {
		faults = append(faults, field.Required(path, "it says whether an instance keeps its host: DedicatedHost or AnyAvailable"))
	} else {
		faults = append(faults, oneOf(path, *h.Affinity, machinev1beta1.HostAffinityAnyAvailable, machinev1beta1.HostAffinityDedicatedHost)...)
	}
	keeps := h.Affinity != nil && *h.Affinity == machinev1beta1.HostAffinityDedicatedHost
	host := at.Child("dedicatedHost")
	switch {
	case h.DedicatedHost != nil:
		faults = append(faults, checkDedicatedHost(h.DedicatedHost, keeps, host)...)
	case keeps:
		faults = append(faults, field.Required(host, "it says on which host an instance with affinity DedicatedHost runs"))
	}
	return faults
}

// hostID has eight digits where the host is an old one.
var hostID = regexp.MustCompile(`^h-([0-9a-f]{8}|[0-9a-f]{17})$`)

// strategyOf is how a host is found; the user gives it unless the spec says otherwise.
func strategyOf(h *machinev1beta1.DedicatedHost) machinev1beta1.AllocationStrategy {
	if h.AllocationStrategy == nil {
		return machinev1beta1.AllocationStrategyUserProvided
	}
	return *h.AllocationStrategy
}

func checkDedicatedHost(h *machinev1beta1.DedicatedHost, keeps bool, at *field.Path) (faults field.ErrorList) {
	id, allocation := at.Child("id"), at.Child("dynamicHostAllocation")
	switch strategy := strategyOf(h); strategy {
	case machinev1beta1.AllocationStrategyUserProvided:
		if h.ID == "" {
			faults = append(faults, field.Required(id, "it is the host that the user provides"))
		} else if !hostID.MatchString(h.ID) {
			faults = append(faults, field.Invalid(id, lenient.Shown(h.ID), "give h- and 8 or 17 digits of 0-9 and a-f"))
		}
		if h.DynamicHostAllocation != nil {
			faults = append(faults, field.Forbidden(allocation, "it is for allocationStrategy Dynamic only"))
		}
	case machinev1beta1.AllocationStrategyDynamic:
		if !keeps {
			faults = append(faults, field.Invalid(at.Child("allocationStrategy"), string(strategy), "it needs affinity DedicatedHost"))
		}
		if h.ID != "" {
			faults = append(faults, field.Forbidden(id, "a host that is allocated has its ID from AWS"))
		}
		faults = append(faults, checkAllocation(h.DynamicHostAllocation, allocation.Child("tags"))...)
	}
	return faults
}

// mostHostTags is how many tags a host may have.
const mostHostTags = 50

func checkAllocation(d *machinev1beta1.DynamicHostAllocationSpec, tags *field.Path) field.ErrorList {
	switch {
	case d == nil:
	case d.Tags == nil || len(*d.Tags) == 0:
		return field.ErrorList{field.Required(tags, "an allocation sets at least one tag")}
	case len(*d.Tags) > mostHostTags:
		return field.ErrorList{field.TooMany(tags, len(*d.Tags), mostHostTags)}
	}
	return nil
}
