package spec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resources are the requests and limits of a virtual machine, with the field names of kubevirt.io/v1.
type Resources struct {
	Requests corev1.ResourceList `json:"requests,omitempty"`
	Limits   corev1.ResourceList `json:"limits,omitempty"`
	// OvercommitGuestOverhead: the requests do not include the memory of the emulator.
	OvercommitGuestOverhead bool `json:"overcommitGuestOverhead,omitempty"`
}

// CPU is the processor topology.
type CPU struct {
	Cores                 uint32       `json:"cores,omitempty"`
	Sockets               uint32       `json:"sockets,omitempty"`
	MaxSockets            uint32       `json:"maxSockets,omitempty"`
	Threads               uint32       `json:"threads,omitempty"`
	Model                 string       `json:"model,omitempty"`
	Features              []CPUFeature `json:"features,omitempty"`
	DedicatedCPUPlacement bool         `json:"dedicatedCpuPlacement,omitempty"`
	NUMA                  *NUMA        `json:"numa,omitempty"`
	IsolateEmulatorThread bool         `json:"isolateEmulatorThread,omitempty"`
	Realtime              *Realtime    `json:"realtime,omitempty"`
}

// CPUFeature is a feature of the processor that the guest sees or does not see.
type CPUFeature struct {
	Name   string `json:"name"`
	Policy string `json:"policy,omitempty"`
}

// NUMA shows the guest the NUMA nodes of its host.
type NUMA struct {
	GuestMappingPassthrough *struct{} `json:"guestMappingPassthrough,omitempty"`
}

// Realtime configures the processors for real-time guests.
type Realtime struct {
	Mask string `json:"mask,omitempty"`
}

// Memory is the memory that the guest sees.
type Memory struct {
	Hugepages *Hugepages         `json:"hugepages,omitempty"`
	Guest     *resource.Quantity `json:"guest,omitempty"`
	MaxGuest  *resource.Quantity `json:"maxGuest,omitempty"`
}

// Hugepages are the pages that back the memory.
type Hugepages struct {
	PageSize string `json:"pageSize,omitempty"`
}

// Devices are the devices of a virtual machine.
type Devices struct {
	// Disks configures how volumes are attached, by volume name: root-disk, user-data and the names of
	// additionalVolumes. Other volumes are disks on the virtio bus.
	Disks                      []Disk    `json:"disks,omitempty"`
	Rng                        *struct{} `json:"rng,omitempty"`
	BlockMultiQueue            *bool     `json:"blockMultiQueue,omitempty"`
	NetworkInterfaceMultiQueue *bool     `json:"networkInterfaceMultiqueue,omitempty"`
}

// Disk configures how a volume is attached. At most one of Disk, LUN and CDRom is set.
type Disk struct {
	Name  string       `json:"name"`
	Disk  *DiskTarget  `json:"disk,omitempty"`
	LUN   *LUNTarget   `json:"lun,omitempty"`
	CDRom *CDRomTarget `json:"cdrom,omitempty"`

	BootOrder         *uint      `json:"bootOrder,omitempty"`
	Serial            string     `json:"serial,omitempty"`
	DedicatedIOThread *bool      `json:"dedicatedIOThread,omitempty"`
	Cache             string     `json:"cache,omitempty"`
	IO                string     `json:"io,omitempty"`
	Tag               string     `json:"tag,omitempty"`
	BlockSize         *BlockSize `json:"blockSize,omitempty"`
	Shareable         *bool      `json:"shareable,omitempty"`
	ErrorPolicy       *string    `json:"errorPolicy,omitempty"`
}

// DiskTarget attaches a volume as a disk.
type DiskTarget struct {
	Bus        string `json:"bus,omitempty"`
	ReadOnly   bool   `json:"readonly,omitempty"`
	PCIAddress string `json:"pciAddress,omitempty"`
}

// LUNTarget attaches a volume as a SCSI device.
type LUNTarget struct {
	Bus         string `json:"bus,omitempty"`
	ReadOnly    bool   `json:"readonly,omitempty"`
	Reservation bool   `json:"reservation,omitempty"`
}

// CDRomTarget attaches a volume as a CD.
type CDRomTarget struct {
	Bus      string `json:"bus,omitempty"`
	ReadOnly *bool  `json:"readonly,omitempty"`
	Tray     string `json:"tray,omitempty"`
}

// BlockSize is the block size of a disk.
type BlockSize struct {
	Custom      *CustomBlockSize `json:"custom,omitempty"`
	MatchVolume *MatchVolume     `json:"matchVolume,omitempty"`
}

// CustomBlockSize has sizes in bytes.
type CustomBlockSize struct {
	Logical  uint `json:"logical,omitempty"`
	Physical uint `json:"physical,omitempty"`
}

// MatchVolume uses the block size of the volume.
type MatchVolume struct {
	Enabled *bool `json:"enabled,omitempty"`
}

// Network is a Multus network.
type Network struct {
	// Name is the name of a NetworkAttachmentDefinition: <name> or <namespace>/<name>.
	Name string `json:"name"`
	// Default: the network replaces the pod network.
	Default bool `json:"default,omitempty"`
}

// VCPUs is the number of processors that the guest sees: that of the topology, or else the requested number,
// rounded up, or else 1.
func (m *Machine) VCPUs() int64 {
	if c := m.CPU; c != nil && (c.Cores > 0 || c.Sockets > 0 || c.Threads > 0) {
		return int64(max(1, c.Cores)) * int64(max(1, c.Sockets)) * int64(max(1, c.Threads))
	}
	for _, list := range []corev1.ResourceList{m.Resources.Limits, m.Resources.Requests} {
		if q, ok := list[corev1.ResourceCPU]; ok {
			return max(1, q.Value())
		}
	}
	return 1
}

// MemoryMiB is the memory that the guest sees, in MiB.
func (m *Machine) MemoryMiB() int64 {
	if m.Memory != nil && m.Memory.Guest != nil {
		return m.Memory.Guest.Value() >> 20
	}
	for _, list := range []corev1.ResourceList{m.Resources.Requests, m.Resources.Limits} {
		if q, ok := list[corev1.ResourceMemory]; ok {
			return q.Value() >> 20
		}
	}
	return 0
}

// Size is the requested size of the root volume; nil: the size of the cloned source.
func (v *DataVolume) Size() *resource.Quantity {
	var list corev1.ResourceList
	switch {
	case v.PVC != nil:
		list = v.PVC.Resources.Requests
	case v.Storage != nil:
		list = v.Storage.Resources.Requests
	}
	if q, ok := list[corev1.ResourceStorage]; ok {
		return &q
	}
	return nil
}
