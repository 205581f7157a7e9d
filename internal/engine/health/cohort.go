package health

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

// Cohort is a check with the verdicts about its machines. It is not safe for
// concurrent use.
type Cohort struct {
	check   Check
	seen    connectivity.State
	entries map[types.UID]*entry
	// ill are those that are not healthy; in a quiet fleet few are.
	ill  map[types.UID]*entry
	news []Change
}

// entry is one machine in a cohort.
type entry struct {
	target  Target
	verdict Verdict
	// since is when the verdict's state was first found.
	since time.Time
	// unclear says that, healthy as it is, what was asked for it may be left.
	unclear bool
}

// Change is news about a machine.
type Change struct {
	Target   Target
	Was, Now Verdict
}

// NewCohort is the cohort of c without machines.
func NewCohort(c Check) *Cohort {
	return &Cohort{check: c, entries: map[types.UID]*entry{}, ill: map[types.UID]*entry{}}
}

// See tells how far we have seen, for the judgements to come. Until it is told,
// all time counts as watched.
func (w *Cohort) See(seen connectivity.State) { w.seen = seen }

// Check is the present check.
func (w *Cohort) Check() Check { return w.check }

// Len is how many machines there are.
func (w *Cohort) Len() int { return len(w.entries) }

// Recheck judges all machines by another check.
func (w *Cohort) Recheck(now time.Time, c Check) {
	w.check = c
	for _, b := range w.entries {
		w.judge(now, b)
	}
}

// Put takes in a machine as it is now, and reports whether the plan may change
// by it. A view that shows what was seen before costs a comparison.
func (w *Cohort) Put(now time.Time, t Target) bool {
	b := w.entries[t.UID]
	if b == nil {
		b = &entry{target: t, unclear: true}
		w.entries[t.UID] = b
		w.judge(now, b)
		return true
	}
	if b.target.equal(&t) && (b.verdict.Due.IsZero() || now.Before(b.verdict.Due)) {
		return false
	}
	b.target = t
	w.judge(now, b)
	return true
}

// Remove forgets a machine that is gone, or that the check no longer selects,
// and reports whether it was there.
func (w *Cohort) Remove(uid types.UID) bool {
	_, ok := w.entries[uid]
	delete(w.entries, uid)
	delete(w.ill, uid)
	return ok
}

// Retain forgets all machines but those of which keep says so.
func (w *Cohort) Retain(keep func(types.UID) bool) {
	for uid := range w.entries {
		if !keep(uid) {
			w.Remove(uid)
		}
	}
}

// Tick judges again whose moment has come.
func (w *Cohort) Tick(now time.Time) {
	for _, b := range w.ill {
		if !b.verdict.Due.IsZero() && !now.Before(b.verdict.Due) {
			w.judge(now, b)
		}
	}
}

// Due is the next moment to look; zero: never.
func (w *Cohort) Due() (next time.Time) {
	for _, b := range w.ill {
		next = sooner(next, b.verdict.Due)
	}
	return next
}

// sooner is the earlier of two moments; zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (w *Cohort) judge(now time.Time, b *entry) {
	was := b.verdict
	b.verdict = Evaluate(now, w.seen, &w.check, &b.target)
	if b.verdict.State == Healthy {
		delete(w.ill, b.target.UID)
	} else {
		w.ill[b.target.UID] = b
		b.unclear = true
	}
	if was.State != b.verdict.State {
		b.since = now
		w.news = append(w.news, Change{Target: b.target, Was: was, Now: b.verdict})
	}
}

// News are the changes of state since the last call, by name.
func (w *Cohort) News() []Change {
	out := w.news
	w.news = nil
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Compare(a.Target.Name, b.Target.Name) })
	return out
}

// Verdict is the one about a machine.
func (w *Cohort) Verdict(uid types.UID) (Verdict, bool) {
	b := w.entries[uid]
	if b == nil {
		return Verdict{}, false
	}
	return b.verdict, true
}

// Recovered are the healthy machines for which a request may be left over.
func (w *Cohort) Recovered() (out []Target) {
	for _, b := range w.entries {
		if b.verdict.State == Healthy && b.unclear {
			out = append(out, b.target)
		}
	}
	slices.SortFunc(out, func(a, b Target) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Cleared remembers that no request is left over for a machine.
func (w *Cohort) Cleared(uid types.UID) {
	if b := w.entries[uid]; b != nil {
		b.unclear = false
	}
}
