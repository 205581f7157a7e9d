package machinehealthcheck

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

// cohort keeps the machines of a check with their last verdicts, so that an event about one of them costs
// one judgement. It is not safe for concurrent use.
type cohort struct {
	check health.Check
	// seen is how well the nodes could be seen, for the next judgements. Until it is set, all time counts
	// as watched.
	seen     connectivity.State
	machines map[types.UID]*health.Judged
	// ill are those that are not healthy; in a healthy fleet few are.
	ill map[types.UID]*health.Judged
	// changes are the changes of state that no pass has read yet.
	changes []change
}

// change is a change of a machine's state.
type change struct {
	target   health.Target
	was, now health.Verdict
}

// newCohort is the cohort of c without machines.
func newCohort(c health.Check) *cohort {
	return &cohort{check: c, machines: map[types.UID]*health.Judged{}, ill: map[types.UID]*health.Judged{}}
}

// recheck judges all machines by another check.
func (w *cohort) recheck(now time.Time, c health.Check) {
	w.check = c
	for _, j := range w.machines {
		w.judge(now, j, &j.Target)
	}
}

// put judges a machine in its present state, and reports whether that may change the plan. A view equal to
// the last one costs a comparison.
func (w *cohort) put(now time.Time, t health.Target) bool {
	before := w.machines[t.UID]
	if before != nil && before.Stands(now, &t) {
		return false
	}
	shown := t // the comparison alone allocates nothing
	w.judge(now, before, &shown)
	return true
}

// remove forgets a machine that does not exist, or that the check no longer selects, and reports whether
// the cohort had it.
func (w *cohort) remove(uid types.UID) bool {
	_, ok := w.machines[uid]
	delete(w.machines, uid)
	delete(w.ill, uid)
	return ok
}

// retain forgets all machines for which keep returns false.
func (w *cohort) retain(keep func(types.UID) bool) {
	for uid := range w.machines {
		if !keep(uid) {
			w.remove(uid)
		}
	}
}

// tick judges again the machines whose moment has come. A healthy machine has none.
func (w *cohort) tick(now time.Time) {
	for _, j := range w.ill {
		if j.Due(now) {
			w.judge(now, j, &j.Target)
		}
	}
}

func (w *cohort) judge(now time.Time, before *health.Judged, t *health.Target) {
	after := health.Judge(now, w.seen, &w.check, before, t)
	w.machines[t.UID] = &after
	if after.Verdict.State == health.Healthy {
		delete(w.ill, t.UID)
	} else {
		w.ill[t.UID] = &after
	}
	var was health.Verdict
	if before != nil {
		was = before.Verdict
	}
	if was.State != after.Verdict.State {
		w.changes = append(w.changes, change{target: after.Target, was: was, now: after.Verdict})
	}
}

// news are the changes of state since the last call, by name.
func (w *cohort) news() []change {
	out := w.changes
	w.changes = nil
	slices.SortStableFunc(out, func(a, b change) int { return cmp.Compare(a.target.Name, b.target.Name) })
	return out
}

// cleared notes that no request is left for a machine.
func (w *cohort) cleared(uid types.UID) {
	if j := w.machines[uid]; j != nil {
		j.Unclear = false
	}
}

// facts are the known facts for a decision.
func (w *cohort) facts() health.Cohort {
	return health.Cohort{Check: w.check, Seen: w.seen, Machines: slices.Collect(maps.Values(w.machines))}
}
