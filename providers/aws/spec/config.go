package spec

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

// DecodeConfig reads a spec of machine.openshift.io for making instances of it. It refuses what no instance can be made
// of, and nothing else that [Admitter] refuses: machines that were admitted by others, or before there was admission, live on.
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
	for _, check := range []func(*config, *field.Path) field.ErrorList{checkMarket, checkBlockDevices, checkRoots, checkPlacementGroup, checkOptions, checkBalancers} {
		faults = append(faults, check(s, nil)...)
	}
	faults = append(faults, checkPlacement(s.Placement, false, field.NewPath("placement"))...)
	return s, Refused(faults)
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

func checkBalancers(s *config, at *field.Path) (faults field.ErrorList) {
	for i, b := range s.LoadBalancers {
		if len(faults) < lenient.MostFaults {
			faults = append(faults, oneOf(at.Child("loadBalancers").Index(i).Child("type"), b.Type, machinev1beta1.ClassicLoadBalancerType, machinev1beta1.NetworkLoadBalancerType)...)
		}
	}
	return faults
}
