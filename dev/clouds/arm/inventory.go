package arm

import "strings"

// Inventory is the initial content of the cloud.
type Inventory struct {
	// Accounts are the accepted credentials.
	Accounts []Account `json:"accounts"`
	// Locations are regions.
	Locations []Location `json:"locations"`
	// ResourceGroups are the names of resource groups, the same in each subscription.
	ResourceGroups []string       `json:"resourceGroups"`
	Networks       []Network      `json:"networks"`
	LoadBalancers  []LoadBalancer `json:"loadBalancers,omitempty"`
	// Others are IDs, without the subscription, of other resources to which specs may refer: security groups, availability sets,
	// identities, capacity reservation groups, disk encryption sets, scale sets
	// ("/resourceGroups/g/providers/Microsoft.Network/networkSecurityGroups/n").
	Others []string `json:"others,omitempty"`
	Images []Image  `json:"images"`
	Sizes  []Size   `json:"sizes"`
	Quotas Quotas   `json:"quotas"`
}

// Account is an application that may use a subscription.
type Account struct {
	Tenant       string `json:"tenant"`
	ClientID     string `json:"clientID"`
	ClientSecret string `json:"clientSecret,omitempty"`
	// Assertion is the token of a federated identity of the application; "*" is any token.
	Assertion    string `json:"assertion,omitempty"`
	Subscription string `json:"subscription"`
	// Actions are the actions of its role, with * as a wildcard: "Microsoft.Compute/virtualMachines/read".
	// Default: all actions.
	Actions []string `json:"actions,omitempty"`
	// SubscriptionActions are the actions of its role at the subscription, for resources that are in no resource group.
	// Default: Actions.
	SubscriptionActions []string `json:"subscriptionActions,omitempty"`
	// stranger: it is accepted without being in the inventory.
	stranger bool
}

// Location is a region with its zones ("1").
type Location struct {
	Name  string   `json:"name"`
	Zones []string `json:"zones,omitempty"`
}

// Network is a virtual network.
type Network struct {
	ResourceGroup string   `json:"resourceGroup"`
	Name          string   `json:"name"`
	Subnets       []Subnet `json:"subnets"`
}

// Subnet is a subnet of a network. Most is the number of its addresses; 0: no limit.
type Subnet struct {
	Name     string   `json:"name"`
	Prefixes []string `json:"prefixes"`
	Most     int      `json:"most,omitempty"`
}

// LoadBalancer has a backend pool and rules.
type LoadBalancer struct {
	ResourceGroup string   `json:"resourceGroup"`
	Name          string   `json:"name"`
	Internal      bool     `json:"internal,omitempty"`
	Pools         []string `json:"pools"`
	NatRules      []string `json:"natRules,omitempty"`
	// Fronts are the versions of its frontend addresses: "IPv4" or "IPv6". Default: one IPv4 address.
	Fronts []string `json:"fronts,omitempty"`
}

// Image is an image of the Marketplace, with its URN, or an image with an ID: /resourceGroups/..., with or without the
// subscription, or an ID of a community or shared gallery.
type Image struct {
	ID  string `json:"id,omitempty"`
	URN string `json:"urn,omitempty"`
	// Plan: the image has a purchase plan, whose terms must be accepted.
	Plan bool `json:"plan,omitempty"`
	// Accepted: the terms are accepted.
	Accepted bool `json:"accepted,omitempty"`
}

// Size is a size of virtual machines.
type Size struct {
	Name         string  `json:"name"`
	Family       string  `json:"family"`
	VCPUs        int64   `json:"vcpus"`
	MemoryGB     float64 `json:"memoryGB"`
	GPUs         int64   `json:"gpus,omitempty"`
	Architecture string  `json:"architecture,omitempty"` // "x64" or "Arm64"
	// Zones are the zones that offer it; empty: only regions offer it.
	Zones []string `json:"zones,omitempty"`
	// Plain: it supports no accelerated networking, no premium storage and no ephemeral disks.
	Plain bool `json:"plain,omitempty"`
}

// Quotas are the quotas of a subscription in a region; 0: no limit.
type Quotas struct {
	Cores       int64            `json:"cores,omitempty"`
	FamilyCores map[string]int64 `json:"familyCores,omitempty"`
	Addresses   int              `json:"addresses,omitempty"`
}

// The credentials and places of [Sample].
const (
	SampleTenant       = "11111111-1111-1111-1111-111111111111"
	SampleClient       = "22222222-2222-2222-2222-222222222222"
	SampleSecret       = "sesame"
	SampleSubscription = "33333333-3333-3333-3333-333333333333"
	SampleLocation     = "eastus"
	SampleGroup        = "demo-rg"
)

// Sample is an inventory with one account, and the network, images and sizes of the examples of both APIs.
func Sample() Inventory {
	return Inventory{
		Accounts: []Account{{
			Tenant: SampleTenant, ClientID: SampleClient, ClientSecret: SampleSecret, Assertion: "*", Subscription: SampleSubscription,
		}},
		Locations: []Location{
			{Name: "eastus", Zones: []string{"1", "2", "3"}}, {Name: "westeurope", Zones: []string{"1", "2", "3"}}, {Name: "westus"},
		},
		ResourceGroups: []string{SampleGroup, "shoot--demo--a"},
		Networks: []Network{
			{ResourceGroup: SampleGroup, Name: "demo-vnet", Subnets: []Subnet{
				{Name: "demo-worker-subnet", Prefixes: []string{"10.0.128.0/17"}},
				{Name: "demo-master-subnet", Prefixes: []string{"10.0.0.0/17"}},
				{Name: "demo-dual-subnet", Prefixes: []string{"10.1.0.0/16", "fd00:1::/64"}},
			}},
			{ResourceGroup: "shoot--demo--a", Name: "shoot--demo--a", Subnets: []Subnet{{Name: "shoot--demo--a-nodes", Prefixes: []string{"10.250.0.0/16"}}}},
		},
		LoadBalancers: []LoadBalancer{
			{ResourceGroup: SampleGroup, Name: "demo", Pools: []string{"demo"}, NatRules: []string{"ssh-0", "ssh-1"}},
			{ResourceGroup: SampleGroup, Name: "demo-internal", Internal: true, Pools: []string{"demo-internal"}},
		},
		Others: []string{
			"/resourceGroups/demo-rg/providers/Microsoft.Network/networkSecurityGroups/demo-nsg",
			"/resourceGroups/demo-rg/providers/Microsoft.Network/applicationSecurityGroups/demo-asg",
			"/resourceGroups/demo-rg/providers/Microsoft.ManagedIdentity/userAssignedIdentities/demo-identity",
			"/resourceGroups/shoot--demo--a/providers/Microsoft.ManagedIdentity/userAssignedIdentities/nodes",
		},
		Images: []Image{
			{ID: "/resourceGroups/demo-rg/providers/Microsoft.Compute/galleries/gallery_demo/images/demo-gen2/versions/latest"},
			{URN: "azureopenshift:aro4:aro_420:9.6.20251015"},
			{URN: "sap:gardenlinux:greatest:1877.4.0"},
			{URN: "vendor:appliance:paid:1.0.0", Plan: true},
		},
		Sizes:  sampleSizes(),
		Quotas: Quotas{Cores: 10000, Addresses: 1000},
	}
}

func sampleSizes() []Size {
	zones := []string{"1", "2", "3"}
	return []Size{
		{Name: "Standard_D2s_v3", Family: "standardDSv3Family", VCPUs: 2, MemoryGB: 8, Zones: zones},
		{Name: "Standard_D4s_v3", Family: "standardDSv3Family", VCPUs: 4, MemoryGB: 16, Zones: zones},
		{Name: "Standard_D8s_v3", Family: "standardDSv3Family", VCPUs: 8, MemoryGB: 32, Zones: zones},
		{Name: "Standard_D4ps_v5", Family: "standardDPSv5Family", VCPUs: 4, MemoryGB: 16, Architecture: "Arm64", Zones: zones},
		{Name: "Standard_NC6s_v3", Family: "standardNCSv3Family", VCPUs: 6, MemoryGB: 112, GPUs: 1, Zones: zones[:1]},
		{Name: "Standard_A2_v2", Family: "standardAv2Family", VCPUs: 2, MemoryGB: 4, Plain: true},
	}
}

func (i *Inventory) size(name string) (Size, bool) {
	for _, s := range i.Sizes {
		if strings.EqualFold(s.Name, name) {
			return s, true
		}
	}
	return Size{}, false
}

func (i *Inventory) location(name string) (Location, bool) {
	for _, l := range i.Locations {
		if strings.EqualFold(l.Name, name) {
			return l, true
		}
	}
	return Location{}, false
}

func (i *Inventory) group(name string) bool {
	for _, g := range i.ResourceGroups {
		if strings.EqualFold(g, name) {
			return true
		}
	}
	return false
}

func (i *Inventory) subnet(group, network, name string) (Subnet, bool) {
	for _, n := range i.Networks {
		if !strings.EqualFold(n.ResourceGroup, group) || !strings.EqualFold(n.Name, network) {
			continue
		}
		for _, s := range n.Subnets {
			if strings.EqualFold(s.Name, name) {
				return s, true
			}
		}
	}
	return Subnet{}, false
}

func (i *Inventory) balancer(group, name string) (LoadBalancer, bool) {
	for _, b := range i.LoadBalancers {
		if strings.EqualFold(b.ResourceGroup, group) && strings.EqualFold(b.Name, name) {
			return b, true
		}
	}
	return LoadBalancer{}, false
}

// image finds an image by URN or by ID, with or without the subscription.
func (i *Inventory) image(name string) int {
	for n, image := range i.Images {
		if image.URN != "" && strings.EqualFold(image.URN, name) || image.ID != "" && strings.EqualFold(withoutSubscription(image.ID), withoutSubscription(name)) {
			return n
		}
	}
	return -1
}

func withoutSubscription(id string) string {
	if rest, ok := cutFold(id, "/subscriptions/"); ok {
		if _, below, ok := strings.Cut(rest, "/"); ok {
			return "/" + below
		}
	}
	return id
}

func cutFold(text, prefix string) (string, bool) {
	if len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix) {
		return text[len(prefix):], true
	}
	return text, false
}
