package spec

import (
	"fmt"
	"slices"

	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var leastDataDisk = resource.MustParse("1Gi")

// MiB is a quantity in MiB, rounded down as the original does.
func MiB(q resource.Quantity) int64 { return q.Value() >> 20 }

// adapters are the types of adapter that each type of device may be attached to.
var adapters = map[machinev1.NutanixDiskDeviceType][]machinev1.NutanixDiskAdapterType{
	machinev1.NutanixDiskDeviceTypeDisk: {
		machinev1.NutanixDiskAdapterTypeSCSI, machinev1.NutanixDiskAdapterTypeIDE, machinev1.NutanixDiskAdapterTypePCI,
		machinev1.NutanixDiskAdapterTypeSATA, machinev1.NutanixDiskAdapterTypeSPAPR,
	},
	machinev1.NutanixDiskDeviceTypeCDROM: {machinev1.NutanixDiskAdapterTypeIDE, machinev1.NutanixDiskAdapterTypeSATA},
}

// dataDisk looks at a disk beside the system's. What a disk leaves out it need not
// have; of what it has, each part counts.
func dataDisk(at *field.Path, d machinev1.NutanixVMDisk) (faults field.ErrorList) {
	// The original rounds up to bytes; of what no int64 holds only the comparison knows.
	if d.DiskSize.Cmp(leastDataDisk) < 0 && d.DiskSize.Value() < leastDataDisk.Value() {
		faults = append(faults, invalid(at.Child("diskSize"), d.DiskSize.String(), "must be 1Gi at least"))
	}
	if d.DeviceProperties != nil {
		faults = append(faults, device(at.Child("deviceProperties"), d.DeviceProperties)...)
	}
	if d.StorageConfig != nil {
		faults = append(faults, storage(at.Child("storageConfig"), d.StorageConfig)...)
	}
	if d.DataSource != nil {
		faults = append(faults, identifier(at.Child("dataSource"), *d.DataSource)...)
	}
	return faults
}

func device(at *field.Path, d *machinev1.NutanixVMDiskDeviceProperties) (faults field.ErrorList) {
	fitting, known := adapters[d.DeviceType]
	switch {
	case !known:
		faults = append(faults, invalid(at.Child("deviceType"), string(d.DeviceType), "must be Disk or CDRom"))
	case !slices.Contains(fitting, d.AdapterType):
		faults = append(faults, invalid(at.Child("adapterType"), string(d.AdapterType), fmt.Sprintf("must for a %s be one of %v", d.DeviceType, fitting)))
	}
	if d.DeviceIndex < 0 {
		faults = append(faults, field.Invalid(at.Child("deviceIndex"), d.DeviceIndex, "must not be negative"))
	}
	return faults
}

func storage(at *field.Path, s *machinev1.NutanixVMStorageConfig) (faults field.ErrorList) {
	if s.DiskMode != machinev1.NutanixDiskModeStandard && s.DiskMode != machinev1.NutanixDiskModeFlash {
		faults = append(faults, invalid(at.Child("diskMode"), string(s.DiskMode), "must be Standard or Flash"))
	}
	if c := s.StorageContainer; c != nil {
		at := at.Child("storageContainer")
		if c.Type != machinev1.NutanixIdentifierUUID {
			return append(faults, invalid(at.Child("type"), string(c.Type), "must be uuid"))
		}
		faults = append(faults, named(at.Child("uuid"), c.UUID)...)
	}
	return faults
}
