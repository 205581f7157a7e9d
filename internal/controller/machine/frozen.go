package machine

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// distrust is why a pass waits because the target cluster is not trusted; empty if it does not wait.
func distrust(out lifecycle.Outcome) string {
	if out.Reason == lifecycle.ReasonTargetReplaced || out.Reason == lifecycle.ReasonNodeDoubted {
		return string(out.Reason)
	}
	return ""
}

// frozen is millwright_machines_frozen: how many machines wait for that, by the last pass over each. A
// reason without such machines has no series.
type frozen struct {
	desc *prometheus.Desc
	mu   sync.Mutex
	all  map[blockedKey]string
}

func newFrozen() *frozen {
	return &frozen{
		desc: prometheus.NewDesc("millwright_machines_frozen",
			"Machines about which the controller decides nothing, because the target cluster is not the one that they joined (TargetClusterReplaced), "+
				"or lacks most nodes of the fleet (NodesMissingTogether).",
			[]string{"api", "namespace", "reason"}, nil),
		all: map[blockedKey]string{},
	}
}

// note records why a machine waits; an empty reason records that it does not.
func (f *frozen) note(key blockedKey, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if reason == "" {
		delete(f.all, key)
		return
	}
	f.all[key] = reason
}

// Describe implements [prometheus.Collector].
func (f *frozen) Describe(to chan<- *prometheus.Desc) { to <- f.desc }

// Collect implements [prometheus.Collector].
func (f *frozen) Collect(to chan<- prometheus.Metric) {
	f.mu.Lock()
	defer f.mu.Unlock()
	count := map[[3]string]int{}
	for key, reason := range f.all {
		count[[3]string{key.api, key.machine.Namespace, reason}]++
	}
	for labels, n := range count {
		to <- prometheus.MustNewConstMetric(f.desc, prometheus.GaugeValue, float64(n), labels[:]...)
	}
}
