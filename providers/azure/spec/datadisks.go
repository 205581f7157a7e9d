package spec

import (
	"fmt"
	"regexp"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Limits of data disks: of their names in bytes, their sizes in GB, and their logical units.
const (
	mostDiskName    = 80
	leastDataDiskGB = 4
	lastLun         = 63
)

var suffixPattern = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9_.-]*[a-zA-Z0-9])?$`)

func checkDataDisks(s *machineSpec, a admit.Request) (faults field.ErrorList) {
	suffixes, luns := map[string]bool{}, map[int32]bool{}
	for i, disk := range s.DataDisks {
		if len(faults) > lenient.MostFaults {
			break
		}
		path := a.Path.Child("dataDisks").Index(i)
		faults = append(faults, checkSuffix(disk.NameSuffix, path.Child("nameSuffix"), a.Machine)...)
		if suffixes[disk.NameSuffix] {
			faults = append(faults, field.Invalid(path.Child("nameSuffix"), lenient.Shown(disk.NameSuffix), "another data disk has it"))
		}
		if disk.DiskSizeGB < leastDataDiskGB {
			faults = append(faults, field.Invalid(path.Child("diskSizeGB"), disk.DiskSizeGB, fmt.Sprintf("has to be %d or more", leastDataDiskGB)))
		}
		if disk.Lun < 0 || disk.Lun > lastLun {
			faults = append(faults, field.Invalid(path.Child("lun"), disk.Lun, fmt.Sprintf("has to be from 0 to %d", lastLun)))
		}
		if luns[disk.Lun] {
			faults = append(faults, field.Invalid(path.Child("lun"), disk.Lun, "another data disk has it"))
		}
		faults = append(faults, checkDataDisk(disk, path)...)
		suffixes[disk.NameSuffix], luns[disk.Lun] = true, true
	}
	return faults
}

func checkSuffix(suffix string, path *field.Path, machine string) (faults field.ErrorList) {
	if len(machine+"_"+suffix) > mostDiskName {
		faults = append(faults, field.Invalid(path, lenient.Shown(suffix), fmt.Sprintf("with the machine's name and _ it has more than %d characters", mostDiskName)))
	}
	if !suffixPattern.MatchString(suffix) {
		faults = append(faults, field.Invalid(path, lenient.Shown(suffix), "has to be of letters, digits, _, . and -, with a letter or a digit at either end"))
	}
	return faults
}

func checkDataDisk(disk machinev1beta1.DataDisk, path *field.Path) (faults field.ErrorList) {
	switch disk.DeletionPolicy {
	case machinev1beta1.DiskDeletionPolicyTypeDelete, machinev1beta1.DiskDeletionPolicyTypeDetach:
	case "":
		faults = append(faults, field.Required(path.Child("deletionPolicy"), "say Delete or Detach: what is done with the disk when the machine is deleted"))
	default:
		faults = append(faults, field.Invalid(path.Child("deletionPolicy"), lenient.Shown(disk.DeletionPolicy), "has to be Delete or Detach"))
	}
	ultra := disk.ManagedDisk.StorageAccountType == machinev1beta1.StorageAccountUltraSSDLRS
	if ultra && disk.CachingType != "" && disk.CachingType != machinev1beta1.CachingTypeNone {
		faults = append(faults, field.Invalid(path.Child("cachingType"), lenient.Shown(disk.CachingType), "has to be None, or left out, for UltraSSD_LRS"))
	}
	return faults
}
