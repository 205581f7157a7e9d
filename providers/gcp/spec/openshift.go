package spec

import (
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

// DecodeOpenShift returns a spec from which an instance can be created. It requires less than [Admitter],
// so that machines from before the rules are still found and removed. The error is [provider.Invalid], and
// names each invalid field.
func DecodeOpenShift(raw []byte) (*machinev1beta1.GCPMachineProviderSpec, error) {
	s, _, err := decode(raw)
	if err != nil {
		return nil, err
	}
	var faults field.ErrorList
	for _, check := range []func(*machineSpec) field.ErrorList{needed, started, priced} {
		faults = append(faults, check(s)...)
	}
	return s, AsError(faults)
}

// needed is what no instance can do without.
func needed(s *machineSpec) (faults field.ErrorList) {
	for _, f := range []struct{ name, value string }{{"region", s.Region}, {"zone", s.Zone}, {"machineType", s.MachineType}} {
		if f.value == "" {
			faults = append(faults, field.Required(field.NewPath(f.name), "has to be given"))
		}
	}
	if len(s.NetworkInterfaces) == 0 || slices.Contains(s.NetworkInterfaces, nil) {
		faults = append(faults, field.Required(field.NewPath("networkInterfaces"), "give a network interface"))
	}
	for i, name := range s.TargetPools {
		if name == "" {
			faults = append(faults, field.Required(field.NewPath("targetPools").Index(i), "name the pool"))
		}
	}
	for i, t := range s.ResourceManagerTags {
		if t.ParentID == "" || t.Key == "" || t.Value == "" {
			faults = append(faults, field.Required(field.NewPath("resourceManagerTags").Index(i), "give the parentID, the key and the value of the tag"))
		}
	}
	return faults
}

// started is what the instance starts from, and with.
func started(s *machineSpec) (faults field.ErrorList) {
	if len(s.Disks) == 0 {
		return field.ErrorList{field.Required(field.NewPath("disks"), "give a disk")}
	}
	for i, d := range s.Disks {
		path := field.NewPath("disks").Index(i)
		switch {
		case d == nil:
			faults = append(faults, field.Required(path, "say what the disk is"))
		case d.Boot && d.Image == "":
			faults = append(faults, field.Required(path.Child("image"), "name the image of a boot disk"))
		case d.SizeGB < 0:
			faults = append(faults, field.Invalid(path.Child("sizeGb"), d.SizeGB, "is less than 0"))
		}
	}
	if len(s.GPUs) > 1 {
		faults = append(faults, field.TooMany(field.NewPath("gpus"), len(s.GPUs), 1))
	}
	if len(s.ServiceAccounts) > 1 {
		faults = append(faults, field.TooMany(field.NewPath("serviceAccounts"), len(s.ServiceAccounts), 1))
	}
	if p := s.ConfidentialCompute; p != "" && p != machinev1beta1.ConfidentialComputePolicyDisabled && confidentialSeries(p) == nil {
		faults = append(faults, field.Invalid(field.NewPath("confidentialCompute"), lenient.Shown(p), "is not a known value"))
	}
	return faults
}

// Spot reports whether the instance is preemptible.
func Spot(s *machinev1beta1.GCPMachineProviderSpec) bool {
	return s.Preemptible || s.ProvisioningModel != nil && *s.ProvisioningModel == machinev1beta1.GCPSpotInstance
}

// maintenances are what may happen to an instance whose host is maintained, in any case: Compute Engine has them in capitals.
var maintenances = []string{string(machinev1beta1.MigrateHostMaintenanceType), string(machinev1beta1.TerminateHostMaintenanceType)}

// priced is on which terms the instance is had.
func priced(s *machineSpec) (faults field.ErrorList) {
	faults = append(faults, checkProvisioning(s, nil)...)
	faults = append(faults, checkRestarts(s, nil)...)
	if Spot(s) && s.RestartPolicy == machinev1beta1.RestartPolicyAlways {
		faults = append(faults, field.Forbidden(field.NewPath("restartPolicy"), "an instance that may be taken back is not restarted: set it to Never, or leave it out"))
	}
	if m := string(s.OnHostMaintenance); m != "" && !slices.ContainsFunc(maintenances, func(one string) bool { return strings.EqualFold(one, m) }) {
		faults = append(faults, field.NotSupported(field.NewPath("onHostMaintenance"), lenient.Shown(m), maintenances))
	}
	return faults
}
