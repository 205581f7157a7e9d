package replicas

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Criterion is one way to tell which of two members goes first.
type Criterion string

// The criteria. Those named for urgency score a member and the highest score
// goes first; the others compare one property.
const (
	// UnlinkedFirst: who was asked to go or failed scores 50, who has no node
	// 40, anybody else 20.
	UnlinkedFirst Criterion = "UnlinkedFirst"
	// OldestFirst: who was asked to go or failed scores 100, anybody else up
	// to 50 with age.
	OldestFirst Criterion = "OldestFirst"
	// NewestFirst: who was asked to go or failed scores 100, anybody else 100
	// falling to 50 with age.
	NewestFirst Criterion = "NewestFirst"
	// UnavailableFirst: who was asked to go first, then who failed or is not
	// available, then anybody else.
	UnavailableFirst Criterion = "UnavailableFirst"
	// KeptLast: members kept for inspection go last: of those, first the ones
	// kept by the set's own choice, then those whose time ends first.
	KeptLast Criterion = "KeptLast"
	// ByPriority: the lower integer goes first.
	ByPriority Criterion = "ByPriority"
	// MarkedFirst: who was marked goes before who was not; of two marked, the
	// one marked earlier.
	MarkedFirst Criterion = "MarkedFirst"
	// ByPhase: the earlier [Phase] goes first.
	ByPhase Criterion = "ByPhase"
	// ByAge: the older goes first.
	ByAge Criterion = "ByAge"
)

// comparator tells who of two goes first: negative when a does. When a member
// is available is a question of policy.
type comparator func(now time.Time, p Policy, a, b Member) int

var comparators = map[Criterion]comparator{
	UnlinkedFirst: byScore(unlinkedScore),
	OldestFirst:   byScore(oldestScore),
	NewestFirst:   byScore(newestScore),
	KeptLast:      compareKept,
	ByPriority:    plain(func(a, b Member) int { return cmp.Compare(a.Priority, b.Priority) }),
	MarkedFirst:   plain(func(a, b Member) int { return compareSet(a.Marked, b.Marked) }),
	ByPhase:       plain(func(a, b Member) int { return cmp.Compare(a.Phase, b.Phase) }),
	ByAge:         plain(func(a, b Member) int { return a.Created.Compare(b.Created) }),

	UnavailableFirst: func(now time.Time, p Policy, a, b Member) int {
		return cmp.Compare(uselessness(now, p, b), uselessness(now, p, a))
	},
}

// plain is a comparison that needs nothing but the members.
func plain(compare func(a, b Member) int) comparator {
	return func(_ time.Time, _ Policy, a, b Member) int { return compare(a, b) }
}

// Rank returns members in the order in which they are given up: the first
// difference under p.Order decides, then the name, then the UID, so that every
// observer ranks alike. Unknown criteria make no difference.
func Rank(now time.Time, members []Member, p Policy) []Member {
	out := slices.Clone(members)
	slices.SortFunc(out, func(a, b Member) int {
		for _, c := range p.Order {
			compare, ok := comparators[c]
			if !ok {
				continue
			}
			if d := compare(now, p, a, b); d != 0 {
				return d
			}
		}
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
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

// ageScale is the age at which the age score reaches 1-1/e of its bound: 100
// days.
const ageScale = 100 * 24 * time.Hour

func byScore(score func(time.Time, Member) float64) comparator {
	return func(now time.Time, _ Policy, a, b Member) int { return cmp.Compare(score(now, b), score(now, a)) }
}

// uselessness ranks a deployment's machines so that giving some up costs as
// little capacity as can be.
func uselessness(now time.Time, p Policy, m Member) int {
	switch {
	case !m.Counts():
		return 3
	case m.Asked:
		return 2
	case m.Failed, !m.Usable, availableIn(now, m, p) > 0:
		return 1
	}
	return 0
}

func unlinkedScore(_ time.Time, m Member) float64 {
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

func oldestScore(now time.Time, m Member) float64 {
	if !m.Counts() || m.Asked || m.Failed {
		return mustGo
	}
	return ageScore(now, m)
}

func newestScore(now time.Time, m Member) float64 {
	if !m.Counts() || m.Asked || m.Failed {
		return mustGo
	}
	return mustGo - ageScore(now, m)
}

// ageScore grows from 0 towards 50: 0.50 after one day, 31.6 after 100 days.
func ageScore(now time.Time, m Member) float64 {
	if m.Created.IsZero() || m.Created.After(now) {
		return mustStay
	}
	age := now.Sub(m.Created)
	return betterGo * (1 - math.Exp(-age.Seconds()/ageScale.Seconds()))
}

func compareKept(now time.Time, _ Policy, a, b Member) int {
	keepA, keepB := a.Keep.Active(now), b.Keep.Active(now)
	if keepA != keepB {
		return first(!keepA)
	}
	if !keepA {
		return 0
	}
	if a.Keep.Auto != b.Keep.Auto {
		return first(a.Keep.Auto)
	}
	return a.Keep.Until.Compare(b.Keep.Until)
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
