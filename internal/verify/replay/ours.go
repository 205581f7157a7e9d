package replay

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

// ours is the engine, with one check over the whole fleet.
type ours struct {
	check  health.Check
	judged map[types.UID]*health.Judged
	memory health.Memory
	seen   connectivity.State
	// due is when to make another plan though nothing changed.
	due time.Time
}

// epoch is when outages begin.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newOurs(most health.Limit, mode health.Mode) *ours {
	c := health.Check{
		Conditions:     []health.Condition{{Type: "Ready", Status: "Unknown", Timeout: conditionTimeout}, {Type: "Ready", Status: "False", Timeout: conditionTimeout}},
		StartupTimeout: startupTimeout, MaxUnhealthy: most, Remediation: health.Delete, Breaker: health.DefaultBreaker(),
	}
	c.Breaker.Mode = mode
	policy := connectivity.Policy{Timeout: 30 * time.Second, Interval: tick}
	r := &ours{check: c, judged: map[types.UID]*health.Judged{}, seen: connectivity.Begin(epoch.Add(-time.Hour), policy, connectivity.Target)}
	for at := -time.Hour; at <= 0; at += tick { // a process that was there all along
		r.glance(at, connectivity.Reachable)
	}
	return r
}

func (r *ours) glance(at time.Duration, a connectivity.Answer) {
	r.seen = r.seen.After(connectivity.Probe{At: epoch.Add(at), Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Target: a}})
}

func (r *ours) dark(w *world) { r.glance(w.now, connectivity.Unreachable) }

func (r *ours) look(w *world) {
	now := epoch.Add(w.now)
	r.glance(w.now, connectivity.Reachable)
	there, judged, changed := map[types.UID]*machine{}, map[types.UID]*health.Judged{}, !r.due.IsZero() && !now.Before(r.due)
	for _, m := range w.machines {
		t := m.target(w.now)
		there[t.UID] = m
		last := r.judged[t.UID]
		if last == nil || !last.Stands(now, &t) {
			j := health.Judge(now, r.seen, &r.check, last, &t)
			last, changed = &j, true
		}
		judged[t.UID] = last
	}
	changed = changed || len(judged) != len(r.judged)
	if r.judged = judged; !changed {
		return
	}
	view := health.Look(r.seen, now)
	view.Nodes = len(w.machines)
	fleet := health.Cohort{Check: r.check, Seen: r.seen, Machines: slices.Collect(maps.Values(judged))}
	p := health.Decide(now, fleet, view, r.memory)
	r.memory, r.due = p.Memory, p.Due
	for _, c := range p.Cases {
		if c.Act == health.Do {
			w.remove(there[c.Target.UID])
		}
	}
}

// target is a machine as the engine sees it.
func (m *machine) target(now time.Duration) health.Target {
	name := fmt.Sprintf("%s-%03d", m.group.Set, m.serial)
	t := health.Target{
		UID: types.UID(name), Name: name, Created: epoch.Add(m.created), Deleting: m.deleted != never, Failed: m.gone,
		Owner: health.Owner{UID: types.UID(m.group.Set), Kind: "MachineSet", Name: m.group.Set},
		Zone:  m.group.Zone, Template: m.group.Template + " of " + m.group.Set,
	}
	if now >= m.updated() {
		t.Updated = epoch.Add(m.updated())
	}
	if !m.linked {
		return t
	}
	t.NodeName = name
	if !m.gone {
		t.Node = &health.Node{
			Name: name, Zone: m.group.Zone, Rack: m.group.Rack,
			Conditions: []health.NodeCondition{{Type: "Ready", Status: m.ready, Since: epoch.Add(m.since)}},
		}
	}
	return t
}
