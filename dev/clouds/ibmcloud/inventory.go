package ibmcloud

// Inventory is the initial content of an account, all in one region.
type Inventory struct {
	Account string   `json:"account"`
	Region  string   `json:"region"`
	Zones   []string `json:"zones"`
	// Cluster is the cluster's ID in provider IDs of nodes: a setting of the cloud controller manager.
	Cluster        string       `json:"cluster"`
	Credentials    []Credential `json:"credentials"`
	ResourceGroups []Resource   `json:"resourceGroups"`
	VPCs           []Resource   `json:"vpcs"`
	Subnets        []Subnet     `json:"subnets"`
	SecurityGroups []Resource   `json:"securityGroups"`
	Images         []Resource   `json:"images"`
	DedicatedHosts []Resource   `json:"dedicatedHosts,omitempty"`
	Profiles       []Profile    `json:"profiles"`
	Quotas         Quotas       `json:"quotas,omitzero"`
	// Capacity is the number of instances by "zone" or "zone/profile"; without an entry, it is unlimited.
	Capacity map[string]int `json:"capacity,omitempty"`
}

// Credential is an accepted API key.
type Credential struct {
	APIKey string `json:"apiKey"`
	// Account defaults to the account of the inventory.
	Account string `json:"account,omitempty"`
	// Deny are patterns of operations that the key must not call. If there are Allow patterns, the key may call
	// only matching operations.
	Deny  []string `json:"deny,omitempty"`
	Allow []string `json:"allow,omitempty"`
}

// Resource is a resource with a name.
type Resource struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Group is the ID of its resource group.
	Group string `json:"group,omitempty"`
	// VPC is the ID of its VPC, of a security group.
	VPC string `json:"vpc,omitempty"`
	// Zone is the zone of a dedicated host.
	Zone string `json:"zone,omitempty"`
}

// Subnet is a subnet of a VPC.
type Subnet struct {
	Resource
	CIDR string `json:"cidr"`
}

// Profile is an instance profile.
type Profile struct {
	Name      string `json:"name"`
	VCPUs     int64  `json:"vcpus"`
	MemoryGiB int64  `json:"memoryGiB"`
	// Arch is the architecture: amd64 or s390x.
	Arch string `json:"architecture"`
	GPUs int64  `json:"gpus,omitempty"`
	// GPU is the manufacturer of the GPUs: nvidia, amd or intel.
	GPU string `json:"gpu,omitempty"`
}

// Quotas limit an account in the region; 0 means no limit.
type Quotas struct {
	VCPUs int64 `json:"vcpus,omitempty"`
	GPUs  int64 `json:"gpus,omitempty"`
}

// Sample is an inventory for the examples.
func Sample() Inventory {
	const group, vpc = "0a1b2c3d4e5f60718293a4b5c6d7e8f9", "r006-0b9a1f2e-3c4d-4e5f-8a6b-7c8d9e0f1a2b"
	subnet := func(zone, id, cidr string) Subnet {
		return Subnet{Resource: Resource{ID: id, Name: "c1-subnet-compute-" + zone, Group: group, VPC: vpc, Zone: zone}, CIDR: cidr}
	}
	return Inventory{
		Account: "3f5b8c1d2e4a4f6b9c7d8e0f1a2b3c4d", Region: "us-south", Zones: []string{"us-south-1", "us-south-2", "us-south-3"}, Cluster: "c1",
		Credentials:    []Credential{{APIKey: "ExampleAPIKeyOfMachines0000000000000001"}},
		ResourceGroups: []Resource{{ID: group, Name: "c1"}, {ID: "1a1b2c3d4e5f60718293a4b5c6d7e8f9", Name: "c1-network"}},
		VPCs:           []Resource{{ID: vpc, Name: "c1-vpc", Group: group}},
		Subnets: []Subnet{
			subnet("us-south-1", "0717-1a2b3c4d-0000-4000-8000-000000000001", "10.240.0.0/18"),
			subnet("us-south-2", "0727-1a2b3c4d-0000-4000-8000-000000000002", "10.240.64.0/18"),
		},
		SecurityGroups: []Resource{
			{ID: "r006-2a2b3c4d-0000-4000-8000-000000000001", Name: "c1-sg-cluster-wide", Group: group, VPC: vpc},
			{ID: "r006-2a2b3c4d-0000-4000-8000-000000000002", Name: "c1-sg-openshift-net", Group: group, VPC: vpc},
		},
		Images:         []Resource{{ID: "r006-3a2b3c4d-0000-4000-8000-000000000001", Name: "c1-rhcos", Group: group}},
		DedicatedHosts: []Resource{{ID: "0717-4a2b3c4d-0000-4000-8000-000000000001", Name: "c1-host", Group: group, Zone: "us-south-1"}},
		Profiles: []Profile{
			{Name: "bx2-4x16", VCPUs: 4, MemoryGiB: 16, Arch: "amd64"},
			{Name: "bx2-8x32", VCPUs: 8, MemoryGiB: 32, Arch: "amd64"},
			{Name: "gx3-16x80x1l4", VCPUs: 16, MemoryGiB: 80, Arch: "amd64", GPUs: 1, GPU: "nvidia"},
			{Name: "bz2-4x16", VCPUs: 4, MemoryGiB: 16, Arch: "s390x"},
		},
	}
}
