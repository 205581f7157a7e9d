package kubevirt

import "github.com/millwright-dev/millwright/dev/clouds/kubeapi"

// Inventory is the initial content of a cluster.
type Inventory struct {
	Namespaces []kubeapi.Namespace `json:"namespaces"`
	Users      []kubeapi.User      `json:"users"`
	// Region and Zones are the region and zones of its nodes.
	Region string   `json:"region"`
	Zones  []string `json:"zones"`
	// Claims exist in each namespace, as sources of clones and as disks. Networks are Multus networks.
	Claims   []string `json:"claims"`
	Networks []string `json:"networks"`
	// Room is the capacity of a zone, in virtual machines.
	Room map[string]int `json:"room,omitempty"`
}

// Sample is a small cluster for the manifests in the documentation.
func Sample() Inventory {
	return Inventory{
		Namespaces: []kubeapi.Namespace{
			{Name: "demo", UID: "1f6a0b52-8f0e-4a52-9f57-2f6d2d3c8a01"},
			{Name: "other", UID: "7c0f3d1e-53a8-4b7d-8a44-90a1c5be2b02"},
		},
		Users: []kubeapi.User{
			{Name: "system:serviceaccount:demo:machines", Token: "secret", Namespace: "demo"},
			{Name: "system:serviceaccount:other:machines", Token: "other-secret", Namespace: "other"},
		},
		Region: "region-1", Zones: []string{"zone-1", "zone-2"}, Claims: []string{"rhcos"}, Networks: []string{"default/machines", "storage"},
	}
}
