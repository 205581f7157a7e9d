package machine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// durations are the mcm_* gauges of durations for a machine of a deployment, with the counters beside them
// (section 7.2 of the Gardener notes). All labels are always present; an unknown value is empty (C5).
// Machines without a deployment are not measured.
type durations struct {
	created, initialized, joined, deleted, drained *prometheus.GaugeVec
	// unjoined counts machines that failed because no node joined for them in time.
	unjoined *prometheus.CounterVec
	groups   *groups
}

func newDurations(r prometheus.Registerer) durations {
	labels := []string{"namespace", "machine_deployment", "instance_type", "zone"}
	gauge := func(name, help string, labels []string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		r.MustRegister(g)
		return g
	}
	d := durations{
		created:     gauge("mcm_machine_create_duration_seconds", "Seconds from the creation of the last machine until its instance existed.", labels),
		initialized: gauge("mcm_machine_initialize_duration_seconds", "Seconds that the last initialization of a new instance took.", labels),
		joined:      gauge("mcm_machine_join_duration_seconds", "Seconds from the creation of the last machine until it was Running.", labels),
		deleted:     gauge("mcm_machine_delete_duration_seconds", "Seconds from the deletion request of the last machine until the machine no longer existed.", labels),
		drained:     gauge("mcm_machine_drain_duration_seconds", "Seconds that the drain of the last machine took.", labels[:2]),
		unjoined: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mcm_machine_num_failed_join", Help: "Machines that failed because their node did not join in time.",
		}, labels),
		groups: &groups{},
	}
	r.MustRegister(d.unjoined)
	return d
}

func rounded(d time.Duration) float64 { return d.Round(time.Second).Seconds() }

// measure records the durations of the steps that a pass over a machine completed.
func (t eventReporter[M]) measure(ctx context.Context, out lifecycle.Outcome) {
	_, deployment := t.Dialect.Group(t.m)
	if t.Metrics == nil || deployment == "" {
		return
	}
	d := &t.Metrics.durations
	labels := []string{t.view.Namespace, deployment, t.mem.timed.instanceType, t.mem.timed.zone}
	if out.Did(lifecycle.Create) && out.World.Retry.Step != lifecycle.Create && !t.mem.timed.made.IsZero() {
		d.created.WithLabelValues(labels...).Set(rounded(t.mem.timed.made.Sub(t.view.Created)))
	}
	if out.Did(lifecycle.Initialize) && out.World.Retry.Step != lifecycle.Initialize {
		d.initialized.WithLabelValues(labels...).Set(rounded(t.mem.timed.initializing))
	}
	if joins(t.was, out) {
		d.joined.WithLabelValues(labels...).Set(rounded(out.At.Sub(t.view.Created)))
	}
	if out.Did(lifecycle.Fail) && out.Reason == lifecycle.ReasonJoinTimeout {
		d.unjoined.WithLabelValues(labels...).Inc()
	}
	if t.view.Deleted.IsZero() {
		return
	}
	if drain := out.World.Drain.Result; drain != nil && drain.Done && !t.mem.timed.drained {
		t.mem.timed.drained = true
		d.drained.WithLabelValues(labels[:2]...).Set(rounded(out.At.Sub(t.mem.timed.drainSince)))
	}
	if out.Did(lifecycle.RemoveFinalizer) {
		d.deleted.WithLabelValues(labels...).Set(rounded(out.At.Sub(t.view.Deleted)))
		over := d.groups.deleted(group{t.Dialect.API(), t.view.Namespace, deployment}, func() map[group]bool { return t.livingGroups(ctx) })
		d.forget(over)
	}
}

// joins reports whether the machine runs for the first time.
func joins(was lifecycle.Machine, out lifecycle.Outcome) bool {
	switch was.Stage {
	case lifecycle.StageNew, lifecycle.StageCreating, lifecycle.StageCrashing, lifecycle.StageJoining:
		return out.Stage == lifecycle.StageRunning && was.Deleted.IsZero()
	}
	return false
}

func (d *durations) forget(over []group) {
	for _, g := range over {
		of := prometheus.Labels{"namespace": g.namespace, "machine_deployment": g.name}
		for _, v := range []*prometheus.GaugeVec{d.created, d.initialized, d.joined, d.deleted, d.drained} {
			v.DeletePartialMatch(of)
		}
		d.unjoined.DeletePartialMatch(of)
	}
}

// rememberedGroups is how many groups keep their series after their machines: those of the last deletions.
// Other groups have series while they have machines, since every rollout may create a set with a new name.
const rememberedGroups = 100

// groups are the deployments and sets that have series; those with the latest deletion come last. A group
// without a deletion still has its machines.
type groups struct {
	mu  sync.Mutex
	all []group
	// most is the number of groups above which the existing ones are looked up.
	most int
}

type group struct{ api, namespace, name string }

// deleted moves g to the end. It returns the groups of the same API that have ended. living returns the
// groups that have machines; nil: unknown.
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

// livingGroups are the groups that have machines; nil if they are unknown.
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
