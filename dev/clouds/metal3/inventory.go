package metal3

import (
	"fmt"

	"github.com/millwright-dev/millwright/dev/clouds/kubeapi"
)

// Inventory is the initial content of a cluster.
type Inventory struct {
	Namespaces []kubeapi.Namespace `json:"namespaces"`
	Users      []kubeapi.User      `json:"users"`
	// Hosts are the free hosts of each namespace.
	Hosts []Hosts `json:"hosts"`
}

// Hosts are several equal hosts.
type Hosts struct {
	// Name is the name of the host if there is only one; otherwise a number is appended: "host-3".
	Name   string            `json:"name"`
	Count  int               `json:"count,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// CPUs and MemoryMiB are the results of inspection. Arch is "x86_64" by default.
	CPUs      int    `json:"cpus"`
	MemoryMiB int    `json:"memoryMiB"`
	Arch      string `json:"arch,omitempty"`
	// ExternallyProvisioned: another system has written their disks.
	ExternallyProvisioned bool `json:"externallyProvisioned,omitempty"`
}

// names are the names of the hosts.
func (h Hosts) names() (all []string) {
	if h.Count == 0 {
		return []string{h.Name}
	}
	for n := range h.Count {
		all = append(all, fmt.Sprintf("%s-%d", h.Name, n+1))
	}
	return all
}

// Sample is a small cluster for the manifests in the documentation.
func Sample() Inventory {
	return Inventory{
		Namespaces: []kubeapi.Namespace{
			{Name: "demo", UID: "3c1f7a52-64d1-4d5e-8b3f-0a6c1f1f7d11"},
			{Name: "other", UID: "b2a94e0c-9a1e-4bb0-8c27-55d0f3a1c822"},
		},
		Users: []kubeapi.User{
			{Name: "system:serviceaccount:demo:machines", Token: "secret", Namespace: "demo"},
			{Name: "system:serviceaccount:other:machines", Token: "other-secret", Namespace: "other"},
		},
		Hosts: []Hosts{
			{Name: "worker", Count: 12, Labels: map[string]string{"role": "worker"}, CPUs: 16, MemoryMiB: 65536},
			{Name: "storage", Count: 12, Labels: map[string]string{"role": "storage"}, CPUs: 32, MemoryMiB: 131072},
		},
	}
}
