package yandex

import "slices"

// Inventory is the initial content of a cloud.
type Inventory struct {
	// Folders are the IDs of the folders.
	Folders         []string         `json:"folders"`
	ServiceAccounts []ServiceAccount `json:"serviceAccounts"`
	Zones           []string         `json:"zones"`
	Images          []Image          `json:"images"`
	Platforms       []Platform       `json:"platforms"`
	DiskTypes       []string         `json:"diskTypes"`
	Subnets         []Subnet         `json:"subnets"`
	Addresses       []Address        `json:"addresses,omitempty"`
	Quotas          Quotas           `json:"quotas,omitzero"`
	// Capacity is the number of instances by "zone" or "zone/platform"; without an entry, it is unlimited.
	Capacity map[string]int `json:"capacity,omitempty"`
}

// ServiceAccount is a service account with roles in a folder.
type ServiceAccount struct {
	ID     string `json:"id"`
	Folder string `json:"folder"`
	// Roles are the roles in the folder. Without roles, the account may call everything.
	Roles []string `json:"roles,omitempty"`
	Keys  []Key    `json:"keys,omitempty"`
}

// Key is an authorized key of a service account.
type Key struct {
	ID string `json:"id"`
	// Public is the public key in PEM format.
	Public string `json:"public"`
}

// accountKey is a key with its account and the account's folder.
type accountKey struct {
	account, folder string
	Key
}

// account is the index of a service account; -1 if it does not exist.
func (v Inventory) account(id string) int {
	return slices.IndexFunc(v.ServiceAccounts, func(a ServiceAccount) bool { return a.ID == id })
}

func (v Inventory) keys() (all []accountKey) {
	for _, a := range v.ServiceAccounts {
		for _, k := range a.Keys {
			all = append(all, accountKey{a.ID, a.Folder, k})
		}
	}
	return all
}

// Image is an image.
type Image struct {
	ID string `json:"id"`
	// MinDisk is the least size of a disk in bytes.
	MinDisk int64 `json:"minDisk,omitempty"`
}

// Platform is a hardware platform.
type Platform struct {
	ID string `json:"id"`
	// GPUs are the possible numbers of GPUs; empty: none.
	GPUs []int64 `json:"gpus,omitempty"`
	// Zones are the zones that offer it; empty: all.
	Zones []string `json:"zones,omitempty"`
}

// Subnet is a subnet.
type Subnet struct {
	ID   string `json:"id"`
	Zone string `json:"zone"`
	CIDR string `json:"cidr"`
}

// Address is a reserved public address.
type Address struct {
	ID      string `json:"id"`
	Folder  string `json:"folder"`
	Address string `json:"address"`
}

// Quotas limit a cloud; 0 means no limit.
type Quotas struct {
	// Cores limits the vCPUs of all instances.
	Cores int64 `json:"cores,omitempty"`
	// Instances limits the number of instances.
	Instances int `json:"instances,omitempty"`
	// Operations limits the operations in progress in a folder.
	Operations int `json:"operations,omitempty"`
}

const gib = 1 << 30

// The folder and the service account of the sample.
const (
	SampleFolder  = "b1gexample0000000001"
	SampleAccount = "ajeexample0000000001"
)

// Sample is an inventory for the examples. Its service account has no key yet.
func Sample() Inventory {
	return Inventory{
		Folders:         []string{SampleFolder},
		ServiceAccounts: []ServiceAccount{{ID: SampleAccount, Folder: SampleFolder}},
		Zones:           []string{"ru-central1-a", "ru-central1-b", "ru-central1-d"},
		Images:          []Image{{ID: "fd8example0000000001", MinDisk: 5 * gib}, {ID: "fd8example0000000002", MinDisk: 5 * gib}},
		Platforms:       []Platform{{ID: "standard-v3"}, {ID: "standard-v2"}, {ID: "gpu-standard-v3", GPUs: []int64{1, 2, 4, 8}, Zones: []string{"ru-central1-a"}}},
		DiskTypes:       []string{"network-hdd", "network-ssd", "network-ssd-nonreplicated"},
		Subnets: []Subnet{
			{ID: "e9bexample0000000001", Zone: "ru-central1-a", CIDR: "10.128.0.0/20"},
			{ID: "e2lexample0000000001", Zone: "ru-central1-b", CIDR: "10.129.0.0/20"},
			{ID: "fl8example0000000001", Zone: "ru-central1-d", CIDR: "10.130.0.0/20"},
		},
		Addresses: []Address{
			{ID: "e9baddress0000000001", Folder: SampleFolder, Address: "84.201.128.10"},
			{ID: "e9baddress0000000002", Folder: SampleFolder, Address: "84.201.128.11"},
		},
	}
}
