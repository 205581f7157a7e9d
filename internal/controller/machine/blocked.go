package machine

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// obstacle is why a deletion makes no progress; empty if it does, or waits only for pods that are
// terminating and an instance that is being removed.
func obstacle(out lifecycle.Outcome) string {
	switch out.Reason {
	case lifecycle.ReasonDrainBlockedHook, lifecycle.ReasonTerminateHook, lifecycle.ReasonDeletionNeedsHelp,
		lifecycle.ReasonTerminateFailed, lifecycle.ReasonNodeUnknown, lifecycle.ReasonContradicted,
		lifecycle.ReasonTargetReplaced, lifecycle.ReasonNodeDoubted:
		return string(out.Reason)
	case lifecycle.ReasonDraining:
		d := out.World.Drain.Result
		if d != nil && (len(d.Blocked) > 0 || len(d.Evict)+len(d.Delete)+len(d.Waiting) == 0) {
			return string(out.Reason)
		}
	}
	return ""
}

// blocked is machine_deletion_blocked_seconds: a series for each machine as long as its deletion is
// blocked. It counts from when this process first saw the machine blocked for that reason, and is computed
// at each scrape, because a blocked machine may have no event for hours.
type blocked struct {
	desc *prometheus.Desc
	mu   sync.Mutex
	all  map[blockedKey]blockade
}

type blockedKey struct {
	api     string
	machine types.NamespacedName
}

type blockade struct {
	reason string
	since  time.Time
	clock  clock.PassiveClock
}

func newBlocked() *blocked {
	return &blocked{
		desc: prometheus.NewDesc("machine_deletion_blocked_seconds",
			"Seconds for which the deletion of a machine has been blocked by an obstacle that the controller cannot remove.",
			[]string{"api", "namespace", "name", "reason"}, nil),
		all: map[blockedKey]blockade{},
	}
}

// note records why a machine is blocked; an empty reason records that it is not.
func (b *blocked) note(key blockedKey, reason string, c clock.PassiveClock) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case reason == "":
		delete(b.all, key)
	case b.all[key].reason != reason:
		b.all[key] = blockade{reason: reason, since: c.Now(), clock: c}
	}
}

// Describe implements [prometheus.Collector].
func (b *blocked) Describe(to chan<- *prometheus.Desc) { to <- b.desc }

// Collect implements [prometheus.Collector].
func (b *blocked) Collect(to chan<- prometheus.Metric) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, one := range b.all {
		to <- prometheus.MustNewConstMetric(b.desc, prometheus.GaugeValue, one.clock.Since(one.since).Seconds(),
			key.api, key.machine.Namespace, key.machine.Name, one.reason)
	}
}
