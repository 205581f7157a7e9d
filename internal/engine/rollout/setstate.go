package rollout

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// setState is a set during planning: its machines, and the decisions so far.
type setState struct {
	Set
	want SetWant
	// expected is how many machines the set was to have before this pass, plus those that were handed over to
	// it.
	expected int
	// living machines are not under deletion, leaving ones are. Of the living, available ones can do their
	// work, lasting ones will not be taken out of service by an update in place, and kept ones failed and
	// stay for inspection, not by such an update.
	living, leaving  int
	available, ready int
	lasting, kept    int
	// The set deletes machines in this order: those marked to be deleted first, those that are useless, the
	// others. Of the marked (asked), askedLasting are lasting; useless ones are not marked. Of the others,
	// dateless ones became ready at a time in the future, so the duration of their readiness is unknown.
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

// count adds m to the set (n is 1), or removes it (n is -1).
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

// rank counts m among the machines that are deleted first. A preserved machine is deleted last in any state,
// and a machine that has not been ready for long enough counts as working.
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

// lasting reports whether m is available and will stay so, as far as is known.
func (m Machine) lasting(now time.Time, p Policy) bool {
	return m.Available(now, p.MinReady) && !m.busy()
}

// maxMachines returns how many machines the set may have before it shrinks: its wanted or its present number.
func (b *setState) maxMachines(p Policy) int {
	n := max(b.want.Replicas, b.living)
	if p.LeavingTakesRoom {
		n += b.leaving
	}
	return n
}

// minAvailable returns how many machines will still be available when the set has shrunk to its wanted size.
func (b *setState) minAvailable() int { return b.minAvailableAt(b.want.Replicas) }

// minAvailableAt returns how many machines will still be available when the set has shrunk to n: of 5 with 1
// useless machine that shrink to 3, 3 are left. A set that was shrunk before may have chosen its machines by
// the facts of that time: all machines that it has yet to delete may be available by now, and may be deleted
// although the set could keep them.
func (b *setState) minAvailableAt(n int) int { return b.leftAt(n, b.lasting, b.chosen()) }

// chosen returns how many machines the set may already have chosen to delete.
func (b *setState) chosen() int { return max(0, b.living-b.expected) }

// leftAt returns how many of the working machines will be left when the set has shrunk to n, with chosen of
// them selected by earlier facts.
func (b *setState) leftAt(n, working, chosen int) int {
	excess := max(0, b.living-n-chosen)
	asked := min(excess, b.asked)
	lost := chosen + min(asked, b.askedLasting)
	lost += max(0, excess-asked-b.useless)
	return max(0, working-lost)
}

// price returns how many machines that are, or may be, available are lost by shrinking to n: whether the set
// has chosen before, or will choose by current facts.
func (b *setState) price(n int) (most int) {
	for _, chosen := range []int{b.chosen(), 0} {
		working := b.lasting + b.dateless
		most = max(most, b.leftAt(b.want.Replicas, working, chosen)-b.leftAt(n, working, chosen))
	}
	return most
}

// idle returns by how much the set can shrink without deleting an available machine.
func (b *setState) idle() int {
	n := b.want.Replicas
	for n > 0 && b.minAvailableAt(n-1) == b.minAvailable() && !b.takesAny(n-1) {
		n--
	}
	return b.want.Replicas - n
}

// takesAny reports whether the set cannot shrink to n without deleting an unmarked working machine, while one
// of these is lasting, or may be: exactly that machine may be left after the set has shrunk to its wanted
// size.
func (b *setState) takesAny(n int) bool {
	return b.living-n > b.asked+b.useless && (b.lasting > b.askedLasting || b.dateless > 0)
}

// empty reports whether the set has no machines, and will not get any.
func (b *setState) empty() bool {
	return b.want.Replicas == 0 && b.Replicas == 0 && b.living == 0 && b.leaving == 0
}

// inUse reports whether the set has machines that stay, or wants some.
func (b *setState) inUse() bool { return b.want.Replicas > 0 || b.living > 0 }

// input is the deployment to decide about.
type input struct {
	now time.Time
	d   Deployment
	p   Policy
	// held says why not all wanted machines may exist; empty if they may.
	held string
	// surge and unavailable are the bounds in machines.
	surge, unavailable int
	// current is the set of the current template, nil if none exists; old are the others, oldest first; all
	// are both. Sets under deletion are only counted: dying.
	current *setState
	old     []*setState
	all     []*setState
	dying   []*setState

	draft draft
	// limit is how many machines the current set may have, for a canary; stopped says why the rollout is
	// stopped, waiting what it waits for. A patient rollout waits for a user, or for a configured time: it is
	// not late.
	limit   int
	stopped string
	waiting string
	patient bool
	// unseen is a set whose controller has yet to see the last write. Usually it does so soon, and it is
	// reported only if it does not.
	unseen string
	// marked says that the marks on machines mattered.
	marked bool
	// chosen are the machines selected for an update in place, moving those that are handed over.
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
		// The notes are about an earlier rollout to it.
		b.want.Notes = Notes{}
		q.old = append(q.old, b)
	}
	return q
}

func oldestFirst(a, b *setState) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

// scale decides that the set wants n machines. While no set may grow, it can only shrink.
func (q *input) scale(b *setState, n int, note string) {
	if n > b.want.Replicas && q.d.Frozen != "" {
		q.waiting = "no set may grow: " + q.d.Frozen
		return
	}
	q.resize(b, n, note)
}

// resize is scale without the creation of a machine.
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

// record stores the size of the deployment for which the set was scaled.
func (q *input) record(b *setState) {
	desired, most := q.d.Replicas, q.d.Replicas
	if q.d.Strategy == Rolling {
		most += q.surge
	}
	b.want.Desired, b.want.Max = &desired, &most
}

// sum returns the sum of f over sets.
func sum(sets []*setState, f func(*setState) int) (n int) {
	for _, b := range sets {
		n += f(b)
	}
	return n
}

func wanted(b *setState) int       { return b.want.Replicas }
func minAvailable(b *setState) int { return b.minAvailable() }
func going(b *setState) int        { return b.living + b.leaving }

// outdated returns how many machines of another template than the current one b wants. A late creation may
// result in a second set of the current template.
func outdated(b *setState) int {
	if b.Current {
		return 0
	}
	return b.want.Replicas
}

// total returns how many machines may exist, including those of dying sets, because none of those is
// certainly deleted.
func (q *input) total() int {
	return sum(q.all, func(b *setState) int { return b.maxMachines(q.p) }) +
		sum(q.dying, func(b *setState) int {
			if q.p.LeavingTakesRoom {
				return going(b)
			}
			return b.living
		})
}

// room returns how many more machines fit below replicas and surge.
func (q *input) room() int {
	if !q.heeded(q.all) {
		return 0
	}
	return max(0, q.d.Replicas+q.surge-q.total())
}

// heeded reports whether the sets' own controllers have seen the last writes. A set whose controller has not
// may have created machines that are not in the cache.
func (q *input) heeded(sets []*setState) bool {
	for _, b := range sets {
		if !b.Observed {
			q.unseen = b.Name
			return false
		}
	}
	return true
}

// leaving returns how many machines are under deletion.
func (q *input) leaving() int {
	return sum(q.all, func(b *setState) int { return b.leaving }) + sum(q.dying, going)
}

// floor returns how many machines have to be available at all times. Machines that a rollout creates or
// updates do not lower this number by failing, kept for inspection or not, and neither do machines that an
// earlier, incomplete rollout broke: it is incomplete if two old sets want machines. In a single old set,
// machines that failed and are kept will not be available again: they are not counted, because otherwise the
// rollout could not continue.
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

// rolling reports whether old sets have machines that stay, or want some.
func (q *input) rolling() bool { return slices.ContainsFunc(q.old, (*setState).inUse) }
