package prism

// Inventory is the initial content of a Prism Central.
type Inventory struct {
	// Account is the UUID of Prism Central, Name its name.
	Account     string       `json:"account"`
	Name        string       `json:"name"`
	Credentials []Credential `json:"credentials"`
	Clusters    []Cluster    `json:"clusters"`
	Images      []Named      `json:"images"`
	Subnets     []Subnet     `json:"subnets"`
	Projects    []Named      `json:"projects,omitempty"`
	// Categories are the values of each category. A name may be a pattern of [path.Match].
	Categories map[string][]string `json:"categories,omitempty"`
	// Capacity is the number of virtual machines by name of a cluster; without an entry, it is unlimited.
	Capacity map[string]int `json:"capacity,omitempty"`
}

// Credential is a user.
type Credential struct {
	Username string `json:"username"`
	Password string `json:"password"`
	// Account defaults to the account of the inventory.
	Account string `json:"account,omitempty"`
	// Deny are patterns of operations that the user must not call. If there are Allow patterns, the user may call
	// only matching operations.
	Deny  []string `json:"deny,omitempty"`
	Allow []string `json:"allow,omitempty"`
}

// Named is an entity with a name.
type Named struct {
	UUID string `json:"uuid"`
	Name string `json:"name"`
}

// Cluster is a cluster of hosts.
type Cluster struct {
	Named
	GPUs []GPU `json:"gpus,omitempty"`
}

// GPU is a model of GPUs of a cluster.
type GPU struct {
	Name     string `json:"name"`
	DeviceID int64  `json:"deviceID"`
	Mode     string `json:"mode"`
	Vendor   string `json:"vendor"`
	Count    int    `json:"count"`
}

// Subnet is a subnet of a cluster.
type Subnet struct {
	Named
	Cluster string `json:"cluster"`
	CIDR    string `json:"cidr"`
}

// first reports whether a user belongs to the account of the inventory.
func (v Inventory) first(c Credential) bool { return c.Account == "" || c.Account == v.Account }

// Sample is an inventory for the examples.
func Sample() Inventory {
	const a, b = "0005f1a0-0000-4000-8000-00000000000a", "0005f1a0-0000-4000-8000-00000000000b"
	return Inventory{
		Account: "0005f1a0-0000-4000-8000-000000000001", Name: "prism-central",
		Credentials: []Credential{{Username: "machines", Password: "example-password-of-machines"}},
		Clusters: []Cluster{
			{Named{a, "cluster-a"}, []GPU{{Name: "Tesla T4 compute", DeviceID: 7864, Mode: "PASSTHROUGH_COMPUTE", Vendor: "NVIDIA", Count: 2}}},
			{Named{b, "cluster-b"}, nil},
		},
		Images: []Named{{"0005f1a0-0000-4000-8000-000000000101", "c1-rhcos"}, {"0005f1a0-0000-4000-8000-000000000102", "data"}},
		Subnets: []Subnet{
			{Named{"0005f1a0-0000-4000-8000-00000000020a", "machines-a"}, a, "10.40.0.0/20"},
			{Named{"0005f1a0-0000-4000-8000-00000000020b", "machines-b"}, b, "10.40.16.0/20"},
		},
		Projects:   []Named{{"0005f1a0-0000-4000-8000-000000000301", "machines"}},
		Categories: map[string][]string{"kubernetes-io-cluster-c1": {"owned"}, "AppTier": {"Default", "Web"}},
	}
}
