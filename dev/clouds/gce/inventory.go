package gce

import (
	"cmp"
	"slices"
	"strings"
)

// Inventory is the initial content of a project.
type Inventory struct {
	// Project is the ID, Number the number of the project. No other projects exist, except those that images, networks and
	// subnetworks name.
	Project string `json:"project"`
	Number  string `json:"number"`

	Regions          []Region          `json:"regions"`
	MachineTypes     []MachineType     `json:"machineTypes"`
	AcceleratorTypes []AcceleratorType `json:"acceleratorTypes,omitempty"`
	DiskTypes        []string          `json:"diskTypes"`
	Images           []Image           `json:"images"`
	Networks         []Network         `json:"networks"`
	Subnetworks      []Subnetwork      `json:"subnetworks"`
	ServiceAccounts  []ServiceAccount  `json:"serviceAccounts"`
	// Federations accept external identities (workload identity federation).
	Federations []Federation `json:"federations,omitempty"`
	// TargetPools and BackendServices are load balancers without instances; their names are unique in a region.
	TargetPools     []Regional `json:"targetPools,omitempty"`
	BackendServices []Regional `json:"backendServices,omitempty"`
	TagValues       []TagValue `json:"tagValues,omitempty"`
	// InsideOnly is the organization policy compute.vmExternalIpAccess: new instances must have no external
	// address.
	InsideOnly bool `json:"insideOnly,omitempty"`
}

// Region is a region with its zones, and the quotas of the project in it, by metric ("CPUS"). Other metrics
// are unlimited.
type Region struct {
	Name   string             `json:"name"`
	Zones  []string           `json:"zones"`
	Quotas map[string]float64 `json:"quotas,omitempty"`
}

// MachineType is offered in the zones, or in all zones.
type MachineType struct {
	Name         string   `json:"name"`
	VCPUs        int64    `json:"vcpus"`
	MemoryMiB    int64    `json:"memoryMiB"`
	Architecture string   `json:"architecture,omitempty"` // X86_64, ARM64
	GPU          string   `json:"gpu,omitempty"`          // the accelerator type that it includes
	GPUs         int64    `json:"gpus,omitempty"`
	Zones        []string `json:"zones,omitempty"`
}

// AcceleratorType is offered in the zones, or in all zones.
type AcceleratorType struct {
	Name  string   `json:"name"`
	Zones []string `json:"zones,omitempty"`
}

// Image is an image of the project, or of the project that it names.
type Image struct {
	Project string `json:"project,omitempty"`
	Name    string `json:"name"`
	Family  string `json:"family,omitempty"`
	SizeGB  int64  `json:"sizeGb,omitempty"`
	// BIOS: the image does not boot with UEFI.
	BIOS         bool   `json:"bios,omitempty"`
	Architecture string `json:"architecture,omitempty"`
}

// Network is a network of the project, or of the project that it names.
type Network struct {
	Project string `json:"project,omitempty"`
	Name    string `json:"name"`
}

// Subnetwork is a subnetwork of the project, or of the project that it names.
type Subnetwork struct {
	Project string `json:"project,omitempty"`
	Region  string `json:"region"`
	Name    string `json:"name"`
	Network string `json:"network"`
	// Prefix is the prefix of its addresses: "10.0.32".
	Prefix string `json:"prefix"`
	// Ranges are the names of its secondary ranges.
	Ranges []string `json:"ranges,omitempty"`
}

// ServiceAccount is an identity of the project.
type ServiceAccount struct {
	Email string `json:"email"`
	// Permissions are its permissions, "compute.instances.*" for all permissions of a kind; empty: all permissions.
	Permissions []string `json:"permissions,omitempty"`
	Keys        []Key    `json:"keys,omitempty"`
}

// Key is the public key of a service account's key, in PEM.
type Key struct {
	ID     string `json:"id"`
	Public string `json:"public"`
}

// Federation exchanges a subject's token for one of a service account.
type Federation struct {
	Audience string `json:"audience"`
	Token    string `json:"token"`
	Email    string `json:"email"`
}

// Regional is a resource of a region.
type Regional struct {
	Region string `json:"region"`
	Name   string `json:"name"`
}

// TagValue is a tag value of Resource Manager, with the names of its parent and key.
type TagValue struct {
	Parent string `json:"parent"`
	Key    string `json:"key"`
	Value  string `json:"value"`
	ID     string `json:"id"`
}

// Sample is an inventory for the examples of the documentation.
func Sample() Inventory {
	zones := func(region string) []string { return []string{region + "-b", region + "-c", region + "-d"} }
	quotas := map[string]float64{"CPUS": 2400, "INSTANCES": 600, "IN_USE_ADDRESSES": 100, "SSD_TOTAL_GB": 100_000, "DISKS_TOTAL_GB": 200_000, "NVIDIA_T4_GPUS": 8, "PREEMPTIBLE_NVIDIA_T4_GPUS": 8}
	return Inventory{
		Project: "rehearsal", Number: "428675309",
		Regions: []Region{{Name: "us-east1", Zones: zones("us-east1"), Quotas: quotas}, {Name: "europe-west1", Zones: zones("europe-west1"), Quotas: quotas}},
		MachineTypes: []MachineType{
			{Name: "n1-standard-4", VCPUs: 4, MemoryMiB: 15360},
			{Name: "n1-standard-8", VCPUs: 8, MemoryMiB: 30720},
			{Name: "n2-standard-4", VCPUs: 4, MemoryMiB: 16384},
			{Name: "n2-standard-8", VCPUs: 8, MemoryMiB: 32768},
			{Name: "n2d-standard-4", VCPUs: 4, MemoryMiB: 16384},
			{Name: "e2-standard-4", VCPUs: 4, MemoryMiB: 16384},
			{Name: "t2a-standard-4", VCPUs: 4, MemoryMiB: 16384, Architecture: arm},
			{Name: "a2-highgpu-1g", VCPUs: 12, MemoryMiB: 87040, GPU: "nvidia-tesla-a100", GPUs: 1},
		},
		AcceleratorTypes: []AcceleratorType{{Name: "nvidia-tesla-t4"}, {Name: "nvidia-tesla-a100"}},
		DiskTypes:        []string{"pd-standard", "pd-balanced", "pd-ssd", "hyperdisk-balanced", "local-ssd"},
		Images: []Image{
			{Project: "rhcos-cloud", Name: "rhcos-414-92-202307070025-0-gcp-x86-64", Family: "rhcos"},
			{Project: "rhcos-cloud", Name: "rhcos-414-92-202307070025-0-gcp-aarch64", Architecture: arm},
			{Project: "sap-se-gcp-gardenlinux", Name: "gardenlinux-gcp-amd64-1877", Family: "gardenlinux"},
			{Name: "old", BIOS: true},
			{Name: "new", Family: "own"},
		},
		Networks: []Network{{Name: "default"}, {Name: "prod-network"}, {Name: "shoot--a--b"}},
		Subnetworks: []Subnetwork{
			{Region: "us-east1", Name: "prod-worker-subnet", Network: "prod-network", Prefix: "10.0.32"},
			{Region: "us-east1", Name: "prod-master-subnet", Network: "prod-network", Prefix: "10.0.0"},
			{Region: "europe-west1", Name: "shoot--a--b-nodes", Network: "shoot--a--b", Prefix: "10.250.0", Ranges: []string{"ipv4-pod-cidr"}},
		},
		ServiceAccounts: []ServiceAccount{
			{Email: "machines@rehearsal.iam.gserviceaccount.com"},
			{Email: "nodes@rehearsal.iam.gserviceaccount.com", Permissions: []string{"logging.*"}},
		},
		TargetPools:     []Regional{{Region: "us-east1", Name: "prod-api"}},
		BackendServices: []Regional{{Region: "us-east1", Name: "prod-api-internal"}},
		TagValues:       []TagValue{{Parent: "rehearsal", Key: "team", Value: "blue", ID: "tagValues/281479440962"}},
	}
}

const (
	intel = "X86_64"
	arm   = "ARM64"
)

// regionOf is the region of a zone: us-east1 of us-east1-b.
func regionOf(zone string) string {
	if i := strings.LastIndexByte(zone, '-'); i > 0 {
		return zone[:i]
	}
	return ""
}

func (v *Inventory) zone(name string) bool {
	return slices.ContainsFunc(v.Regions, func(r Region) bool { return slices.Contains(r.Zones, name) })
}

func (v *Inventory) zones() (all []string) {
	for _, r := range v.Regions {
		all = append(all, r.Zones...)
	}
	return all
}

func (v *Inventory) region(name string) (Region, bool) {
	return find(v.Regions, func(r Region) bool { return r.Name == name })
}

func (v *Inventory) machineType(zone, name string) (MachineType, bool) {
	return find(v.MachineTypes, func(m MachineType) bool {
		return m.Name == name && (len(m.Zones) == 0 || slices.Contains(m.Zones, zone))
	})
}

func (v *Inventory) accelerator(zone, name string) (AcceleratorType, bool) {
	return find(v.AcceleratorTypes, func(a AcceleratorType) bool {
		return a.Name == name && (len(a.Zones) == 0 || slices.Contains(a.Zones, zone))
	})
}

// image finds an image by its name, or the last one of a family.
func (v *Inventory) image(project, name string, family bool) (Image, bool) {
	for _, i := range slices.Backward(v.Images) {
		if cmp.Or(i.Project, v.Project) == project && (family && i.Family == name || !family && i.Name == name) {
			return i, true
		}
	}
	return Image{}, false
}

func (v *Inventory) network(project, name string) (Network, bool) {
	return find(v.Networks, func(n Network) bool { return n.Name == name && cmp.Or(n.Project, v.Project) == project })
}

func (v *Inventory) subnetwork(project, region, name string) (Subnetwork, bool) {
	return find(v.Subnetworks, func(s Subnetwork) bool {
		return s.Name == name && s.Region == region && cmp.Or(s.Project, v.Project) == project
	})
}

func find[T any](all []T, is func(T) bool) (T, bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	var none T
	return none, false
}
