package health

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/sight"
)

// Ward is a check with the verdicts about its machines. It is not safe for
// concurrent use.
type Ward struct {
	check Check
	seen  sight.State
	beds  map[types.UID]*bed
	// ill are those that are not healthy; in a quiet fleet few are.
	ill  map[types.UID]*bed
	news []Change
}

// bed is one machine in a ward.
type bed struct {
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

// NewWard is the ward of c without machines.
func NewWard(c Check) *Ward {
	return &Ward{check: c, beds: map[types.UID]*bed{}, ill: map[types.UID]*bed{}}
}

// See tells how far we have seen, for the judgements to come. Until it is told,
// all time counts as watched.
func (w *Ward) See(seen sight.State) { w.seen = seen }

// Check is the present check.
func (w *Ward) Check() Check { return w.check }

// Len is how many machines there are.
func (w *Ward) Len() int { return len(w.beds) }

// Recheck judges all machines by another check.
func (w *Ward) Recheck(now time.Time, c Check) {
	w.check = c
	for _, b := range w.beds {
		w.judge(now, b)
	}
}

// Put takes in a machine as it is now, and reports whether the plan may change
// by it. A view that shows what was seen before costs a comparison.
func (w *Ward) Put(now time.Time, t Target) bool {
	b := w.beds[t.UID]
	if b == nil {
		b = &bed{target: t, unclear: true}
		w.beds[t.UID] = b
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
func (w *Ward) Remove(uid types.UID) bool {
	_, ok := w.beds[uid]
	delete(w.beds, uid)
	delete(w.ill, uid)
	return ok
}

// Retain forgets all machines but those of which keep says so.
func (w *Ward) Retain(keep func(types.UID) bool) {
	for uid := range w.beds {
		if !keep(uid) {
			w.Remove(uid)
		}
	}
}

// Tick judges again whose moment has come.
func (w *Ward) Tick(now time.Time) {
	for _, b := range w.ill {
		if !b.verdict.Due.IsZero() && !now.Before(b.verdict.Due) {
			w.judge(now, b)
		}
	}
}

// Due is the next moment to look; zero: never.
func (w *Ward) Due() (next time.Time) {
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

func (w *Ward) judge(now time.Time, b *bed) {
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
func (w *Ward) News() []Change {
	out := w.news
	w.news = nil
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Compare(a.Target.Name, b.Target.Name) })
	return out
}

// Verdict is the one about a machine.
func (w *Ward) Verdict(uid types.UID) (Verdict, bool) {
	b := w.beds[uid]
	if b == nil {
		return Verdict{}, false
	}
	return b.verdict, true
}

// Recovered are the healthy machines for which a request may be left over.
func (w *Ward) Recovered() (out []Target) {
	for _, b := range w.beds {
		if b.verdict.State == Healthy && b.unclear {
			out = append(out, b.target)
		}
	}
	slices.SortFunc(out, func(a, b Target) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Cleared remembers that no request is left over for a machine.
func (w *Ward) Cleared(uid types.UID) {
	if b := w.beds[uid]; b != nil {
		b.unclear = false
	}
}
