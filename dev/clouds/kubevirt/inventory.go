package kubevirt

// Inventory is what a cluster has before anybody makes anything.
type Inventory struct {
	Namespaces []Namespace `json:"namespaces"`
	Users      []User      `json:"users"`
	// Region and Zones are those of its nodes.
	Region string   `json:"region"`
	Zones  []string `json:"zones"`
	// Claims are there in each namespace, to be cloned or shown. Networks are those of Multus.
	Claims   []string `json:"claims"`
	Networks []string `json:"networks"`
	// Room is how many virtual machines a zone has room for.
	Room map[string]int `json:"room,omitempty"`
}

// Namespace is an account.
type Namespace struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Sample is a small cluster in which the manifests of the documentation work.
func Sample() Inventory {
	return Inventory{
		Namespaces: []Namespace{
			{"demo", "1f6a0b52-8f0e-4a52-9f57-2f6d2d3c8a01"},
			{"other", "7c0f3d1e-53a8-4b7d-8a44-90a1c5be2b02"},
		},
		Users: []User{
			{Name: "system:serviceaccount:demo:machines", Token: "secret", Namespace: "demo"},
			{Name: "system:serviceaccount:other:machines", Token: "other-secret", Namespace: "other"},
		},
		Region: "region-1", Zones: []string{"zone-1", "zone-2"}, Claims: []string{"rhcos"}, Networks: []string{"default/machines", "storage"},
	}
}
