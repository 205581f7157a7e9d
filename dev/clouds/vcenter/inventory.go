package vcenter

// Inventory is the initial content of a vCenter.
type Inventory struct {
	// Users are the users that may log in. Without users, any name with a password may log in.
	Users       []User       `json:"users,omitempty"`
	Datacenters []Datacenter `json:"datacenters"`
	// Tags are the tags of the tagging service.
	Tags []Tag `json:"tags,omitempty"`
	// Customizations are names of guest customization specifications.
	Customizations []string `json:"customizations,omitempty"`
}

// User is a user of the single sign-on.
type User struct {
	Name     string `json:"name"`
	Password string `json:"password"`
	// Roles are the user's permissions in addition to reading. A user without roles has all permissions.
	Roles Roles `json:"roles,omitempty"`
}

// Roles are privileges by the kind of objects on which they are granted: "vCenter", which is the root folder, "folder" (virtual
// machines, templates, and their folders and datacenters), "cluster" (and resource pools), "datastore" or
// "network".
type Roles map[string][]string

// Tag is a tag of a category, attached to the objects at the inventory paths.
type Tag struct {
	Category string   `json:"category"`
	Name     string   `json:"name"`
	On       []string `json:"on,omitempty"`
}

// Datacenter is a datacenter with its content.
type Datacenter struct {
	Name     string    `json:"name"`
	Clusters []Cluster `json:"clusters"`
	// Datastores are mounted on every host, Pods are clusters of datastores, by name.
	Datastores []string            `json:"datastores"`
	Pods       map[string][]string `json:"pods,omitempty"`
	// Networks are port groups of one distributed switch.
	Networks []string `json:"networks"`
	// Folders are paths below the datacenter's folder of virtual machines.
	Folders   []string   `json:"folders,omitempty"`
	Templates []Template `json:"templates"`
}

// Cluster is a compute cluster.
type Cluster struct {
	Name  string `json:"name"`
	Hosts int    `json:"hosts,omitempty"`
	// Pools are resource pools below the cluster's own pool, which is called Resources.
	Pools    []string `json:"pools,omitempty"`
	VMGroups []string `json:"vmGroups,omitempty"`
	// Room is the maximum number of running virtual machines; 0: no limit.
	Room int `json:"room,omitempty"`
}

// Template is a virtual machine to clone.
type Template struct {
	Name      string `json:"name"`
	GuestID   string `json:"guestId,omitempty"`
	CPUs      int32  `json:"cpus,omitempty"`
	MemoryMiB int64  `json:"memoryMiB,omitempty"`
	DiskGiB   int64  `json:"diskGiB,omitempty"`
	// Hardware is the version of the virtual hardware. Default: "vmx-15".
	Hardware  string   `json:"hardware,omitempty"`
	Snapshots []string `json:"snapshots,omitempty"`
	// Properties are the names of the vApp properties that users may set.
	Properties []string `json:"properties,omitempty"`
}

// Sample is an inventory with a cluster of three hosts.
func Sample() Inventory {
	return Inventory{
		Users: []User{{Name: "millwright@vsphere.local", Password: "Secret!1"}},
		Datacenters: []Datacenter{{
			Name: "dc1",
			Clusters: []Cluster{
				{Name: "cluster1", Hosts: 3, Pools: []string{"machines"}, VMGroups: []string{"rack1"}},
				{Name: "cluster2", Hosts: 1},
			},
			Datastores: []string{"ds1", "ds2"},
			Pods:       map[string][]string{"pod1": {"ds3"}},
			Networks:   []string{"vm-network", "storage-network"},
			Folders:    []string{"machines"},
			Templates: []Template{
				{Name: "rhcos", GuestID: "rhel8_64Guest", CPUs: 2, MemoryMiB: 4096, DiskGiB: 16, Snapshots: []string{"clean"}},
				{Name: "ubuntu", GuestID: "ubuntu64Guest", CPUs: 2, MemoryMiB: 4096, DiskGiB: 10, Properties: []string{"hostname", "user-data", "password"}},
				{Name: "flatcar", GuestID: "other4xLinux64Guest", CPUs: 2, MemoryMiB: 4096, DiskGiB: 10, Properties: []string{"guestinfo.coreos.config.data"}},
				{Name: "old", CPUs: 2, MemoryMiB: 4096, DiskGiB: 10, Hardware: "vmx-13"},
			},
		}},
		Tags: []Tag{
			{Category: "openshift-demo", Name: "demo"},
			{Category: "openshift-region", Name: "region1", On: []string{"/dc1"}},
			{Category: "openshift-zone", Name: "zone1", On: []string{"/dc1/host/cluster1"}},
			{Category: "teams", Name: "blue"},
		},
		Customizations: []string{"linux"},
	}
}
