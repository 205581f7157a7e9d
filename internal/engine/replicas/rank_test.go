package replicas

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

var emptyIsNil = cmpopts.EquateEmpty()

func TestRank(t *testing.T) {
	unlinked := func(m *Member) { m.Linked = false }
	asked := func(m *Member) { m.Asked = true }
	born := func(ago time.Duration) func(*Member) { return func(m *Member) { m.Created = now.Add(-ago) } }
	unborn := func(m *Member) { m.Created = time.Time{} }
	priority := func(p int) func(*Member) { return func(m *Member) { m.Priority = p } }
	mark := func(ago time.Duration) func(*Member) { return func(m *Member) { m.Marked = now.Add(-ago) } }
	phase := func(p Phase) func(*Member) { return func(m *Member) { m.Phase = p } }
	auto := func(m *Member) { m.Preservation.Own = lifecycle.WishOwner }
	readyFor := func(d time.Duration) func(*Member) { return func(m *Member) { m.ReadySince = now.Add(-d) } }
	useless := func(m *Member) { m.Usable, m.Ready = false, false }
	day := 24 * time.Hour

	tests := map[string]struct {
		reason string
		order  []Criterion
		// members in the order expected
		members []Member
	}{
		"random: must, better, prefer, could": {
			"on its way out 100, asked or failed 50, no node 40, else 20",
			[]Criterion{UnlinkedFirst},
			[]Member{member("z", deleting), member("x", asked), member("y", failed), member("b", unlinked), member("a")},
		},
		"random: names decide between equals": {
			"stable, unlike a sort that is not",
			[]Criterion{UnlinkedFirst},
			[]Member{member("a", born(day)), member("b", born(9*day)), member("c", born(2*day))},
		},
		"random: asked beats unlinked": {
			"50 is more than 40",
			[]Criterion{UnlinkedFirst},
			[]Member{member("b", asked), member("a", unlinked)},
		},
		"oldest: asked and failed before the oldest": {
			"100 is more than any age reaches",
			[]Criterion{OldestFirst},
			[]Member{member("y", asked), member("z", failed, born(time.Second)), member("a", born(1000*day))},
		},
		"oldest: by age": {
			"the score grows with age",
			[]Criterion{OldestFirst},
			[]Member{member("b", born(3*day)), member("c", born(2*day)), member("a", born(day))},
		},
		"oldest: without a node is no reason": {
			"this order does not look at nodes",
			[]Criterion{OldestFirst},
			[]Member{member("b", born(2*day)), member("a", born(day), unlinked)},
		},
		"oldest: no creation time, or one in the future": {
			"scores nothing",
			[]Criterion{OldestFirst},
			[]Member{member("c", born(day)), member("a", unborn), member("b", born(-day))},
		},
		"newest: by age": {
			"the score falls with age",
			[]Criterion{NewestFirst},
			[]Member{member("c", born(day)), member("b", born(2*day)), member("a", born(3*day))},
		},
		"newest: no creation time scores like asked": {
			"100 both, so names decide",
			[]Criterion{NewestFirst},
			[]Member{member("a", unborn), member("b", asked), member("0", born(day))},
		},
		"kept last": {
			"preserved after everything, whatever its priority",
			[]Criterion{KeptLast, ByPriority},
			[]Member{member("b"), member("c", keptUntil(now.Add(-1))), member("a", keptUntil(now.Add(day)), priority(1))},
		},
		"kept: the set's own choice first, then the earlier end": {
			"a person's wish lasts longer",
			[]Criterion{KeptLast},
			[]Member{member("c", auto, keptUntil(now.Add(3*day))), member("b", keptUntil(now.Add(day))), member("a", keptUntil(now.Add(2*day)))},
		},
		"priority": {
			"lower goes first, negative numbers too",
			[]Criterion{ByPriority},
			[]Member{member("c", priority(-1)), member("b", priority(1)), member("a")},
		},
		"marked before unmarked, earlier mark first": {
			"the autoscaler's choices in the order they were made",
			[]Criterion{MarkedFirst},
			[]Member{member("c", mark(day)), member("b", mark(time.Hour)), member("a")},
		},
		"phase": {
			"what loses least goes first",
			[]Criterion{ByPhase},
			[]Member{
				member("g", phase(PhaseUnknown)), member("f", phase(PhaseFailed)), member("e", phase(PhaseCrashing)), member("d", phase(PhaseLost)),
				member("c", phase(PhasePending)), member("b", phase(PhaseDetached)), member("a"),
			},
		},
		"age": {
			"older first",
			[]Criterion{ByAge},
			[]Member{member("b", born(2*day)), member("a", born(day))},
		},
		"unavailable: asked, then what costs no capacity": {
			"on its way out, asked, failed or not available, anybody else",
			[]Criterion{UnavailableFirst},
			[]Member{member("z", deleting), member("y", asked), member("u", useless), member("v", failed), member("w", readyFor(time.Second)), member("a", readyFor(time.Hour)), member("b")},
		},
		"unavailable: ready for too short a time": {
			"what has no ready node is of less use, and what has been ready for longer is available sooner",
			[]Criterion{UnavailableFirst, OldestFirst},
			[]Member{
				member("d", useless, born(day)), member("a", readyFor(time.Second), born(day)), member("b", readyFor(59*time.Second), born(2*day)),
				member("c", readyFor(time.Hour), born(3*day)),
			},
		},
		"unavailable: by a clock that is an hour behind": {
			"what a rollout counts as available goes last all the same",
			[]Criterion{UnavailableFirst, OldestFirst},
			[]Member{
				member("d", useless, born(day)), member("b", readyFor(-time.Hour), born(2*day)),
				member("a", readyFor(2*time.Minute-time.Hour), born(2*day)), member("c", readyFor(time.Minute-time.Nanosecond+time.Hour), born(3*day)),
			},
		},
		"unavailable before the oldest": {
			"the next criterion decides among those that cost the same",
			[]Criterion{UnavailableFirst, OldestFirst},
			[]Member{
				member("d", asked, born(day)), member("b", useless, born(3*day)), member("c", useless, born(2*day)),
				member("0", born(100*day)), member("a", born(day)),
			},
		},
		"unavailable: asked and useless is asked": {
			"who chose it knows best",
			[]Criterion{UnavailableFirst},
			[]Member{member("a", asked), member("b", asked, useless), member("0", useless)},
		},
		"the first difference decides": {
			"kept, priority, mark, phase, age, in that order", replacing.Order,
			[]Member{
				member("e", priority(1), phase(PhaseRunning), born(0)),
				member("d", mark(time.Hour), phase(PhaseRunning), born(0)),
				member("c", phase(PhaseFailed), born(0)),
				member("b", born(2*day)),
				member("a", born(day)),
				member("0", keptUntil(now.Add(day)), priority(0), mark(day), phase(PhaseFailed), born(9*day)),
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			shuffled := slices.Clone(tc.members)
			slices.Reverse(shuffled)
			var got, want []string
			for _, m := range Rank(now, shuffled, Policy{Order: tc.order, MinReady: time.Minute}) {
				got = append(got, m.Name)
			}
			for _, m := range tc.members {
				want = append(want, m.Name)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", tc.reason, got, want)
			}
		})
	}
}
