package spec

import (
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

func checkShielded(s *machineSpec, path *field.Path) (faults field.ErrorList) {
	path, config := path.Child("shieldedInstanceConfig"), s.ShieldedInstanceConfig
	for _, part := range []struct{ name, value string }{
		{"secureBoot", string(config.SecureBoot)},
		{"integrityMonitoring", string(config.IntegrityMonitoring)},
		{"virtualizedTrustedPlatformModule", string(config.VirtualizedTrustedPlatformModule)},
	} {
		if !slices.Contains([]string{"", "Enabled", "Disabled"}, part.value) {
			faults = append(faults, field.Invalid(path.Child(part.name), lenient.Shown(part.value), "has to be Enabled or Disabled, or left out"))
		}
	}
	// Integrity monitoring is on where it is left out.
	if config.VirtualizedTrustedPlatformModule == machinev1beta1.VirtualizedTrustedPlatformModulePolicyDisabled &&
		config.IntegrityMonitoring != machinev1beta1.IntegrityMonitoringPolicyDisabled {
		faults = append(faults, field.Invalid(path.Child("virtualizedTrustedPlatformModule"), lenient.Shown(config.VirtualizedTrustedPlatformModule),
			"has to be Enabled unless integrityMonitoring is Disabled"))
	}
	return faults
}

// confidentialSeries are the series of machine types that can do what a policy asks for.
func confidentialSeries(policy machinev1beta1.ConfidentialComputePolicy) []string {
	switch policy {
	case machinev1beta1.ConfidentialComputePolicyEnabled, machinev1beta1.ConfidentialComputePolicySEV:
		return []string{"c2d", "n2d", "c3d"}
	case machinev1beta1.ConfidentialComputePolicySEVSNP:
		return []string{"n2d"}
	case machinev1beta1.ConfidentialComputePolicyTDX:
		return []string{"c3"}
	}
	return nil
}

func checkConfidential(s *machineSpec, path *field.Path) (faults field.ErrorList) {
	policy := s.ConfidentialCompute
	able := confidentialSeries(policy)
	switch {
	case policy == "", policy == machinev1beta1.ConfidentialComputePolicyDisabled:
		return nil
	case able == nil:
		return field.ErrorList{field.Invalid(path.Child("confidentialCompute"), lenient.Shown(policy),
			"has to be Enabled, Disabled, AMDEncryptedVirtualization, AMDEncryptedVirtualizationNestedPaging or IntelTrustedDomainExtensions, or left out")}
	}
	if s.OnHostMaintenance != machinev1beta1.TerminateHostMaintenanceType {
		faults = append(faults, field.Invalid(path.Child("onHostMaintenance"), lenient.Shown(s.OnHostMaintenance), "has to be Terminate for confidentialCompute "+string(policy)))
	}
	if series, _, _ := strings.Cut(s.MachineType, "-"); !slices.Contains(able, series) {
		faults = append(faults, field.Invalid(path.Child("machineType"), lenient.Shown(s.MachineType),
			"has to be of a series that can do confidentialCompute "+string(policy)+": "+strings.Join(able, ", ")))
	}
	return faults
}

// teslaA100 is the type of the GPUs that come with machines only.
const teslaA100 = "nvidia-tesla-a100"

func checkGPUs(s *machineSpec, path *field.Path) (faults field.ErrorList) {
	path = path.Child("gpus")
	switch len(s.GPUs) {
	case 0:
		return nil
	case 1:
	default:
		return field.ErrorList{field.TooMany(path, len(s.GPUs), 1)}
	}
	switch name := path.Index(0).Child("type"); s.GPUs[0].Type {
	case "":
		faults = append(faults, field.Required(name, "name the type of the GPUs"))
	case teslaA100:
		faults = append(faults, field.Invalid(name, teslaA100, "comes with the machine types "+preattached+" and is not attached to others"))
	}
	if strings.HasPrefix(s.MachineType, preattached) {
		faults = append(faults, field.Invalid(path, lenient.Shown(s.GPUs[0].Type), "has to be left out for "+preattached+" machine types, which come with GPUs"))
	}
	return faults
}
