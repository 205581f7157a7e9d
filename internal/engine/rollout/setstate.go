package rollout

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// setState is a set as the plan goes: what is there, and what was decided so far.
type setState struct {
	Set
	want SetWant
	// expected is how many the set was to have before this pass, and those that were
	// handed over to it.
	expected int
	// living machines are not on their way out, leaving ones are. Of the
	// living, available can do their work, lasting will not be taken out of it
	// by an update in place, and kept ones failed and stay for inspection, not by such an update.
	living, leaving  int
	available, ready int
	lasting, kept    int
	// The set gives up machines in this order: those that somebody asked to,
	// those that are of no use, the others. askedLasting of the asked are
	// lasting, useless were not asked. Of the others, dateless ones became ready at
	// a time that is yet to come: nobody knows for how long they have been.
	asked, askedLasting, useless, dateless int
}

func newSetState(now time.Time, s Set, p Policy) *setState {
	b := &setState{Set: s, expected: s.Replicas, want: SetWant{
		UID: s.UID, Name: s.Name, Replicas: s.Replicas, Was: s.Replicas, Avoided: s.Avoided, NoGrowth: s.NoGrowth, Notes: s.Notes,
	}}
	for _, m := range s.Machines {
		b.count(now, m, p, 1)
	}
	return b
}

// count adds m to the set, or takes it away, which is -1.
func (b *setState) count(now time.Time, m Machine, p Policy, n int) {
	if !m.Counts() {
		b.leaving += n
		return
	}
	b.living += n
	if m.Ready {
		b.ready += n
	}
	if m.Kept() && m.Update.State() != inplace.Failed && !m.busy() {
		b.kept += n
	}
	if m.Available(now, p.MinReady) {
		b.available += n
	}
	if m.lasting(now, p) {
		b.lasting += n
	}
	b.rank(now, m, p, n)
}

// rank counts m among those that go first. One that is kept goes last whatever
// its state, and one that has yet to be ready for long enough goes like any
// other that works.
func (b *setState) rank(now time.Time, m Machine, p Policy, n int) {
	switch {
	case m.Asked:
		b.asked += n
		if m.lasting(now, p) {
			b.askedLasting += n
		}
	case !m.Usable && !m.Kept():
		b.useless += n
	case p.MinReady > 0 && m.ReadySince.After(now):
		b.dateless += n
	}
}

// lasting reports whether m is available and will be, as far as is known.
func (m Machine) lasting(now time.Time, p Policy) bool {
	return m.Available(now, p.MinReady) && !m.busy()
}

// atMost is how many machines the set may have before it gets smaller: what it
// is to have, or still has.
func (b *setState) atMost(p Policy) int {
	n := max(b.want.Replicas, b.living)
	if p.LeavingTakesRoom {
		n += b.leaving
	}
	return n
}

// surely is how many machines will still be available when the set has come
// down to what it is to have.
func (b *setState) surely() int { return b.surelyAt(b.want.Replicas) }

// surelyAt is how many machines will still be available when the set has come
// down to n: of 5 with 1 of no use that come down to 3, 3 are left. Where the set
// was told to come down before, it may have chosen by what was true then: all that
// it has yet to give up for that may be available by now, and may go although the
// set is to keep it after all.
func (b *setState) surelyAt(n int) int { return b.leftAt(n, b.lasting, b.chosen()) }

// chosen is how many machines the set may have chosen before to give up.
func (b *setState) chosen() int { return max(0, b.living-b.expected) }

// leftAt is how many of those that work will be left when the set has come down to n,
// chosen of them before anything of this was known.
func (b *setState) leftAt(n, working, chosen int) int {
	excess := max(0, b.living-n-chosen)
	asked := min(excess, b.asked)
	lost := chosen + min(asked, b.askedLasting)
	lost += max(0, excess-asked-b.useless)
	return max(0, working-lost)
}

// price is how many machines that are available, or may be, it costs to come down to
// n: whether the set has chosen before, or will choose by what is true now.
func (b *setState) price(n int) (most int) {
	for _, chosen := range []int{b.chosen(), 0} {
		working := b.lasting + b.dateless
		most = max(most, b.leftAt(b.want.Replicas, working, chosen)-b.leftAt(n, working, chosen))
	}
	return most
}

// idle is by how much the set can come down without any that is available
// going.
func (b *setState) idle() int {
	n := b.want.Replicas
	for n > 0 && b.surelyAt(n-1) == b.surely() && !b.takesAny(n-1) {
		n--
	}
	return b.want.Replicas - n
}

// takesAny reports whether the set cannot come down to n without giving up one of
// those that go like any other, while one of these is lasting, or may be: it may be
// this one that was left when the set came down to what it is to have.
func (b *setState) takesAny(n int) bool {
	return b.living-n > b.asked+b.useless && (b.lasting > b.askedLasting || b.dateless > 0)
}

// empty reports whether nothing is left of the set, and nothing will come.
func (b *setState) empty() bool {
	return b.want.Replicas == 0 && b.Replicas == 0 && b.living == 0 && b.leaving == 0
}

// inUse reports whether the set has machines that stay, or is to have some.
func (b *setState) inUse() bool { return b.want.Replicas > 0 || b.living > 0 }

// input is a deployment under decision.
type input struct {
	now time.Time
	d   Deployment
	p   Policy
	// held says why there are fewer machines than are wanted; empty where there may be all.
	held string
	// surge and unavailable are the bounds in machines.
	surge, unavailable int
	// current is the set of the present template, nil when there is none; old
	// are the others, oldest first; all are both. Sets on their way out are
	// only counted: dying.
	current *setState
	old     []*setState
	all     []*setState
	dying   []*setState

	draft draft
	// limit is how many machines the current set may have, for a canary;
	// stopped says why nothing goes on, waiting what is waited for. Patient is
	// who waits for a person, or for time that was asked for: it is not late.
	limit   int
	stopped string
	waiting string
	patient bool
	// unseen is a set whose controller has yet to see what was written last.
	// That is soon over, and worth telling only where it is not.
	unseen string
	// marked says that what machines are asked for counted.
	marked bool
	// chosen are the machines selected for an update in place, moving those
	// that are handed over.
	chosen, moving map[types.UID]bool
}

func newInput(now time.Time, d Deployment, sets []Set, p Policy) *input {
	q := &input{now: now, d: d, p: p, limit: d.Replicas, chosen: map[types.UID]bool{}, moving: map[types.UID]bool{}}
	q.surge, q.unavailable = Bounds(d)
	for _, s := range sets {
		b := newSetState(now, s, p)
		if s.Deleting {
			q.dying = append(q.dying, b)
			continue
		}
		q.all = append(q.all, b)
	}
	slices.SortFunc(q.all, oldestFirst)
	for _, b := range q.all {
		if b.Current && q.current == nil {
			q.current = b
			b.want.Current = true
			continue
		}
		// What was noted is about a rollout to it that is over.
		b.want.Notes = Notes{}
		q.old = append(q.old, b)
	}
	return q
}

func oldestFirst(a, b *setState) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

// scale decides that the set is to have n machines. While no set may grow, it
// can only come down.
func (q *input) scale(b *setState, n int, note string) {
	if n > b.want.Replicas && q.d.Frozen != "" {
		q.waiting = "no set may grow: " + q.d.Frozen
		return
	}
	q.resize(b, n, note)
}

// resize is scale where no machine is made.
func (q *input) resize(b *setState, n int, note string) {
	if b.want.Replicas == n {
		return
	}
	b.want.Replicas = n
	b.want.Note = note
	q.record(b)
}

// receive makes room for n machines that are handed over to the set.
func (q *input) receive(b *setState, n int, note string) {
	b.expected += n
	q.resize(b, b.want.Replicas+n, note)
}

// record writes down for which size of the deployment the set was scaled.
func (q *input) record(b *setState) {
	desired, most := q.d.Replicas, q.d.Replicas
	if q.d.Strategy == Rolling {
		most += q.surge
	}
	b.want.Desired, b.want.Max = &desired, &most
}

// sum adds f over sets.
func sum(sets []*setState, f func(*setState) int) (n int) {
	for _, b := range sets {
		n += f(b)
	}
	return n
}

func wanted(b *setState) int { return b.want.Replicas }
func surely(b *setState) int { return b.surely() }
func going(b *setState) int  { return b.living + b.leaving }

// outdated is how many machines of another template than the present one b is to have.
// A creation that comes late may make a second set of the present one.
func outdated(b *setState) int {
	if b.Current {
		return 0
	}
	return b.want.Replicas
}

// total is how many machines there may be at most, those of dying sets
// included, as none of those is gone for sure.
func (q *input) total() int {
	return sum(q.all, func(b *setState) int { return b.atMost(q.p) }) +
		sum(q.dying, func(b *setState) int {
			if q.p.LeavingTakesRoom {
				return going(b)
			}
			return b.living
		})
}

// room is for how many more machines there is room below replicas and surge.
func (q *input) room() int {
	if !q.heeded(q.all) {
		return 0
	}
	return max(0, q.d.Replicas+q.surge-q.total())
}

// heeded reports whether the sets' own controllers have seen what was written last.
// One that has not may have made machines that nobody sees.
func (q *input) heeded(sets []*setState) bool {
	for _, b := range sets {
		if !b.Observed {
			q.unseen = b.Name
			return false
		}
	}
	return true
}

// leaving is how many machines are on their way out.
func (q *input) leaving() int {
	return sum(q.all, func(b *setState) int { return b.leaving }) + sum(q.dying, going)
}

// floor is how many machines have to be available at all times. What a rollout makes or updates does
// not lower the bound by failing, kept for inspection or not, and neither does what an earlier one
// broke before it was complete: that is so where two old sets are to have machines. Of one that is
// alone, those that failed and are kept will not be available again: they are done without, or
// nothing would go on.
func (q *input) floor() int {
	missed, serving := 0, 0
	for _, b := range q.old {
		if b.Replicas > 0 {
			missed, serving = min(b.kept, b.Replicas), serving+1
		}
	}
	if serving > 1 {
		missed = 0
	}
	return max(0, q.d.Replicas-q.unavailable-missed)
}

// rolling reports whether old sets have machines that stay, or are to have some.
func (q *input) rolling() bool { return slices.ContainsFunc(q.old, (*setState).inUse) }
