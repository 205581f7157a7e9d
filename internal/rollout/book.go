package rollout

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// book is a set as the plan goes: what is there, and what was decided so far.
type book struct {
	Set
	want SetWant
	// living machines are not on their way out, leaving ones are. Of the
	// living, available can do their work, of those asked ones will be given
	// up before others; unasked are the unavailable that nobody asked for.
	living, leaving            int
	available, ready           int
	askedLiving, askedWorking  int
	unavailableUnasked, failed int
}

func newBook(now time.Time, s Set, p Policy) *book {
	b := &book{Set: s, want: SetWant{
		UID: s.UID, Name: s.Name, Replicas: s.Replicas, Was: s.Replicas, Avoided: s.Avoided, Held: s.Held, Notes: s.Notes,
	}}
	for _, m := range s.Machines {
		b.count(now, m, p)
	}
	return b
}

func (b *book) count(now time.Time, m Machine, p Policy) {
	if m.Leaving {
		b.leaving++
		return
	}
	b.living++
	works := m.Available(now, p)
	switch {
	case works:
		b.available++
	case !m.Asked:
		b.unavailableUnasked++
	}
	if m.Ready {
		b.ready++
	}
	if m.Failed {
		b.failed++
	}
	if m.Asked {
		b.askedLiving++
		if works {
			b.askedWorking++
		}
	}
}

// Available reports whether m can do its work: it is not on its way out, is
// usable, and has been ready for long enough.
func (m Machine) Available(now time.Time, p Policy) bool {
	if m.Leaving || !m.Usable {
		return false
	}
	return p.MinReady == 0 || !m.ReadySince.IsZero() && !now.Before(m.ReadySince.Add(p.MinReady))
}

// atMost is how many machines the set may have before it gets smaller: what it
// is to have, or still has.
func (b *book) atMost(p Policy) int {
	n := max(b.want.Replicas, b.living)
	if p.LeavingTakesRoom {
		n += b.leaving
	}
	return n
}

// surely is how many machines will still be available when the set has come
// down to what it is to have. A set gives up those it was asked to, then those
// that do not work, then any: of 5 with 1 not working that come down to 3, 3
// are left.
func (b *book) surely() int {
	excess := max(0, b.living-b.want.Replicas)
	asked := min(excess, b.askedLiving)
	lost := min(asked, b.askedWorking)
	lost += max(0, excess-asked-b.unavailableUnasked)
	return max(0, b.available-lost)
}

// empty reports whether nothing is left of the set, and nothing will come.
func (b *book) empty() bool {
	return b.want.Replicas == 0 && b.Replicas == 0 && b.living == 0 && b.leaving == 0
}

// inUse reports whether the set has machines that stay, or is to have some.
func (b *book) inUse() bool { return b.want.Replicas > 0 || b.living > 0 }

// question is a deployment under decision.
type question struct {
	now time.Time
	d   Deployment
	p   Policy
	// surge and unavailable are the bounds in machines.
	surge, unavailable int
	// current is the set of the present template, nil when there is none; old
	// are the others, oldest first; all are both. Sets on their way out are
	// only counted: dying.
	current *book
	old     []*book
	all     []*book
	dying   []*book

	plan Plan
	// limit is how many machines the current set may have, for a canary;
	// stopped says why nothing goes on, waiting what is waited for.
	limit   int
	stopped string
	waiting string
	// chosen are the machines selected for an update in place.
	chosen map[types.UID]bool
}

func newQuestion(now time.Time, d Deployment, sets []Set, p Policy) *question {
	q := &question{now: now, d: d, p: p, limit: d.Replicas}
	q.surge, q.unavailable = Bounds(d)
	for _, s := range sets {
		b := newBook(now, s, p)
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
		q.old = append(q.old, b)
	}
	return q
}

func oldestFirst(a, b *book) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

// scale decides that the set is to have n machines.
func (q *question) scale(b *book, n int, note string) {
	if b.want.Replicas == n {
		return
	}
	b.want.Replicas = n
	b.want.Note = note
	q.record(b)
}

// record writes down for which size of the deployment the set was scaled.
func (q *question) record(b *book) {
	desired, most := q.d.Replicas, q.d.Replicas
	if q.d.Strategy == Rolling {
		most += q.surge
	}
	b.want.Desired, b.want.Max = &desired, &most
}

// sum adds f over sets.
func sum(sets []*book, f func(*book) int) (n int) {
	for _, b := range sets {
		n += f(b)
	}
	return n
}

func wanted(b *book) int { return b.want.Replicas }
func surely(b *book) int { return b.surely() }

// total is how many machines there may be at most, those of dying sets
// included, as none of those is gone for sure.
func (q *question) total() int {
	return sum(q.all, func(b *book) int { return b.atMost(q.p) }) +
		sum(q.dying, func(b *book) int {
			if q.p.LeavingTakesRoom {
				return b.living + b.leaving
			}
			return b.living
		})
}

// leaving is how many machines are on their way out.
func (q *question) leaving() int {
	return sum(q.all, func(b *book) int { return b.leaving }) + sum(q.dying, func(b *book) int { return b.living + b.leaving })
}

// floor is how many machines have to be available at all times.
func (q *question) floor() int { return q.d.Replicas - q.unavailable }

// rolling reports whether there is anything left of old sets.
func (q *question) rolling() bool { return slices.ContainsFunc(q.old, (*book).inUse) }
