package spec

import (
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

func checkPlace(s *machineSpec, path *field.Path) (faults field.ErrorList) {
	if s.Region == "" {
		faults = append(faults, field.Required(path.Child("region"), "name the region of the machine"))
	}
	if !strings.HasPrefix(s.Zone, s.Region) {
		faults = append(faults, field.Invalid(path.Child("zone"), lenient.Shown(s.Zone), "is not in the region "+lenient.Shown(s.Region)))
	}
	if s.MachineType == "" {
		faults = append(faults, field.Required(path.Child("machineType"), "name a machine type, such as "+typeAMD64))
	}
	return faults
}

// preattached begins the names of machine types that come with GPUs.
const preattached = "a2-"

func checkMaintenance(s *machineSpec, path *field.Path) field.ErrorList {
	path = path.Child("onHostMaintenance")
	switch s.OnHostMaintenance {
	case "", machinev1beta1.TerminateHostMaintenanceType:
	case machinev1beta1.MigrateHostMaintenanceType:
		if len(s.GPUs) > 0 || strings.HasPrefix(s.MachineType, preattached) {
			return field.ErrorList{field.Forbidden(path, "a machine with GPUs cannot migrate: set it to Terminate")}
		}
	default:
		return field.ErrorList{field.Invalid(path, lenient.Shown(s.OnHostMaintenance), "has to be Migrate or Terminate, or left out")}
	}
	return nil
}

func checkRestarts(s *machineSpec, path *field.Path) field.ErrorList {
	switch s.RestartPolicy {
	case "", machinev1beta1.RestartPolicyAlways, machinev1beta1.RestartPolicyNever:
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("restartPolicy"), lenient.Shown(s.RestartPolicy), "has to be Always or Never, or left out")}
}

func checkProvisioning(s *machineSpec, path *field.Path) field.ErrorList {
	path = path.Child("provisioningModel")
	switch {
	case s.ProvisioningModel == nil:
		return nil
	case *s.ProvisioningModel != machinev1beta1.GCPSpotInstance:
		return field.ErrorList{field.Invalid(path, lenient.Shown(*s.ProvisioningModel), "has to be Spot, or left out")}
	case s.Preemptible:
		return field.ErrorList{field.Forbidden(path, "a machine is preemptible or Spot, not both")}
	}
	return nil
}

func checkNetworks(s *machineSpec, path *field.Path) (faults field.ErrorList) {
	path = path.Child("networkInterfaces")
	if len(s.NetworkInterfaces) == 0 {
		return field.ErrorList{field.Required(path, "give a network interface")}
	}
	for i, given := range s.NetworkInterfaces {
		if len(faults) > lenient.MostFaults {
			break
		}
		if given == nil || given.Network == "" {
			faults = append(faults, field.Required(path.Index(i).Child("network"), "name the network"))
		}
		if given == nil || given.Subnetwork == "" {
			faults = append(faults, field.Required(path.Index(i).Child("subnetwork"), "name the subnetwork"))
		}
	}
	return faults
}

// Bounds of disks, in GB. A disk without a size has that of its image.
const (
	leastDiskGB = 16
	mostDiskGB  = 65536
)

var diskTypes = []string{"hyperdisk-balanced", "pd-balanced", "pd-ssd", "pd-standard"}

func checkDisks(s *machineSpec, path *field.Path) (faults field.ErrorList) {
	path = path.Child("disks")
	if len(s.Disks) == 0 {
		return field.ErrorList{field.Required(path, "give a disk")}
	}
	for i, disk := range s.Disks {
		if len(faults) > lenient.MostFaults {
			break
		}
		switch {
		case disk == nil, disk.SizeGB == 0:
		case disk.SizeGB < leastDiskGB, disk.SizeGB > mostDiskGB:
			faults = append(faults, field.Invalid(path.Index(i).Child("sizeGb"), disk.SizeGB, fmt.Sprintf("has to be from %d to %d, or left out", leastDiskGB, mostDiskGB)))
		}
		if disk != nil && disk.Type != "" && !slices.Contains(diskTypes, disk.Type) {
			faults = append(faults, field.NotSupported(path.Index(i).Child("type"), lenient.Shown(disk.Type), diskTypes))
		}
	}
	return faults
}

func checkServiceAccounts(s *machineSpec, path *field.Path) (faults field.ErrorList) {
	path = path.Child("serviceAccounts")
	switch len(s.ServiceAccounts) {
	case 0:
		return nil
	case 1:
	default:
		return field.ErrorList{field.Invalid(path, len(s.ServiceAccounts), "has to be one service account")}
	}
	if s.ServiceAccounts[0].Email == "" {
		faults = append(faults, field.Required(path.Index(0).Child("email"), "name the service account by its email"))
	}
	if len(s.ServiceAccounts[0].Scopes) == 0 {
		faults = append(faults, field.Required(path.Index(0).Child("scopes"), "give a scope"))
	}
	return faults
}

func checkSecrets(s *machineSpec, path *field.Path) (faults field.ErrorList) {
	if s.UserDataSecret == nil {
		faults = append(faults, field.Required(path.Child("userDataSecret"), "name the secret with the user data"))
	} else if s.UserDataSecret.Name == "" {
		faults = append(faults, field.Required(path.Child("userDataSecret", "name"), "name the secret with the user data"))
	}
	if s.CredentialsSecret == nil {
		faults = append(faults, field.Required(path.Child("credentialsSecret"), "name the secret with the credentials"))
	} else if s.CredentialsSecret.Name == "" {
		faults = append(faults, field.Required(path.Child("credentialsSecret", "name"), "name the secret with the credentials"))
	}
	return faults
}
