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
		faults = append(faults, field.Invalid(path, partition, fmt.Sprintf("%s must be between 1 and %d", path, mostPartition)))
	}
	if s.PlacementGroupName == "" {
		faults = append(faults, field.Invalid(path, partition, fmt.Sprintf("%s is set but %s is empty", path, at.Child("placementGroupName"))))
	}
	return faults
}

// placementPath is the original's path of placement.host and placement.tenancy of a spec if it forbids
// them. For an invalid tenancy it uses tenancy of the spec itself.
var placementPath = field.NewPath("spec", "placement")

func checkPlacement(p machinev1beta1.Placement, controlPlane bool, at *field.Path) field.ErrorList {
	host := placementPath.Child("host")
	switch p.Tenancy {
	case "", machinev1beta1.DefaultTenancy, machinev1beta1.DedicatedTenancy:
		if p.Host != nil {
			return field.ErrorList{field.Forbidden(host, "host may only be specified when tenancy is 'host'")}
		}
		return nil
	case machinev1beta1.HostTenancy:
		if controlPlane {
			return field.ErrorList{field.Forbidden(placementPath.Child("tenancy"), "dedicated host tenancy is not supported for control plane machines")}
		}
		return checkHost(p.Host, host)
	}
	return field.ErrorList{field.Invalid(at.Child("tenancy"), lenient.Shown(p.Tenancy), fmt.Sprintf("Invalid %s, the only allowed options are: %s, %s, %s, or omitted",
		at.Child("tenancy"), machinev1beta1.DefaultTenancy, machinev1beta1.DedicatedTenancy, machinev1beta1.HostTenancy))}
}

func checkHost(h *machinev1beta1.HostPlacement, at *field.Path) (faults field.ErrorList) {
	if h == nil {
		return nil
	}
	path := at.Child("affinity")
	if h.Affinity == nil {
		return field.ErrorList{field.Required(path, "affinity is required and must be set to either AnyAvailable or DedicatedHost")}
	}
	switch *h.Affinity {
	case machinev1beta1.HostAffinityAnyAvailable:
		if h.DedicatedHost != nil && strategyOf(h.DedicatedHost) == machinev1beta1.AllocationStrategyDynamic {
			faults = append(faults, field.Forbidden(path, "hostAffinity must be DedicatedHost when using dynamic host allocation"))
		}
	case machinev1beta1.HostAffinityDedicatedHost:
		if h.DedicatedHost == nil {
			return field.ErrorList{field.Required(at.Child("dedicatedHost"), "dedicatedHost is required when hostAffinity is DedicatedHost, and optional otherwise")}
		}
	default:
		return field.ErrorList{field.Invalid(path, lenient.Shown(*h.Affinity), "hostAffinity must be either AnyAvailable or DedicatedHost")}
	}
	return append(faults, checkDedicatedHost(h.DedicatedHost, at.Child("dedicatedHost"))...)
}

// hostID has eight digits where the host is an old one.
var hostID = regexp.MustCompile(`^h-([0-9a-f]{8}|[0-9a-f]{17})$`)

// hostForm says what hostID holds.
const hostForm = "must start with 'h-' followed by 8 or 17 lowercase hexadecimal characters (0-9 and a-f)"

// strategyOf is how a host is chosen; by default the user gives it.
func strategyOf(h *machinev1beta1.DedicatedHost) machinev1beta1.AllocationStrategy {
	if h.AllocationStrategy == nil || *h.AllocationStrategy == "" {
		return machinev1beta1.AllocationStrategyUserProvided
	}
	return *h.AllocationStrategy
}

func checkDedicatedHost(h *machinev1beta1.DedicatedHost, at *field.Path) (faults field.ErrorList) {
	if h == nil {
		return nil
	}
	id, allocation := at.Child("id"), at.Child("dynamicHostAllocation")
	switch strategy := strategyOf(h); strategy {
	case machinev1beta1.AllocationStrategyUserProvided:
		switch {
		case h.ID == "":
			faults = append(faults, field.Required(id, "id is required when allocationStrategy is UserProvided and "+hostForm))
		case !hostID.MatchString(h.ID):
			faults = append(faults, field.Invalid(id, lenient.Shown(h.ID), "id "+hostForm))
		}
		if h.DynamicHostAllocation != nil {
			faults = append(faults, field.Invalid(allocation, lenient.Shown(h.ID), "dynamicHostAllocation is only allowed when allocationStrategy is Dynamic"))
		}
	case machinev1beta1.AllocationStrategyDynamic:
		if h.ID != "" {
			faults = append(faults, field.Forbidden(id, "id is only allowed when allocationStrategy is Provided"))
		}
		faults = append(faults, checkAllocation(h.DynamicHostAllocation, allocation.Child("tags"))...)
	default:
		faults = append(faults, field.Invalid(at.Child("allocationStrategy"), lenient.Shown(strategy), fmt.Sprintf("Invalid allocationStrategy, the only allowed options are: %s, %s",
			machinev1beta1.AllocationStrategyUserProvided, machinev1beta1.AllocationStrategyDynamic)))
	}
	return faults
}

// mostHostTags is how many tags a host may have.
const mostHostTags = 50

func checkAllocation(d *machinev1beta1.DynamicHostAllocationSpec, tags *field.Path) field.ErrorList {
	switch {
	case d == nil:
	case d.Tags == nil:
		return field.ErrorList{field.Required(tags, "at least one property must be specified in dynamicHostAllocation")}
	case len(*d.Tags) == 0:
		return field.ErrorList{field.Invalid(tags, 0, "at least 1 tag must be specified")}
	case len(*d.Tags) > mostHostTags:
		return field.ErrorList{field.Invalid(tags, len(*d.Tags), fmt.Sprintf("maximum %d tags can be specified", mostHostTags))}
	}
	return nil
}
