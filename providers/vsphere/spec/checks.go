package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

// The bounds of vSphere.
const (
	mostDevices   = 10
	mostTags      = 10
	mostDataDisks = 29    // a controller takes 30, and one is the template's
	mostDiskGiB   = 16384 // of a data disk
	mostName      = 80    // characters of the name of a data disk or of a group of virtual machines
)

// upTo cuts a list to its maximal length, and returns a fault if it was longer.
func upTo[T any](most int, list []T, at *field.Path) ([]T, field.ErrorList) {
	if len(list) <= most {
		return list, nil
	}
	return list[:most], field.ErrorList{field.TooMany(at, len(list), most)}
}

func checkWorkspace(w *machinev1beta1.Workspace, groups bool, at *field.Path) (faults field.ErrorList) {
	if w == nil {
		return field.ErrorList{field.Required(at, "it says in which vCenter the machine is, and where")}
	}
	if w.Server == "" {
		faults = append(faults, field.Required(at.Child("server"), "it is the name or address of the vCenter"))
	}
	if below := "/" + w.Datacenter + "/vm/"; w.Folder != "" && !strings.HasPrefix(w.Folder, below) {
		faults = append(faults, field.Invalid(at.Child("folder"), lenient.Shown(w.Folder),
			fmt.Sprintf("give the whole path: in the datacenter %q it begins with %q", lenient.Shown(w.Datacenter), lenient.Shown(below))))
	}
	group := at.Child("vmGroup")
	if w.VMGroup != "" && !groups {
		faults = append(faults, field.Forbidden(group, "the feature gate "+GateVMGroup+" is off"))
	}
	if utf8.RuneCountInString(w.VMGroup) > mostName {
		faults = append(faults, field.Invalid(group, lenient.Shown(w.VMGroup), fmt.Sprintf("has more than %d characters", mostName)))
	}
	return faults
}

func checkDevices(devices []machinev1beta1.NetworkDeviceSpec, at *field.Path) field.ErrorList {
	if len(devices) == 0 {
		return field.ErrorList{field.Required(at, "a machine has at least one network device")}
	}
	devices, faults := upTo(mostDevices, devices, at)
	for i, device := range devices {
		if device.NetworkName == "" {
			faults = append(faults, field.Required(at.Index(i).Child("networkName"), "a device is connected to a network"))
		}
	}
	return faults
}

var tagURN = regexp.MustCompile(`^urn:vmomi:InventoryServiceTag:[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}:[^:]+$`)

func checkTags(tags []string, at *field.Path) field.ErrorList {
	tags, faults := upTo(mostTags, tags, at)
	for i, tag := range tags {
		if !tagURN.MatchString(tag) {
			faults = append(faults, field.Invalid(at.Index(i), lenient.Shown(tag), "give the ID of the tag: urn:vmomi:InventoryServiceTag:<UUID>:GLOBAL"))
		}
	}
	return faults
}

var diskName = regexp.MustCompile(`^[a-zA-Z0-9]([-_a-zA-Z0-9]*[a-zA-Z0-9])?$`)

func checkDataDisks(disks []machinev1beta1.VSphereDisk, at *field.Path) field.ErrorList {
	disks, faults := upTo(mostDataDisks, disks, at)
	for i, disk := range disks {
		faults = append(faults, checkDataDisk(disk, at.Index(i))...)
	}
	return faults
}

func checkDataDisk(disk machinev1beta1.VSphereDisk, at *field.Path) (faults field.ErrorList) {
	name, size := at.Child("name"), at.Child("sizeGiB")
	switch {
	case disk.Name == "":
		faults = append(faults, field.Required(name, "a data disk has a name"))
	case len(disk.Name) > mostName:
		faults = append(faults, field.Invalid(name, lenient.Shown(disk.Name), fmt.Sprintf("has more than %d characters", mostName)))
	case !diskName.MatchString(disk.Name):
		faults = append(faults, field.Invalid(name, lenient.Shown(disk.Name), "give letters, digits, - and _, with a letter or digit at both ends"))
	}
	switch {
	case disk.SizeGiB == 0:
		faults = append(faults, field.Required(size, "a data disk has a size"))
	case disk.SizeGiB > mostDiskGiB:
		faults = append(faults, field.Invalid(size, disk.SizeGiB, fmt.Sprintf("is more than %d", mostDiskGiB)))
	}
	modes := []machinev1beta1.ProvisioningMode{
		machinev1beta1.ProvisioningModeThin, machinev1beta1.ProvisioningModeThick, machinev1beta1.ProvisioningModeEagerlyZeroed,
	}
	if disk.ProvisioningMode != "" && !slices.Contains(modes, disk.ProvisioningMode) {
		faults = append(faults, field.NotSupported(at.Child("provisioningMode"), lenient.Shown(disk.ProvisioningMode), modes))
	}
	return faults
}

// The minimal resources of a node, as in the installer's requirements.
const (
	leastCPUs      = 2
	leastMemoryMiB = 2048
	leastDiskGiB   = 120
)

// warningsOf are about values that are accepted and have no effect, or one that is rarely intended.
func warningsOf(s *config, at *field.Path) (warnings []string) {
	warn := func(when bool, path *field.Path, format string, args ...any) {
		if when {
			warnings = append(warnings, path.String()+": "+fmt.Sprintf(format, args...))
		}
	}
	const small = "%d (0: what the template has) may not suffice: a node needs %d to start"
	warn(s.Workspace != nil && s.Workspace.Datacenter == "", at.Child("workspace", "datacenter"),
		"none is given: no machine can be made where the vCenter has several")
	warn(s.NumCPUs < leastCPUs, at.Child("numCPUs"), small, s.NumCPUs, leastCPUs)
	warn(s.MemoryMiB < leastMemoryMiB, at.Child("memoryMiB"), small, s.MemoryMiB, leastMemoryMiB)
	disk := at.Child("diskGiB")
	warn(s.DiskGiB < leastDiskGiB, disk, small, s.DiskGiB, leastDiskGiB)
	warn(s.CloneMode == machinev1beta1.LinkedClone && s.DiskGiB > 0, disk, "it is not used: a linkedClone has the disk of its template")
	for i, data := range s.DataDisks[:min(len(s.DataDisks), mostDataDisks)] {
		warn(data.SizeGiB < 0, at.Child("dataDisks").Index(i).Child("sizeGiB"), "%d is negative", data.SizeGiB)
	}
	return warnings
}
