package sim

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/health"
	"github.com/millwright-dev/millwright/internal/sight"
	"github.com/millwright-dev/millwright/internal/sim/store"
)

// The statements about health checks. What a check does is judged when it asks
// for it, whatever becomes of the call, by what the pass could see when it began
// and by what really happened since.
const (
	// BudgetKept: machines that are unhealthy, that the check gave up, or that are
	// gone and not replaced, count.
	BudgetKept = "a check never remedies anything while more machines are unhealthy or being remedied than its budget allows"
	// RateKept is about checks whose breaker enforces.
	RateKept = "an enforcing check begins no more remedies within an hour than it may"
	// SightedOnly: not while a cluster is out of reach, nor for a minute after,
	// but for what began since.
	SightedOnly = "no check remedies anything while blind, or for what it may have been blind to"
	// WatchedOnly: what happened in an outage, or before the process started,
	// does not count.
	WatchedOnly = "no check counts time in which nobody watched"
	// HealthyStay: only what was unhealthy for longer than its timeout is remedied.
	HealthyStay = "a machine that is not unhealthy beyond its timeout is never remedied"
	// PausedRests is about checks that people paused.
	PausedRests = "a paused check remedies nothing"
	// ChosenOnly: machines that the check does not select, those of another API
	// without its being asked for, those that people spare, and those that nobody
	// would replace.
	ChosenOnly = "a check remedies only what it selects and somebody replaces"
	// SickGo is what is promised when the faults have stopped.
	SickGo = "every machine that stays unhealthy beyond its timeout and within the budget is replaced"
)

// round is what the controller of health checks could see when a pass began.
type round struct {
	check *check
	under map[types.UID]health.Target
}

func (p *process) round(key client.ObjectKey) (r round) {
	if c, ok := p.view(&check{}).Lookup(key).(*check); ok {
		r.check, r.under = c, p.selected(c)
	}
	return r
}

// versionOf is the version of an object.
func versionOf(o client.Object) int64 {
	v, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// judgeRemedy judges that a check asks for the deletion of a machine. What a
// deposed process has on the wire nobody can stop.
func (p *process) judgeRemedy(c store.Call, before snapshot) {
	w, r, m := p.w, before.round, c.Object
	if r.check == nil {
		return
	}
	t, selected := r.under[m.GetUID()]
	first := !w.asked(r.check, m.GetUID())
	if first {
		w.ward.remedies[r.check.UID] = append(w.ward.remedies[r.check.UID], remedy{machine: m.GetUID(), owner: t.Owner.UID, at: before.at})
	}
	// What people changed since the pass saw the check, it may have learnt by its
	// own writes.
	if p.deposed != nil || w.ward.edited[r.check.UID] > versionOf(r.check) {
		return
	}
	_, paused := r.check.Annotations[openshift.PausedAnnotation]
	switch {
	case paused:
		w.broken(PausedRests, "%s gives up machine %s by check %s", p.name(), m.GetName(), r.check.Name)
	case !selected, t.Skip, t.Owner.UID == "":
		w.broken(ChosenOnly, "%s gives up machine %s by check %s: selected %v, spared %v, of owner %q", p.name(), m.GetName(), r.check.Name, selected, t.Skip, t.Owner.UID)
	}
	p.judgeSight(m.GetName(), r, t, before)
	p.judgeSymptoms(m.GetName(), r, t, before)
	w.judgeBudget(r, m.GetUID())
	// What a pass before this one began, by what the check said then, goes on.
	begun := slices.ContainsFunc(dialect.ReadMemory(r.check).Past, func(p health.Past) bool { return p.Machine == m.GetUID() })
	if first && !begun {
		w.judgeRate(r, m.GetName())
	}
}

// sighted is since when the process has seen everything without a gap that it
// must have noticed: who looks every few seconds may miss a shorter one.
func (p *process) sighted() time.Time {
	since := p.born
	for _, o := range p.w.outages {
		if o.to.After(since) && !o.to.After(p.w.now) && o.to.Sub(o.from) >= looks.Interval {
			since = o.to
		}
	}
	return since
}

// judgeSight is about outages. A look that is due finds out.
func (p *process) judgeSight(machine string, r round, t health.Target, before snapshot) {
	w := p.w
	if !w.is.outages {
		return
	}
	if n := len(w.outages); n > 0 && w.outages[n-1].at(before.at) && before.at.Sub(w.outages[n-1].from) > looks.Interval {
		w.broken(SightedOnly, "%s gives up machine %s, %v after the API server of the cluster %s went out of reach",
			p.name(), machine, before.at.Sub(w.outages[n-1].from), w.clusterOf(w.outages[n-1].of))
	}
	since := p.sighted()
	if before.at.Sub(since) >= sight.Settle-time.Second {
		return
	}
	fresh := func(s symptom) bool { return !s.from.Before(since.Add(-time.Second - p.wrong(s))) }
	if !slices.ContainsFunc(symptoms(prescription(r.check), t), fresh) {
		w.broken(SightedOnly, "%s gives up machine %s, %v after sight began, for what was so before", p.name(), machine, before.at.Sub(since))
	}
}

// wrong is by how much the process may be off about the age of s.
func (p *process) wrong(s symptom) time.Duration {
	if s.ours {
		return 2 * p.w.is.skew
	}
	return max(p.skew, -p.skew)
}

// judgeSymptoms asks whether there is a reason.
func (p *process) judgeSymptoms(machine string, r round, t health.Target, before snapshot) {
	w, all := p.w, symptoms(prescription(r.check), t)
	ripe := func(s symptom, lasted time.Duration) bool { return lasted >= s.timeout-time.Second-p.wrong(s) }
	is := func(s symptom) bool {
		if s.what == nodeGone {
			n := w.node(t.NodeName)
			return n == nil || !n.CreationTimestamp.Time.Before(before.at.Truncate(time.Second))
		}
		return ripe(s, w.now.Sub(s.from))
	}
	if !slices.ContainsFunc(all, is) {
		w.broken(HealthyStay, "machine %s is given up by check %s, and has: %+v", machine, r.check.Name, all)
	}
	if !w.is.outages {
		return
	}
	// Who started later has watched only since.
	watched := func(s symptom) bool {
		from := s.from
		if p.born.After(from) {
			from = p.born
		}
		return s.timeout == 0 || is(s) && ripe(s, w.watched(from))
	}
	if !slices.ContainsFunc(all, watched) {
		w.broken(WatchedOnly, "machine %s is given up by check %s after %v in sight, and has: %+v", machine, r.check.Name, w.watched(p.born), all)
	}
}

// judgeBudget counts what the pass could see, and what is being remedied.
func (w *World) judgeBudget(r round, machine types.UID) {
	v, count := prescription(r.check), map[types.UID]bool{machine: true}
	for uid, t := range r.under {
		if ill(v, t) {
			count[uid] = true
		}
	}
	under := w.under(r.check, w.truth())
	for uid, t := range under {
		if t.Deleting && w.asked(r.check, uid) {
			count[uid] = true
		}
	}
	gone := w.unreplaced(w.ward.remedies[r.check.UID], func(types.UID) bool { return true })
	for _, g := range gone {
		if w.wantsMore(g.owner) {
			count[g.machine] = true
		}
	}
	most := budget(r.check, max(len(r.under), len(under))+len(gone))
	if len(count) > most {
		w.broken(BudgetKept, "check %s, which may have %d of %d machines unhealthy, gives up machine %s while it has %d", r.check.Name, most, len(under), machine, len(count))
	}
}

// wantsMore reports whether a set has fewer machines than it is to have.
func (w *World) wantsMore(set types.UID) bool {
	for _, s := range w.store.All(w.tells.set) {
		if s.GetUID() == set {
			return s.GetDeletionTimestamp() == nil && len(w.members(s)) < w.tells.size(s)
		}
	}
	return false
}

// judgeRate counts what began within the hour. Times are remembered by the clock
// of whoever began.
func (w *World) judgeRate(r round, machine string) {
	if r.check.Annotations[dialect.BreakerAnnotation] != string(health.Enforce) {
		return
	}
	window := time.Hour - longestPause - 2*time.Second - 2*w.is.skew
	n := 0
	for _, b := range w.ward.remedies[r.check.UID] {
		if w.now.Sub(b.at) < window {
			n++
		}
	}
	most := hourly(r.check, max(len(r.under), len(w.under(r.check, w.truth())))+len(w.ward.remedies[r.check.UID]))
	if n > most {
		w.broken(RateKept, "check %s gives up machine %s, the %dth within the hour, and may %d", r.check.Name, machine, n, most)
	}
}
