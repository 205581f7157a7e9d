package run

import (
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// The leases of machine.openshift.io are named for what leads under them: a
// provider, or one of the controllers that know none.
const (
	leasePrefix = "cluster-api-provider-"
	leaseSuffix = "-leader"
)

// providerless are the controllers of machine.openshift.io that lead under a name
// like that of a provider.
var providerless = []string{"machineset", "healthcheck", "nodelink"}

// MachineLease is the lease of the machine controller of a provider, and SetLease
// that of the controllers of sets and deployments: those under which the originals
// lead, so that two never act at the same time.
func MachineLease(api, plugin string) string {
	if api == provider.Gardener {
		return "machine-controller"
	}
	return leasePrefix + plugin + leaseSuffix
}

// SetLease is told at [MachineLease].
func SetLease(api string) string {
	if api == provider.Gardener {
		return "machine-controller-manager"
	}
	return leasePrefix + providerless[0] + leaseSuffix
}

// LeadsMachines reports whether a machine controller of the API, of any provider,
// leads under the lease of that name.
func LeadsMachines(api, lease string) bool {
	if api == provider.Gardener {
		return lease == MachineLease(api, "")
	}
	plugin, begins := strings.CutPrefix(lease, leasePrefix)
	plugin, ends := strings.CutSuffix(plugin, leaseSuffix)
	return begins && ends && plugin != "" && !slices.Contains(providerless, plugin)
}
