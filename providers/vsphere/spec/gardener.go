package spec

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Gardener is the providerSpec of a MachineClass of the provider vSphere. The placement of virtual machines is
// under v1, or, as it was before there was a second form, beside it.
type Gardener struct {
	// APIVersion and Kind are accepted without effect.
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	// V1 is for virtual machines that a vCenter clones. It outdoes what is beside it.
	V1 *GardenerClone `json:"v1,omitempty"`
	// V2 is for virtual machines of a Supervisor, which has another API; it is refused.
	V2            map[string]any `json:"v2,omitempty"`
	GardenerClone `json:",inline"`

	// SSHKeys are public keys of the user core, or of the cloud-init's default user.
	SSHKeys []string `json:"sshKeys,omitempty"`
	// Tags are custom attributes of the virtual machine. Those that name the cluster and the role say which
	// virtual machines are the cluster's.
	Tags map[string]string `json:"tags,omitempty"`
}

// GardenerClone says of what, and where, a virtual machine is made.
type GardenerClone struct {
	// Region is part of provider IDs.
	Region        string `json:"region,omitempty"`
	GardenerPlace `json:",inline"`
	// NumCpus and Memory (MiB) are the template's if they are 0.
	NumCpus int `json:"numCpus,omitempty"`
	Memory  int `json:"memory,omitempty"`
	// MemoryReservationLockedToMax keeps all of the memory on the host.
	MemoryReservationLockedToMax *bool `json:"memoryReservationLockedToMax,omitempty"`
	// SystemDisk is the size of the template's first disk.
	SystemDisk *GardenerDisk `json:"systemDisk,omitempty"`
	// ExtraConfig are further options of the virtual machine.
	ExtraConfig map[string]string `json:"extraConfig,omitempty"`
	// Network is what the first network card is connected to; SwitchUUID says of which distributed switch, where
	// several have a port group of the name.
	Network    string `json:"network,omitempty"`
	SwitchUUID string `json:"switchUuid,omitempty"`
	// TemplateVM is what is cloned, GuestID another operating system than its.
	TemplateVM string `json:"templateVM,omitempty"`
	GuestID    string `json:"guestId,omitempty"`
	// VApp are properties in place of those by which the guest is given its user data.
	VApp *GardenerVApp `json:"vapp,omitempty"`
	// Force lets files of a former virtual machine of the name be.
	Force bool `json:"force,omitempty"`
	// WaitForIP counts a virtual machine as running only once it has an address.
	WaitForIP bool `json:"waitForIP,omitempty"`
	// Customization names a specification of the vCenter for customizing guests.
	Customization string `json:"customization,omitempty"`
}

// GardenerPlace is where in the inventory.
type GardenerPlace struct {
	// Datacenter is a name or an inventory path, as are the places below.
	Datacenter string `json:"datacenter,omitempty"`
	// DatastoreCluster or Datastore is where the disk lies; of a cluster the vCenter recommends one.
	DatastoreCluster string `json:"datastoreCluster,omitempty"`
	Datastore        string `json:"datastore,omitempty"`
	// ComputeCluster, ResourcePool or HostSystem is where it runs.
	ComputeCluster string `json:"computeCluster,omitempty"`
	ResourcePool   string `json:"resourcePool,omitempty"`
	HostSystem     string `json:"hostSystem,omitempty"`
	// Folder is that of the virtual machine. Default: the datacenter's.
	Folder string `json:"folder,omitempty"`
}

// GardenerDisk is a size in GiB.
type GardenerDisk struct {
	Size int `json:"size,omitempty"`
}

// GardenerVApp are values by the names of properties.
type GardenerVApp struct {
	Properties map[string]string `json:"properties,omitempty"`
}

// The tags that name cluster and role: a key for each of them, or a value.
const (
	TagClusterPrefix = "kubernetes.io/cluster/"
	TagRolePrefix    = "kubernetes.io/role/"
	TagCluster       = "mcm.gardener.cloud/cluster"
	TagRole          = "mcm.gardener.cloud/role"
)

// DecodeGardener reads a spec as the original does, and returns its faults: [provider.Invalid] errors with
// paths, joined.
func DecodeGardener(raw []byte) (*Gardener, error) {
	s, _, err := lenient.Decode[Gardener](raw)
	if err != nil {
		return nil, err
	}
	return s, errors.Join(s.check()...)
}

// Clone is the effective placement of the two, and the path of its fields.
func (s *Gardener) Clone() (c *GardenerClone, path string) {
	if s.V1 != nil {
		return s.V1, "v1."
	}
	return &s.GardenerClone, ""
}

func (s *Gardener) check() (faults []error) {
	if len(s.V2) > 0 && s.V1 == nil {
		return []error{provider.InvalidField("v2", "virtual machines of a Supervisor are not served: give v1")}
	}
	c, at := s.Clone()
	missing := func(when bool, field, format string, args ...any) {
		if when {
			faults = append(faults, provider.InvalidField(at+field, format, args...))
		}
	}
	missing(c.Datastore == "" && c.DatastoreCluster == "" && c.ComputeCluster == "", "datastore",
		"give datastore, datastoreCluster, or a computeCluster whose datastores will do")
	missing(c.TemplateVM == "", "templateVM", "a virtual machine is a clone of a template")
	missing(c.ComputeCluster == "" && c.ResourcePool == "" && c.HostSystem == "", "resourcePool", "give resourcePool, computeCluster or hostSystem")
	missing(c.Network == "", "network", "a machine is connected to a network")
	missing(c.NumCpus < 0, "numCpus", "%d is negative", c.NumCpus)
	missing(c.Memory < 0, "memory", "%d is negative", c.Memory)
	missing(c.SystemDisk != nil && c.SystemDisk.Size <= 0, "systemDisk.size", "a disk has a size, in GiB")
	return append(faults, checkExtra(c.ExtraConfig, at)...)
}

// ReservedPrefix is the prefix of options that record the owner of a virtual machine.
const ReservedPrefix = "millwright."

func checkExtra(extra map[string]string, at string) (faults []error) {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		switch {
		case key == "":
			faults = append(faults, provider.InvalidField(at+"extraConfig", "an option has a name"))
		case strings.HasPrefix(strings.ToLower(key), ReservedPrefix):
			faults = append(faults, provider.InvalidField(at+"extraConfig."+key, "options that begin with %s say whose a virtual machine is", ReservedPrefix))
		}
	}
	return faults
}

// Ownership are the attributes of a virtual machine of the cluster, as the original reads them. The value
// of an attribute is empty if only its key counts. Nil if the tags do not name a cluster.
func (s *Gardener) Ownership() map[string]string {
	own := map[string]string{}
	for key, value := range s.Tags {
		switch {
		case strings.HasPrefix(key, TagClusterPrefix), strings.HasPrefix(key, TagRolePrefix):
			own[key] = ""
		case key == TagCluster, key == TagRole:
			own[key] = value
		}
	}
	return own
}
