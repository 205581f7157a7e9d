// Package spec has the provider specs of Alibaba Cloud in both APIs, and checks them without the SDK of
// Alibaba Cloud.
package spec

import (
	"fmt"

	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Config is a spec of machine.openshift.io.
type Config = machinev1.AlibabaCloudMachineProviderConfig

// Reference names a resource by ID, by name or by tags.
type Reference = machinev1.AlibabaResourceReference

// DecodeConfig reads a spec of machine.openshift.io to create instances from it. It refuses specs from
// which the original creates no instance. If the config is nil, the error is a decoding error; otherwise it
// has the invalid fields.
func DecodeConfig(raw []byte) (*Config, error) {
	s, _, err := lenient.Decode[Config](raw)
	if err != nil {
		return nil, err
	}
	return s, lenient.Error(checkConfig(s))
}

// checkConfig returns the faults of a spec. An empty reference to a resource group is no fault: ECS uses the
// default group.
func checkConfig(s *Config) (faults field.ErrorList) {
	for _, required := range []struct{ value, name, why string }{
		{s.ImageID, "imageId", "it is the image of the instance"},
		{s.InstanceType, "instanceType", "an instance has a type, such as ecs.g7.large"},
		{s.RegionID, "regionId", "an instance is created in a region"},
	} {
		if required.value == "" {
			faults = append(faults, field.Required(field.NewPath(required.name), required.why))
		}
	}
	faults = append(faults, checkGroups(s.SecurityGroups)...)
	faults = append(faults, checkVSwitch(s.VSwitch)...)
	faults = append(faults, checkResourceGroup(s.ResourceGroup)...)
	switch s.Tenancy {
	case "", machinev1.DefaultTenancy, machinev1.HostTenancy:
	default:
		faults = append(faults, field.Invalid(field.NewPath("tenancy"), lenient.Shown(s.Tenancy),
			fmt.Sprintf("invalid instance tenancy: %s. Allowed options are: %s,%s", lenient.Shown(s.Tenancy), machinev1.DefaultTenancy, machinev1.HostTenancy)))
	}
	return append(faults, checkDataDisks(s.DataDisks)...)
}

func checkGroups(groups []Reference) (faults field.ErrorList) {
	at := field.NewPath("securityGroups")
	if len(groups) == 0 {
		return field.ErrorList{field.Required(at, "no security configuration provided")}
	}
	for i, g := range groups {
		if len(faults) >= lenient.MostFaults {
			return faults
		}
		one := at.Index(i)
		switch {
		case g.Type == machinev1.AlibabaResourceReferenceTypeID && text(g.ID) == "":
			faults = append(faults, field.Required(one.Child("id"), "No security group ID provided"))
		case g.Type == machinev1.AlibabaResourceReferenceTypeTags && g.Tags == nil:
			faults = append(faults, field.Required(one.Child("tags"), "No tags provided for security group ID search"))
		case g.Type != machinev1.AlibabaResourceReferenceTypeID && g.Type != machinev1.AlibabaResourceReferenceTypeTags:
			faults = append(faults, field.Invalid(one.Child("type"), lenient.Shown(g.Type), "Unknown security group resource reference type: "+lenient.Shown(g.Type)))
		}
	}
	return faults
}

func checkVSwitch(v Reference) field.ErrorList {
	at := field.NewPath("vSwitch")
	switch {
	case v.Type == machinev1.AlibabaResourceReferenceTypeID && text(v.ID) == "":
		return field.ErrorList{field.Required(at.Child("id"), "No vswitch resource id provided")}
	case v.Type == machinev1.AlibabaResourceReferenceTypeTags && v.Tags == nil:
		return field.ErrorList{field.Required(at.Child("tags"), "No tags provided for VSwitch ID search")}
	case v.Type != machinev1.AlibabaResourceReferenceTypeID && v.Type != machinev1.AlibabaResourceReferenceTypeTags:
		return field.ErrorList{field.Invalid(at.Child("type"), lenient.Shown(v.Type), "Unknown vswitch resource reference type: "+lenient.Shown(v.Type))}
	}
	return nil
}

func checkResourceGroup(g Reference) field.ErrorList {
	at := field.NewPath("resourceGroup")
	switch g.Type {
	case "":
		return nil
	case machinev1.AlibabaResourceReferenceTypeID:
		if text(g.ID) == "" {
			return field.ErrorList{field.Required(at.Child("id"), "No resource group ID provided")}
		}
		return nil
	case machinev1.AlibabaResourceReferenceTypeName:
		if text(g.Name) == "" {
			return field.ErrorList{field.Required(at.Child("name"), "No name provided for resource Group ID search")}
		}
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("type"), lenient.Shown(g.Type), "unknown resource group reference type: "+lenient.Shown(g.Type))}
}

// mostDataDisks is the limit of ECS for an instance.
const mostDataDisks = 16

func checkDataDisks(disks []machinev1.DataDiskProperties) field.ErrorList {
	if len(disks) > mostDataDisks {
		return field.ErrorList{field.TooMany(field.NewPath("dataDisk"), len(disks), mostDataDisks)}
	}
	return nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// RegionOf is the region that a spec of either API names, also a refused spec; empty if it names none.
func RegionOf(api string, raw []byte) string {
	s, _, err := lenient.Decode[struct {
		Region   string `json:"region,omitempty"`
		RegionID string `json:"regionId,omitempty"`
	}](raw)
	switch {
	case err != nil:
		return ""
	case api == provider.Gardener:
		return s.Region
	}
	return s.RegionID
}
