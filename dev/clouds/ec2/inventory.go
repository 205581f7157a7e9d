package ec2

// Inventory is the initial content of an account, all in one region.
type Inventory struct {
	Account string `json:"account"`
	Region  string `json:"region"`
	// Zones are the zones of the region.
	Zones       []Zone       `json:"zones"`
	Credentials []Credential `json:"credentials"`
	// Roles are roles that a caller with an external token may assume.
	Roles            []Role          `json:"roles,omitempty"`
	Images           []Image         `json:"images"`
	Types            []Type          `json:"types"`
	Networks         []Network       `json:"networks"`
	Subnets          []Subnet        `json:"subnets"`
	SecurityGroups   []SecurityGroup `json:"securityGroups"`
	KeyPairs         []string        `json:"keyPairs,omitempty"`
	InstanceProfiles []string        `json:"instanceProfiles,omitempty"`
	PlacementGroups  []string        `json:"placementGroups,omitempty"`
	Reservations     []Reservation   `json:"capacityReservations,omitempty"`
	LoadBalancers    []LoadBalancer  `json:"loadBalancers,omitempty"`
	// Hosts are the user's dedicated hosts.
	Hosts  []Host `json:"hosts,omitempty"`
	Quotas Quotas `json:"quotas,omitzero"`
	// Capacity is the number of instances by "zone" or "zone/type"; without an entry, it is unlimited.
	Capacity map[string]int `json:"capacity,omitempty"`
}

// Zone is an availability zone.
type Zone struct {
	Name string `json:"name"`
	// Type is "availability-zone", "local-zone" or "wavelength-zone"; empty for the first.
	Type string `json:"type,omitempty"`
}

// Credential is an accepted access key.
type Credential struct {
	AccessKeyID     string `json:"accessKeyID"`
	SecretAccessKey string `json:"secretAccessKey"`
	// SessionToken belongs to temporary keys.
	SessionToken string `json:"sessionToken,omitempty"`
	// Account defaults to the account of the inventory.
	Account string `json:"account,omitempty"`
	// Deny are patterns of operations that the key must not call. If there are Allow patterns, the key may call
	// only matching operations.
	Deny  []string `json:"deny,omitempty"`
	Allow []string `json:"allow,omitempty"`
}

// first reports whether a key belongs to the account of the inventory.
func (v Inventory) first(k Credential) bool { return k.Account == "" || k.Account == v.Account }

// Role is a role that a web identity may assume.
type Role struct {
	ARN   string `json:"arn"`
	Token string `json:"token"`
}

// Image is an AMI.
type Image struct {
	ID         string            `json:"id"`
	Name       string            `json:"name,omitempty"`
	RootDevice string            `json:"rootDevice,omitempty"`
	Created    string            `json:"created,omitempty"`
	Arch       string            `json:"architecture,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// Type is an instance type.
type Type struct {
	Name      string `json:"name"`
	VCPUs     int64  `json:"vcpus"`
	MemoryMiB int64  `json:"memoryMiB"`
	// Arch is EC2's name of the architecture: x86_64 or arm64.
	Arch         string `json:"architecture"`
	GPUs         int64  `json:"gpus,omitempty"`
	Manufacturer string `json:"manufacturer,omitempty"`
	// Interfaces and AddressesEach limit the network interfaces and their IPv4 addresses.
	Interfaces    int64 `json:"interfaces,omitempty"`
	AddressesEach int64 `json:"addressesEach,omitempty"`
	// Zones are the zones that offer it; empty: all.
	Zones []string `json:"zones,omitempty"`
}

// Network is a VPC.
type Network struct {
	ID   string `json:"id"`
	CIDR string `json:"cidr"`
	// Domains are the domains in its DHCP options.
	Domains []string `json:"domains,omitempty"`
	Default bool     `json:"default,omitempty"`
}

// Subnet is a subnet of a network.
type Subnet struct {
	ID      string            `json:"id"`
	Network string            `json:"network"`
	Zone    string            `json:"zone"`
	CIDR    string            `json:"cidr"`
	IPv6    string            `json:"ipv6,omitempty"`
	Default bool              `json:"default,omitempty"`
	Tags    map[string]string `json:"tags,omitempty"`
}

// SecurityGroup is a security group of a network.
type SecurityGroup struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Network string            `json:"network"`
	Tags    map[string]string `json:"tags,omitempty"`
}

// Reservation is a capacity reservation.
type Reservation struct {
	ID    string `json:"id"`
	Group string `json:"group,omitempty"`
	Count int    `json:"count"`
}

// LoadBalancer is a classic or a network load balancer.
type LoadBalancer struct {
	Name string `json:"name"`
	// Type is "classic" or "network".
	Type         string        `json:"type"`
	TargetGroups []TargetGroup `json:"targetGroups,omitempty"`
}

// TargetGroup is a target group of a network load balancer.
type TargetGroup struct {
	Name string `json:"name"`
	// Target is "instance" or "ip".
	Target string `json:"target"`
	// Network defaults to the first network of the inventory.
	Network string `json:"network,omitempty"`
}

// Host is a dedicated host.
type Host struct {
	ID   string            `json:"id"`
	Zone string            `json:"zone"`
	Type string            `json:"type"`
	Tags map[string]string `json:"tags,omitempty"`
}

// Quotas limit an account; 0 means no limit.
type Quotas struct {
	// VCPUs and SpotVCPUs limit each bucket: families of types that EC2 counts together, on demand or spot.
	VCPUs     int64 `json:"vcpus,omitempty"`
	SpotVCPUs int64 `json:"spotVCPUs,omitempty"`
	// Buckets limit single buckets instead, by "standard" or by the letters with which the types of a family begin:
	// "p", and "p/spot" for its spot instances. 0 allows no instance.
	Buckets map[string]int64 `json:"buckets,omitempty"`
	// Instances limits the instances of each type, on demand and spot.
	Instances int64 `json:"instances,omitempty"`
	Hosts     int64 `json:"hosts,omitempty"`
	VolumeGiB int64 `json:"volumeGiB,omitempty"`
}

// Sample is an inventory for the examples.
func Sample() Inventory {
	return Inventory{
		Account:     "123456789012",
		Region:      "us-east-1",
		Zones:       []Zone{{Name: "us-east-1a"}, {Name: "us-east-1b"}, {Name: "us-east-1c"}, {Name: "us-east-1-wl1-bos-wlz-1", Type: "wavelength-zone"}},
		Credentials: []Credential{{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}},
		Roles:       []Role{{ARN: "arn:aws:iam::123456789012:role/machines", Token: "token-of-the-workload"}},
		Images: []Image{
			{ID: "ami-0123456789abcdef0", Name: "rhcos-1", RootDevice: "/dev/xvda", Created: "2026-01-02T03:04:05.000Z", Arch: "x86_64", Tags: map[string]string{"os": "rhcos"}},
			{ID: "ami-0fedcba9876543210", Name: "rhcos-2", RootDevice: "/dev/sda1", Created: "2026-06-02T03:04:05.000Z", Arch: "x86_64", Tags: map[string]string{"os": "rhcos"}},
		},
		Types: []Type{
			{Name: "m5.large", VCPUs: 2, MemoryMiB: 8192, Arch: "x86_64", Interfaces: 3, AddressesEach: 10},
			{Name: "m5.xlarge", VCPUs: 4, MemoryMiB: 16384, Arch: "x86_64", Interfaces: 4, AddressesEach: 15},
			{Name: "m6a.large", VCPUs: 2, MemoryMiB: 8192, Arch: "x86_64", Interfaces: 3, AddressesEach: 10},
			{Name: "m6g.large", VCPUs: 2, MemoryMiB: 8192, Arch: "arm64", Interfaces: 3, AddressesEach: 10},
			{Name: "p3.8xlarge", VCPUs: 32, MemoryMiB: 249856, Arch: "x86_64", GPUs: 4, Manufacturer: "NVIDIA", Interfaces: 8, AddressesEach: 30, Zones: []string{"us-east-1a"}},
		},
		Networks: []Network{{ID: "vpc-0123456789abcdef0", CIDR: "10.0.0.0/16", Domains: []string{"ec2.internal"}, Default: true}},
		Subnets: []Subnet{
			{ID: "subnet-0a00000000000000a", Network: "vpc-0123456789abcdef0", Zone: "us-east-1a", CIDR: "10.0.0.0/20", IPv6: "2600:1f18:1:a::/64", Default: true, Tags: map[string]string{"Name": "c1-private-us-east-1a", "tier": "private"}},
			{ID: "subnet-0b00000000000000b", Network: "vpc-0123456789abcdef0", Zone: "us-east-1b", CIDR: "10.0.16.0/20", IPv6: "2600:1f18:1:b::/64", Default: true, Tags: map[string]string{"Name": "c1-private-us-east-1b", "tier": "private"}},
			{ID: "subnet-0c00000000000000c", Network: "vpc-0123456789abcdef0", Zone: "us-east-1-wl1-bos-wlz-1", CIDR: "10.0.32.0/20", Tags: map[string]string{"Name": "c1-edge"}},
		},
		SecurityGroups: []SecurityGroup{
			{ID: "sg-0123456789abcdef0", Name: "c1-worker", Network: "vpc-0123456789abcdef0", Tags: map[string]string{"Name": "c1-worker-sg"}},
			{ID: "sg-0fedcba9876543210", Name: "c1-node", Network: "vpc-0123456789abcdef0", Tags: map[string]string{"Name": "c1-node-sg"}},
		},
		KeyPairs:         []string{"ops"},
		InstanceProfiles: []string{"c1-worker-profile", "nodes"},
		PlacementGroups:  []string{"together"},
		Reservations:     []Reservation{{ID: "cr-0123456789abcdef0", Count: 10}},
		LoadBalancers: []LoadBalancer{
			{Name: "c1-ext", Type: "network", TargetGroups: []TargetGroup{{Name: "c1-aext", Target: "ip"}}},
			{Name: "c1-int", Type: "network", TargetGroups: []TargetGroup{{Name: "c1-aint", Target: "ip"}, {Name: "c1-sint", Target: "instance"}}},
			{Name: "c1-classic", Type: "classic"},
		},
		Hosts: []Host{{ID: "h-0123456789abcdef0", Zone: "us-east-1a", Type: "m5.large"}},
	}
}
