package replicas

import (
	"fmt"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/limits"
)

// Guard keeps a set from giving up too many members at once. People ask for it;
// without one they remove as many as they like.
//
// It is about a number of replicas or an autoscaler's choice that was not meant:
// a member that failed is replaced whatever the guard says. A set that is being
// deleted is not guarded either: who deletes it has said what is to become of
// all its members, and had no number to mistype.
type Guard struct {
	// Limit is the share of the whole that may be on its way out at once,
	// Approved the number that somebody has allowed besides.
	Limit    limits.Limit
	Approved int
	// Misread says what was not understood of what people asked for. The
	// default limit is in force then, or nothing is approved.
	Misread string
	// Place names the object on which to approve, where that is not the set.
	Place string
	// Elsewhere are the members of other sets that belong to the same whole:
	// the old set of a rollout that has two left gives up two of the fleet,
	// not all of its own.
	Elsewhere Disruption
}

// Disruption is how many members there are, those on their way out included, and how
// many of them are on their way out or are about to be.
type Disruption struct{ Total, Going int }

// Add is both together.
func (t Disruption) Add(o Disruption) Disruption {
	return Disruption{Total: t.Total + o.Total, Going: t.Going + o.Going}
}

// DisruptionOf is what is disrupted of a set that nobody guards: what is on its way out, and
// what the set would give up now.
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

// refuse says why those of out that are guarded must stay, in a set with so many
// members, of which some are on their way out already. It is empty when they may
// go. Those that go because they failed are on their way out, too.
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
		why += fmt.Sprintf(" (%d of them are on their way out or about to be)", going)
	}
	if g.Misread != "" {
		why += "; " + g.Misread
	}
	return why
}

// guarded leaves out victims that are to be replaced because they failed: their
// number says something about them, and nothing about what people want.
func guarded(out []Victim) []Victim {
	return slices.DeleteFunc(slices.Clone(out), Victim.replaced)
}

func (v Victim) replaced() bool { return v.Reason == WhyFailed }
