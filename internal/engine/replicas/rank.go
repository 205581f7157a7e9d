package replicas

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Criterion is one rule for which of two members is deleted first.
type Criterion string

// The criteria. Those named for urgency score each member, and the highest score goes first; the others
// compare one property.
const (
	// UnlinkedFirst: a member that is marked to be deleted first or has failed scores 50, one without a node
	// 40, all others 20.
	UnlinkedFirst Criterion = "UnlinkedFirst"
	// OldestFirst: a member that is marked to be deleted first or has failed scores 100, all others up to 50
	// with age.
	OldestFirst Criterion = "OldestFirst"
	// NewestFirst: a member that is marked to be deleted first or has failed scores 100, all others 100
	// falling to 50 with age.
	NewestFirst Criterion = "NewestFirst"
	// UnavailableFirst: members marked to be deleted first, then failed or unusable ones, then those that
	// have not been ready for long enough, the latest first, then all others.
	UnavailableFirst Criterion = "UnavailableFirst"
	// KeptLast: members kept for inspection go last: of those, first the ones kept by the set's own choice,
	// then those whose time ends first.
	KeptLast Criterion = "KeptLast"
	// ByPriority: the lower integer goes first.
	ByPriority Criterion = "ByPriority"
	// MarkedFirst: marked members go before unmarked ones; of two marked, the one marked earlier.
	MarkedFirst Criterion = "MarkedFirst"
	// ByPhase: the earlier [Phase] goes first.
	ByPhase Criterion = "ByPhase"
	// ByAge: the older goes first.
	ByAge Criterion = "ByAge"
)

// comparator prepares to compare members by their index: the result is negative if the first of two goes
// first. Members are large, and there are many comparisons: for a set of 5000, copying members takes longer
// than comparing them.
type comparator func(now time.Time, p Policy, members []Member) func(a, b int) int

var comparators = map[Criterion]comparator{
	UnlinkedFirst:    byScore(unlinkedScore),
	OldestFirst:      byScore(oldestScore),
	NewestFirst:      byScore(newestScore),
	UnavailableFirst: byScore(uselessness),
	KeptLast:         plain(compareKept),
	ByPriority:       plain(func(_ time.Time, a, b *Member) int { return cmp.Compare(a.Priority, b.Priority) }),
	MarkedFirst:      plain(func(_ time.Time, a, b *Member) int { return compareSet(a.Marked, b.Marked) }),
	ByPhase:          plain(func(_ time.Time, a, b *Member) int { return cmp.Compare(a.Phase, b.Phase) }),
	ByAge:            plain(func(_ time.Time, a, b *Member) int { return a.Created.Compare(b.Created) }),
}

// plain compares properties directly.
func plain(compare func(now time.Time, a, b *Member) int) comparator {
	return func(now time.Time, _ Policy, members []Member) func(a, b int) int {
		return func(a, b int) int { return compare(now, &members[a], &members[b]) }
	}
}

// byScore puts the highest score first. Each member is scored once.
func byScore(score func(time.Time, Policy, *Member) float64) comparator {
	return func(now time.Time, p Policy, members []Member) func(a, b int) int {
		scores := make([]float64, len(members))
		for i := range members {
			scores[i] = score(now, p, &members[i])
		}
		return func(a, b int) int { return cmp.Compare(scores[b], scores[a]) }
	}
}

// Rank returns members in the order of their deletion: the first difference under p.Order decides, then the
// name, then the UID, so that every observer gets the same order. Unknown criteria make no difference.
func Rank(now time.Time, members []Member, p Policy) []Member {
	var compare []func(a, b int) int
	for _, c := range p.Order {
		if prepare, ok := comparators[c]; ok {
			compare = append(compare, prepare(now, p, members))
		}
	}
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		for _, c := range compare {
			if d := c(a, b); d != 0 {
				return d
			}
		}
		x, y := &members[a], &members[b]
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.UID, y.UID))
	})
	out := make([]Member, len(members))
	for place, i := range order {
		out[place] = members[i]
	}
	return out
}

// The scores of the urgency criteria.
const (
	mustGo   = 100.0
	betterGo = 50.0
	preferGo = 40.0
	couldGo  = 20.0
	mustStay = 0.0
)

// ageScale is the age at which the age score reaches 1-1/e of its limit: 100 days.
const ageScale = 100 * 24 * time.Hour

// uselessness ranks a deployment's machines so that deleting some costs as little capacity as possible.
// Machines that have been ready for a shorter time always go first: with a slow clock no machine has been
// ready for long enough.
func uselessness(now time.Time, p Policy, m *Member) float64 {
	switch {
	case !m.Counts():
		return 3
	case m.Asked:
		return 2
	case m.Failed, !m.Usable:
		return 1
	}
	wait := m.availableIn(now, p.MinReady).Seconds()
	return wait / (wait + 1)
}

func unlinkedScore(_ time.Time, _ Policy, m *Member) float64 {
	switch {
	case !m.Counts():
		return mustGo
	case m.Asked, m.Failed:
		return betterGo
	case !m.Linked:
		return preferGo
	}
	return couldGo
}

func oldestScore(now time.Time, _ Policy, m *Member) float64 {
	if !m.Counts() || m.Asked || m.Failed {
		return mustGo
	}
	return ageScore(now, m)
}

func newestScore(now time.Time, _ Policy, m *Member) float64 {
	if !m.Counts() || m.Asked || m.Failed {
		return mustGo
	}
	return mustGo - ageScore(now, m)
}

// ageScore grows from 0 towards 50: 0.50 after one day, 31.6 after 100 days.
func ageScore(now time.Time, m *Member) float64 {
	if m.Created.IsZero() || m.Created.After(now) {
		return mustStay
	}
	age := now.Sub(m.Created)
	return betterGo * (1 - math.Exp(-age.Seconds()/ageScale.Seconds()))
}

func compareKept(now time.Time, a, b *Member) int {
	keepA, keepB := a.Preservation.Active(now), b.Preservation.Active(now)
	if keepA != keepB {
		return first(!keepA)
	}
	if !keepA {
		return 0
	}
	if a.Preservation.ByOwner() != b.Preservation.ByOwner() {
		return first(a.Preservation.ByOwner())
	}
	return a.Preservation.Until.Compare(b.Preservation.Until)
}

// compareSet puts times that are set before those that are not, earlier first.
func compareSet(a, b time.Time) int {
	if a.IsZero() != b.IsZero() {
		return first(!a.IsZero())
	}
	return a.Compare(b)
}

func first(a bool) int {
	if a {
		return -1
	}
	return 1
}
