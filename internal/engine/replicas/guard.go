package replicas

import (
	"fmt"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/limits"
)

// Guard keeps a set from deleting too many members at once. It is off unless a user sets it.
//
// It protects against a mistyped number of replicas or an unintended choice of an autoscaler: a failed member
// is always replaced. A set under deletion is not guarded either: its deletion concerns all members, without
// a number to mistype.
type Guard struct {
	// Limit is the share of the whole that may be under deletion at once, Approved is the additional number
	// that a user has approved.
	Limit    limits.Limit
	Approved int
	// Misread names the invalid settings. Then the default limit applies, or nothing is approved.
	Misread string
	// Place names the object on which to approve, if it is not the set.
	Place string
	// Elsewhere are the members of other sets of the same whole: an old set of a rollout that has two members
	// left deletes two of the fleet, not all of its own.
	Elsewhere Disruption
}

// Disruption counts the members, including those under deletion, and how many are under deletion or are about
// to be.
type Disruption struct{ Total, Going int }

// Add returns the sum.
func (t Disruption) Add(o Disruption) Disruption {
	return Disruption{Total: t.Total + o.Total, Going: t.Going + o.Going}
}

// DisruptionOf returns the disruption of a set without a guard: its members under deletion, and those that it
// would delete now.
func DisruptionOf(now time.Time, set Set, members []Member, p Policy) Disruption {
	counted := only(members, Member.Counts)
	t := Disruption{Total: len(members), Going: len(members) - len(counted)}
	switch {
	case set.Deleting && !set.Orphaning:
		t.Going = t.Total
	case !set.Deleting && set.Paused == "" && len(set.Faults) == 0:
		out, _ := victims(now, set, counted, p)
		t.Going += len(out)
	}
	return t
}

// refuse returns why the guarded members of out must stay, in a set with so many members, some of them under
// deletion already. It is empty if they may be deleted. Members that are deleted because they failed count as
// under deletion, too.
func (g *Guard) refuse(out []Victim, members, leaving int) string {
	doomed := len(guarded(out))
	if g == nil || doomed == 0 {
		return ""
	}
	t := Disruption{Total: members, Going: leaving + len(out)}.Add(g.Elsewhere)
	why := g.Limit.Refuse(t.Total, t.Going, g.Approved, millwright.ApproveDeletion)
	if why == "" {
		return ""
	}
	if g.Place != "" {
		why += ", on " + g.Place
	}
	if going := t.Going - doomed; going > 0 {
		why += fmt.Sprintf(" (%d of them are under deletion or about to be)", going)
	}
	if g.Misread != "" {
		why += "; " + g.Misread
	}
	return why
}

// guarded leaves out victims that are replaced because they failed: their number does not depend on a user's
// input.
func guarded(out []Victim) []Victim {
	return slices.DeleteFunc(slices.Clone(out), Victim.replaced)
}

func (v Victim) replaced() bool { return v.Reason == WhyFailed }
