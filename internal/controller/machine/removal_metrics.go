package machine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// removalMetrics are about machines on their way out.
type removalMetrics struct {
	blocked *blocked
	// failed is mapi_instance_delete_failed. Its reasons are kinds of errors,
	// and its series go with their machine: the original has one for each text
	// of an error, for ever.
	failed *prometheus.CounterVec
	// took and drained are the mcm_* gauges of how long the last deletion of a
	// deployment's machine took, and its drain. All labels are always there;
	// what is not known is empty (C5).
	took, drained *prometheus.GaugeVec
	groups        *groups
}

// rememberedGroups are those of which a machine was deleted last: they keep their
// series. Others do while they have machines, since with every rollout there may
// be a set with a new name.
const rememberedGroups = 100

// groups are the deployments and sets that have series, the one of which a machine
// was deleted last at the end.
type groups struct {
	mu  sync.Mutex
	all []group
	// most is how many there may be before it is asked which of them are left.
	most int
}

type group struct{ api, namespace, name string }

// deleted puts g at the end. It returns the groups of the same API that are over.
// living tells which have machines; nil: nobody knows.
func (s *groups) deleted(g group, living func() map[group]bool) (over []group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(slices.DeleteFunc(s.all, func(o group) bool { return o == g }), g)
	if len(s.all) < max(s.most, 2*rememberedGroups) {
		return nil
	}
	left, n := living(), len(s.all)-rememberedGroups
	for _, o := range s.all[:n] {
		if left != nil && o.api == g.api && !left[o] {
			over = append(over, o)
		}
	}
	s.all = slices.DeleteFunc(s.all, func(o group) bool { return slices.Contains(over, o) })
	s.most = 2 * len(s.all)
	return over
}

func newRemovalMetrics(r prometheus.Registerer) removalMetrics {
	m := removalMetrics{
		blocked: newBlocked(),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mapi_instance_delete_failed", Help: "Number of times provider instance delete has failed.",
		}, []string{"name", "namespace", "reason"}),
		took: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "mcm_machine_delete_duration_seconds", Help: "Seconds from the deletion of the last machine to its end.",
		}, []string{"namespace", "machine_deployment", "instance_type", "zone"}),
		drained: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "mcm_machine_drain_duration_seconds", Help: "Seconds that the drain of the last machine took.",
		}, []string{"namespace", "machine_deployment"}),
		groups: &groups{},
	}
	r.MustRegister(m.blocked, m.failed, m.took, m.drained)
	return m
}

// livingGroups are those that have machines; nil when they cannot be told.
func (r *Reconciler[M]) livingGroups(ctx context.Context) map[group]bool {
	list := r.Dialect.NewList()
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	out := map[group]bool{}
	for m := range dialect.Items[M](list) {
		_, name := r.Dialect.Group(m)
		out[group{r.Dialect.API(), m.GetNamespace(), name}] = true
	}
	return out
}

func rounded(d time.Duration) float64 { return d.Round(time.Second).Seconds() }

// forget ends the series of a machine that is gone.
func (m *Metrics) forget(api string, machine types.NamespacedName) {
	if m == nil {
		return
	}
	m.removal.blocked.note(blockedKey{api: api, machine: machine}, "", nil)
	m.removal.failed.DeletePartialMatch(prometheus.Labels{"name": machine.Name, "namespace": machine.Namespace})
}

// obstacle is why a deletion does not get on; empty when it does, or waits for
// nothing but pods that are ending and an instance that is being removed.
func obstacle(out lifecycle.Outcome) string {
	switch out.Reason {
	case lifecycle.ReasonDrainBlockedHook, lifecycle.ReasonTerminateHook, lifecycle.ReasonDeletionNeedsHelp,
		lifecycle.ReasonTerminateFailed, lifecycle.ReasonNodeUnknown, lifecycle.ReasonContradicted:
		return string(out.Reason)
	case lifecycle.ReasonDraining:
		d := out.World.Drain.Result
		if d != nil && (len(d.Blocked) > 0 || len(d.Evict)+len(d.Delete)+len(d.Waiting) == 0) {
			return string(out.Reason)
		}
	}
	return ""
}

// blocked is machine_deletion_blocked_seconds: a series for each machine whose
// deletion is blocked, as long as it is. It counts from when this process first
// saw the machine blocked for that reason, and at the time it is read, because
// nothing may happen to a blocked machine for hours.
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
			"Seconds for which the deletion of a machine has been blocked by something that it cannot remove itself.",
			[]string{"api", "namespace", "name", "reason"}, nil),
		all: map[blockedKey]blockade{},
	}
}

// note says that a machine is blocked for a reason, or with an empty one that it
// is not.
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
