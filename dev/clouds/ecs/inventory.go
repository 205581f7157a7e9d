package ecs

// Inventory is the initial content of an account, all in one region.
type Inventory struct {
	Account        string          `json:"account"`
	Region         string          `json:"region"`
	Zones          []string        `json:"zones"`
	Credentials    []Credential    `json:"credentials"`
	Images         []Image         `json:"images"`
	Types          []Type          `json:"types"`
	VSwitches      []VSwitch       `json:"vSwitches"`
	SecurityGroups []SecurityGroup `json:"securityGroups"`
	ResourceGroups []ResourceGroup `json:"resourceGroups,omitempty"`
	KeyPairs       []string        `json:"keyPairs,omitempty"`
	RAMRoles       []string        `json:"ramRoles,omitempty"`
	Quotas         Quotas          `json:"quotas,omitzero"`
	// Capacity is the number of instances by "zone" or "zone/type"; without an entry, it is unlimited.
	Capacity map[string]int `json:"capacity,omitempty"`
}

// Credential is an accepted access key.
type Credential struct {
	AccessKeyID     string `json:"accessKeyID"`
	AccessKeySecret string `json:"accessKeySecret"`
	// SecurityToken belongs to temporary keys.
	SecurityToken string `json:"securityToken,omitempty"`
	// Account defaults to the account of the inventory.
	Account string `json:"account,omitempty"`
	// Deny are patterns of operations that the key must not call. If there are Allow patterns, the key may call
	// only matching operations.
	Deny  []string `json:"deny,omitempty"`
	Allow []string `json:"allow,omitempty"`
}

// first reports whether a key belongs to the account of the inventory.
func (v Inventory) first(k Credential) bool { return k.Account == "" || k.Account == v.Account }

// Image is an image.
type Image struct {
	ID  string `json:"id"`
	GiB int    `json:"gib,omitempty"`
}

// Type is an instance type.
type Type struct {
	Name      string  `json:"name"`
	VCPUs     int64   `json:"vcpus"`
	MemoryGiB float64 `json:"memoryGiB"`
	// Arch is ECS's name of the architecture: X86 or ARM.
	Arch string `json:"architecture"`
	GPUs int64  `json:"gpus,omitempty"`
	// GPU is the name of the accelerators, such as "NVIDIA T4".
	GPU string `json:"gpu,omitempty"`
	// Zones are the zones that offer it; empty: all.
	Zones []string `json:"zones,omitempty"`
}

// VSwitch is a vSwitch of a network.
type VSwitch struct {
	ID      string            `json:"id"`
	Network string            `json:"network"`
	Zone    string            `json:"zone"`
	CIDR    string            `json:"cidr"`
	Tags    map[string]string `json:"tags,omitempty"`
}

// SecurityGroup is a security group of a network.
type SecurityGroup struct {
	ID      string            `json:"id"`
	Network string            `json:"network"`
	Tags    map[string]string `json:"tags,omitempty"`
}

// ResourceGroup is a resource group of the account.
type ResourceGroup struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Quotas limit an account; 0 means no limit.
type Quotas struct {
	// VCPUs and SpotVCPUs limit the vCPUs of all pay-as-you-go and of all spot instances.
	VCPUs     int64 `json:"vcpus,omitempty"`
	SpotVCPUs int64 `json:"spotVCPUs,omitempty"`
}

// Sample is an inventory for the examples.
func Sample() Inventory {
	const network = "vpc-bp1example00000000001"
	return Inventory{
		Account: "1234567890123456", Region: "cn-hangzhou", Zones: []string{"cn-hangzhou-h", "cn-hangzhou-i", "cn-hangzhou-j"},
		Credentials: []Credential{{AccessKeyID: "LTAI5tExampleKeyOfMachines", AccessKeySecret: "ExampleSecretOfMachines0000001"}},
		Images:      []Image{{ID: "m-bp1example00000000001", GiB: 20}, {ID: "m-bp1example00000000002", GiB: 20}},
		Types: []Type{
			{Name: "ecs.g7.large", VCPUs: 2, MemoryGiB: 8, Arch: "X86"},
			{Name: "ecs.g7.xlarge", VCPUs: 4, MemoryGiB: 16, Arch: "X86"},
			{Name: "ecs.g8y.large", VCPUs: 2, MemoryGiB: 8, Arch: "ARM"},
			{Name: "ecs.gn6i-c4g1.xlarge", VCPUs: 4, MemoryGiB: 15, Arch: "X86", GPUs: 1, GPU: "NVIDIA T4", Zones: []string{"cn-hangzhou-h"}},
		},
		VSwitches: []VSwitch{
			{ID: "vsw-bp1example0000000000h", Network: network, Zone: "cn-hangzhou-h", CIDR: "10.0.0.0/20", Tags: map[string]string{"Name": "c1-h", "tier": "private"}},
			{ID: "vsw-bp1example0000000000i", Network: network, Zone: "cn-hangzhou-i", CIDR: "10.0.16.0/20", Tags: map[string]string{"Name": "c1-i", "tier": "private"}},
		},
		SecurityGroups: []SecurityGroup{
			{ID: "sg-bp1example00000000001", Network: network, Tags: map[string]string{"Name": "c1-worker"}},
			{ID: "sg-bp1example00000000002", Network: network, Tags: map[string]string{"Name": "c1-node"}},
		},
		ResourceGroups: []ResourceGroup{{ID: "rg-aekexample00001", Name: "c1"}},
		KeyPairs:       []string{"ops"},
		RAMRoles:       []string{"c1-worker"},
	}
}
