package apis

import (
	"slices"
	"strings"
)

// leases are the names under which the originals lead, so that an original and Millwright never act at the
// same time. A lease that is named for a provider or a controller has that name between prefix and suffix.
type leases struct {
	prefix, suffix string
	// machines is the lease of every machine controller; empty: it is named for the provider.
	machines string
	// sets, checks and links name the leases of the controllers of sets and deployments, of health checks,
	// and of the links between machines and nodes; empty: the API has no own lease for them.
	sets, checks, links string
}

// MachineLease returns the lease of the machine controller of a provider.
func (a API) MachineLease(plugin string) string {
	if a.leases.machines != "" {
		plugin = a.leases.machines
	}
	return a.leases.prefix + plugin + a.leases.suffix
}

// SetLease returns the lease of the controllers of sets and deployments, CheckLease that of health checks,
// LinkLease that of the links between machines and nodes.
func (a API) SetLease() string { return a.leases.prefix + a.leases.sets + a.leases.suffix }

// CheckLease is described at [API.SetLease].
func (a API) CheckLease() string { return a.leases.prefix + a.leases.checks + a.leases.suffix }

// LinkLease is described at [API.SetLease].
func (a API) LinkLease() string { return a.leases.prefix + a.leases.links + a.leases.suffix }

// LeadsMachines reports whether a machine controller of the API, of any provider,
// leads under the lease of that name.
func (a API) LeadsMachines(lease string) bool {
	if a.leases.machines != "" {
		return lease == a.MachineLease("")
	}
	plugin, begins := strings.CutPrefix(lease, a.leases.prefix)
	plugin, ends := strings.CutSuffix(plugin, a.leases.suffix)
	return begins && ends && !slices.Contains([]string{"", a.leases.sets, a.leases.checks, a.leases.links}, plugin)
}
