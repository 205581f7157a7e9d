package nova

import "slices"

// Inventory is the initial content of a cloud.
type Inventory struct {
	// Region and Regions are the regions of the catalog. All have the same content.
	Region  string   `json:"region"`
	Regions []string `json:"regions,omitempty"`

	Projects []Project `json:"projects"`
	Users    []User    `json:"users"`

	Images  []Image  `json:"images"`
	Flavors []Flavor `json:"flavors"`
	// Zones are the zones of Nova, VolumeZones those of Cinder; empty: the same zones.
	Zones       []string `json:"zones"`
	VolumeZones []string `json:"volumeZones,omitempty"`
	VolumeTypes []string `json:"volumeTypes,omitempty"`

	Networks       []Network       `json:"networks"`
	Subnets        []Subnet        `json:"subnets"`
	SecurityGroups []SecurityGroup `json:"securityGroups"`
	FloatingIPs    []FloatingIP    `json:"floatingIPs,omitempty"`
	KeyPairs       []string        `json:"keyPairs,omitempty"`

	Quota Quota `json:"quota"`
	// Room is the capacity of a zone in servers, by zone or by zone/flavor.
	Room map[string]int `json:"room,omitempty"`
}

// stock finds objects in an inventory. If anything is accepted, it generates missing objects.
type stock struct {
	Inventory
	any bool
}

// Project is an account.
type Project struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Domain is the name of its domain. Default: "Default".
	Domain string `json:"domain,omitempty"`
}

// User is a user that may request tokens.
type User struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Domain   string `json:"domain,omitempty"`
	Password string `json:"password"`
	// Projects are the names of the projects in which it has a role.
	Projects []string `json:"projects"`
	// Reader: the user may only read.
	Reader                 bool                    `json:"reader,omitempty"`
	ApplicationCredentials []ApplicationCredential `json:"applicationCredentials,omitempty"`
}

// ApplicationCredential is an application credential for one project.
type ApplicationCredential struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Secret  string `json:"secret"`
	Project string `json:"project"`
	// AccessRules limit the requests with it; nil: all requests that the user may send.
	AccessRules []AccessRule `json:"accessRules,omitempty"`
}

// AccessRule allows one kind of request, in Keystone's format: the path may have * and {name} for a part, and
// ** for any parts.
type AccessRule struct {
	Service string `json:"service"`
	Method  string `json:"method"`
	Path    string `json:"path"`
}

// Image is an image of Glance.
type Image struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Architecture is the property hw_architecture ("x86_64"); empty: not set.
	Architecture string `json:"architecture,omitempty"`
	// Status defaults to "active".
	Status string `json:"status,omitempty"`
	// MinDisk is in GiB.
	MinDisk int `json:"minDisk,omitempty"`
}

// Flavor is a type of servers.
type Flavor struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	VCPUs int    `json:"vcpus"`
	// RAM is in MiB, Disk in GiB.
	RAM        int               `json:"ram"`
	Disk       int               `json:"disk"`
	ExtraSpecs map[string]string `json:"extraSpecs,omitempty"`
}

// Network is a network of Neutron.
type Network struct {
	ID   string   `json:"id"`
	Name string   `json:"name"`
	Tags []string `json:"tags,omitempty"`
	// Project is the name of the owner's project. Default: the first one.
	Project     string `json:"project,omitempty"`
	Description string `json:"description,omitempty"`
	// Shared networks belong to another project: the user must not choose MAC addresses there.
	Shared   bool `json:"shared,omitempty"`
	External bool `json:"external,omitempty"`
}

// Subnet is a subnet of a network.
type Subnet struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Network string   `json:"network"` // the ID
	CIDR    string   `json:"cidr"`
	Gateway string   `json:"gateway,omitempty"`
	Tags    []string `json:"tags,omitempty"`
	// Description and IPv6 modes are for filters.
	Description     string `json:"description,omitempty"`
	IPv6AddressMode string `json:"ipv6AddressMode,omitempty"`
	IPv6RAMode      string `json:"ipv6RAMode,omitempty"`
}

// SecurityGroup is a security group of Neutron.
type SecurityGroup struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	// Project is the name of the owner's project, which shares the group with the caller's project or shows it to an administrator.
	// Default: the caller's own project.
	Project string `json:"project,omitempty"`
}

// FloatingIP is a floating address for ports.
type FloatingIP struct {
	ID      string `json:"id"`
	Address string `json:"address"`
}

// Quota is the quota of each project; 0 allows none, negative is unlimited.
type Quota struct {
	Instances int `json:"instances"`
	Cores     int `json:"cores"`
	RAM       int `json:"ram"`
	Ports     int `json:"ports"`
	Volumes   int `json:"volumes"`
	// GroupMembers is the maximum size of a server group, 10 by default in Nova; 0: any size.
	GroupMembers int `json:"groupMembers,omitempty"`
	// Unified: the limits are Keystone's, and Nova refuses in the words of oslo.limit.
	Unified bool `json:"unified,omitempty"`
}

// replace changes the ID of the object with the name.
func (k *stock) replace(name string) {
	k.Images, k.Flavors, k.SecurityGroups = slices.Clone(k.Images), slices.Clone(k.Flavors), slices.Clone(k.SecurityGroups)
	for n, i := range k.Images {
		if i.Name == name {
			k.Images[n].ID = uuid("instead of " + i.ID)
		}
	}
	for n, f := range k.Flavors {
		if f.Name == name {
			k.Flavors[n].ID = uuid("instead of " + f.ID)
		}
	}
	for n, g := range k.SecurityGroups {
		if g.Name == name {
			k.SecurityGroups[n].ID = uuid("instead of " + g.ID)
		}
	}
}

// Sample is a small cloud for the manifests in the documentation.
func Sample() Inventory {
	const network, second = "9dc8b730-e135-4551-9687-f176ba5bdf03", "5b0f2a35-4a52-4f4e-8d1e-2f0f6a1c9e77"
	return Inventory{
		Region: "RegionOne",
		Projects: []Project{
			{ID: "d78a07adc9ba43de9b5aa85305697bd4", Name: "demo"},
			{ID: "3f7c0a0b4c6f4d0d9f6d8a4a57d3c1e2", Name: "other"},
		},
		Users: []User{
			{
				ID: "9af92b1ad6654624b07ab7f60366c1b1", Name: "machines", Password: "secret", Projects: []string{"demo", "other"},
				ApplicationCredentials: []ApplicationCredential{{ID: "0d1e7b4f3b0a4d6c8f0d9a1e5c7b2f64", Name: "machines", Secret: "app-secret", Project: "demo"}},
			},
			{ID: "1b6d9c0f2a8e4e35b2c7d1f0a9e8b7c6", Name: "reader", Password: "secret", Projects: []string{"demo"}, Reader: true},
		},
		Images: []Image{
			{ID: "6d09ede3-9a50-4bc5-a171-bf31d153ddca", Name: "rhcos", Architecture: "x86_64"},
			{ID: "2c7f8e13-52a4-4c3b-9d1f-6f2e1a7b9c58", Name: "gardenlinux"},
		},
		Flavors: []Flavor{
			{ID: "e7578716-1efc-453b-807e-ba6735c97f23", Name: "m1.test", VCPUs: 2, RAM: 4096, Disk: 10},
			{ID: "0a4c5b1e-6a0f-4f7e-9a76-2b7a2d0b4c11", Name: "m1.large", VCPUs: 8, RAM: 16384, Disk: 40},
			{ID: "b3a1d1f0-4e64-4d0b-8a55-7d1f6c2e9b22", Name: "g1.gpu", VCPUs: 8, RAM: 32768, Disk: 80, ExtraSpecs: map[string]string{
				"pci_passthrough:alias": "a100:2", "trait:COMPUTE_TRUSTED_CERTS": "required",
			}},
		},
		Zones:       []string{"nova", "az-2"},
		VolumeTypes: []string{"__DEFAULT__", "fast"},
		Networks:    []Network{{ID: network, Name: "net1", Tags: []string{"openshiftClusterID=c1"}}, {ID: second, Name: "storage", Tags: []string{"role=storage"}}, {ID: "c2a7e4d9-1d34-4b92-8f5c-0e9b7a6d5f33", Name: "public", External: true}},
		Subnets: []Subnet{
			{ID: "6b7de768-d267-48b1-b917-31e861472aa4", Name: "sub1", Network: network, CIDR: "10.9.0.0/16", Tags: []string{"openshiftClusterID=c1"}},
			{ID: "f1d2c3b4-a596-4788-9a0b-1c2d3e4f5a6b", Name: "storage-sub", Network: second, CIDR: "10.20.0.0/16"},
		},
		SecurityGroups: []SecurityGroup{
			{ID: "83022f8a-7a41-46e1-9089-80c393ee5cf2", Name: "default", Description: "Default security group"},
			{ID: "aa3c6a20-7f1e-4f1d-8c25-4a0cf8b1d944", Name: "workers", Tags: []string{"openshiftClusterID=c1"}},
		},
		FloatingIPs: []FloatingIP{{ID: "7e0b8c1d-2f3a-4b5c-9d6e-8f7a6b5c4d3e", Address: "203.0.113.10"}},
		KeyPairs:    []string{"k"},
		Quota:       Quota{Instances: -1, Cores: -1, RAM: -1, Ports: -1, Volumes: -1},
	}
}
