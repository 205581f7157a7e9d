package machineset

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// NewStaleMachines is the counter for [Options].StaleMachines (section 7.1 of the Gardener notes).
func NewStaleMachines() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{
		Name: "mcm_machine_stale_machines_total", Help: "Machines that their set deleted because they were unhealthy for too long and failed.",
	})
}

// countStale counts the deleted machines that failed because of the state of their nodes.
func (p *pass[S]) countStale(deleted []replicas.Victim) {
	if p.StaleMachines == nil || p.unhealthy == nil {
		return
	}
	for _, v := range deleted {
		i := slices.IndexFunc(p.machines, func(m client.Object) bool { return m.GetUID() == v.UID })
		if v.Failed && i >= 0 && p.unhealthy.FailedByHealth(p.machines[i]) {
			p.StaleMachines.Inc()
		}
	}
}
