package cloud

import (
	"context"
	"encoding/base64"
	"fmt"

	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/nutanix/spec"
)

// intent is a request for a virtual machine.
type intent struct {
	Metadata intentMetadata `json:"metadata"`
	Spec     intentSpec     `json:"spec"`
}

type intentMetadata struct {
	Kind       string            `json:"kind"`
	UUID       string            `json:"uuid,omitempty"`
	Project    *reference        `json:"project_reference,omitempty"`
	Categories map[string]string `json:"categories,omitempty"`
}

type intentSpec struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Cluster     reference `json:"cluster_reference"`
	Resources   resources `json:"resources"`
}

type resources struct {
	Power          string         `json:"power_state"`
	Clock          string         `json:"hardware_clock_timezone"`
	VCPUsPerSocket int64          `json:"num_vcpus_per_socket"`
	Sockets        int64          `json:"num_sockets"`
	MemoryMiB      int64          `json:"memory_size_mib"`
	NICs           []nic          `json:"nic_list"`
	Disks          []disk         `json:"disk_list"`
	GPUs           []gpu          `json:"gpu_list,omitempty"`
	Boot           *boot          `json:"boot_config,omitempty"`
	Customization  *customization `json:"guest_customization,omitempty"`
}

type nic struct {
	Subnet reference `json:"subnet_reference"`
}

type disk struct {
	Source  *reference   `json:"data_source_reference,omitempty"`
	SizeMiB int64        `json:"disk_size_mib"`
	Device  *device      `json:"device_properties,omitempty"`
	Storage *diskStorage `json:"storage_config,omitempty"`
}

type device struct {
	Type    string      `json:"device_type"`
	Address diskAddress `json:"disk_address"`
}

type diskAddress struct {
	Adapter string `json:"adapter_type"`
	Index   int32  `json:"device_index"`
}

type diskStorage struct {
	Flash     string     `json:"flash_mode,omitempty"`
	Container *reference `json:"storage_container_reference,omitempty"`
}

type boot struct {
	Type  string   `json:"boot_type"`
	Order []string `json:"boot_device_order_list,omitempty"`
}

type customization struct {
	Overridable bool      `json:"is_overridable"`
	CloudInit   cloudInit `json:"cloud_init"`
}

type cloudInit struct {
	UserData string `json:"user_data"`
}

// mostUserData is the limit of encoded user data in bytes, by the vendor's description.
const mostUserData = 128_000

// request is the request for ref's virtual machine, without its UUID and marks. It looks up everything that
// the spec refers to.
func (s creator) request(ctx context.Context, c *client, ref provider.Ref, want provider.Want) (*intent, error) {
	if s.placeErr != nil {
		return nil, s.placeErr
	}
	in := &intent{Metadata: intentMetadata{Kind: kindVM}, Spec: intentSpec{Name: ref.Name}}
	at := lookup(s)
	cluster, err := at.resolve(ctx, c, kindCluster, "cluster", s.place.cluster)
	if err != nil {
		return nil, err
	}
	in.Spec.Cluster = reference{Kind: kindCluster, UUID: cluster}
	r := &in.Spec.Resources
	*r = resources{
		Power: on, Clock: "UTC", VCPUsPerSocket: int64(s.plan.VCPUsPerSocket), Sockets: int64(s.plan.VCPUSockets), MemoryMiB: spec.MiB(s.plan.MemorySize), Boot: bootOf(s.plan.BootType),
	}
	if len(want.UserData) > 0 {
		data := base64.StdEncoding.EncodeToString(withHostName(want.UserData, ref.Name))
		if n := len(data); n > mostUserData {
			return nil, provider.InvalidField("userDataSecret", "the encoded user data has %d bytes, and Prism Central accepts %d at most: let it fetch the rest from elsewhere", n, mostUserData)
		}
		r.Customization = &customization{Overridable: true, CloudInit: cloudInit{UserData: data}}
	}
	for i, n := range s.place.subnets {
		uuid, err := at.resolve(ctx, c, kindSubnet, fmt.Sprintf("subnets[%d]", i), n)
		if err != nil {
			return nil, err
		}
		r.NICs = append(r.NICs, nic{Subnet: reference{Kind: kindSubnet, UUID: uuid}})
	}
	if r.Disks, err = s.disks(ctx, c); err != nil {
		return nil, err
	}
	if s.plan.Project.Type != "" {
		uuid, err := at.resolve(ctx, c, kindProject, "project", s.plan.Project)
		if err != nil {
			return nil, err
		}
		in.Metadata.Project = &reference{Kind: kindProject, UUID: uuid}
	}
	if in.Metadata.Categories, err = ownership(s).categories(ctx, c); err != nil {
		return nil, err
	}
	r.GPUs, err = at.gpus(ctx, c, cluster)
	return in, err
}

// disks are the disk of the system, from the image, and the data disks.
func (s creator) disks(ctx context.Context, c *client) ([]disk, error) {
	image, err := lookup(s).resolve(ctx, c, kindImage, "image", s.plan.Image)
	if err != nil {
		return nil, err
	}
	all := []disk{{Source: &reference{Kind: kindImage, UUID: image}, SizeMiB: spec.MiB(s.plan.SystemDiskSize)}}
	for i, d := range s.plan.DataDisks {
		one := disk{SizeMiB: spec.MiB(d.DiskSize), Storage: storageOf(d.StorageConfig)}
		if p := d.DeviceProperties; p != nil {
			one.Device = &device{Type: deviceTypes[p.DeviceType], Address: diskAddress{Adapter: string(p.AdapterType), Index: p.DeviceIndex}}
		}
		if d.DataSource != nil {
			uuid, err := lookup(s).resolve(ctx, c, kindImage, fmt.Sprintf("dataDisks[%d].dataSource", i), *d.DataSource)
			if err != nil {
				return nil, err
			}
			one.Source = &reference{Kind: kindImage, UUID: uuid}
		}
		all = append(all, one)
	}
	return all, nil
}

// deviceTypes are the words of Prism Central for the types of devices.
var deviceTypes = map[machinev1.NutanixDiskDeviceType]string{machinev1.NutanixDiskDeviceTypeDisk: "DISK", machinev1.NutanixDiskDeviceTypeCDROM: "CDROM"}

// storageOf has the flash mode in the words of the vendor's description, ENABLED: the original sends ON.
func storageOf(s *machinev1.NutanixVMStorageConfig) *diskStorage {
	if s == nil {
		return nil
	}
	out := &diskStorage{}
	if s.DiskMode == machinev1.NutanixDiskModeFlash {
		out.Flash = "ENABLED"
	}
	if s.StorageContainer != nil && deref(s.StorageContainer.UUID) != "" {
		out.Container = &reference{Kind: "storage_container", UUID: *s.StorageContainer.UUID}
	}
	return out
}

func bootOf(t machinev1.NutanixBootType) *boot {
	switch t {
	case machinev1.NutanixUEFIBoot:
		return &boot{Type: "UEFI"}
	case machinev1.NutanixSecureBoot:
		return &boot{Type: "SECURE_BOOT"}
	case machinev1.NutanixLegacyBoot:
		return &boot{Type: "LEGACY", Order: []string{"CDROM", "DISK", "NETWORK"}}
	}
	return nil
}
