package replicas

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/limits"
)

// third is a guard with 30 %.
func third(changes ...func(*Guard)) *Guard {
	g := &Guard{Limit: limits.Limit{Percent: 30, Min: 1}}
	for _, c := range changes {
		c(g)
	}
	return g
}

func approved(n int) func(*Guard)        { return func(g *Guard) { g.Approved = n } }
func elsewhere(t, gone int) func(*Guard) { return func(g *Guard) { g.Elsewhere = Disruption{t, gone} } }

// Rows are named for what happens to users; neither original has any of it.
func TestGuard(t *testing.T) {
	chosen := func(n int) []Member { return append(many(10-n), renamed("x", many(n, marked1))...) }
	tests := map[string]struct {
		reason  string
		set     Set
		members []Member
		policy  Policy
		delete  int
		held    string
		decided Reason
	}{
		"nobody asked": {
			reason: "people remove as many as they like",
			set:    Set{}, members: many(10), policy: keeping, delete: 10, decided: ScalingDn,
		},
		"the share": {
			reason: "3 of 10 is what was asked for",
			set:    Set{Replicas: 7, Guard: third()}, members: many(10), policy: keeping, delete: 3, decided: ScalingDn,
		},
		"more than the share": {
			reason: "a wrong number is not followed halfway either",
			set:    Set{Replicas: 6, Guard: third()}, members: many(10), policy: keeping,
			held: "4 of 10 would be removed, and at most 3", decided: Guarded,
		},
		"approved": {
			reason: "somebody has counted",
			set:    Set{Replicas: 1, Guard: third(approved(9))}, members: many(10), policy: keeping, delete: 9, decided: ScalingDn,
		},
		"another number approved": {
			reason: "an approval that was forgotten does not approve everything",
			set:    Set{Replicas: 0, Guard: third(approved(9))}, members: many(10), policy: keeping,
			held: `approve-mass-deletion: "10"`, decided: Guarded,
		},
		"the last one": {
			reason: "one may always go",
			set:    Set{Guard: third()}, members: many(1), policy: keeping, delete: 1, decided: ScalingDn,
		},
		"small steps": {
			reason: "those on their way out count: an autoscaler that takes one after another empties a set as well",
			set:    Set{Replicas: 6, Guard: third()}, members: append(many(7), renamed("x", many(3, deleting))...), policy: keeping,
			held: "4 of 10 would be removed", decided: Guarded,
		},
		"small steps, done": {
			reason: "what is gone does not count",
			set:    Set{Replicas: 6, Guard: third()}, members: many(7), policy: keeping, delete: 1, decided: ScalingDn,
		},
		"in bursts": {
			reason: "the guard is asked about all that goes, not about the part of this pass",
			set:    Set{Replicas: 300, Guard: third()}, members: many(1000), policy: replacing,
			held: "700 of 1000", decided: Guarded,
		},
		"in bursts, approved": {
			reason: "the burst still holds",
			set:    Set{Replicas: 300, Guard: third(approved(700))}, members: many(1000), policy: replacing, delete: 100, decided: ScalingDn,
		},
		"the autoscaler's choice": {
			reason: "marks count like a surplus",
			set:    Set{Replicas: 10, Scaled: now, Guard: third()}, members: chosen(4), policy: replacing,
			held: "4 of 10", decided: Guarded,
		},
		"the autoscaler's choice, a share": {
			reason: "within the share marks are honoured",
			set:    Set{Replicas: 10, Scaled: now, Guard: third()}, members: chosen(3), policy: replacing, delete: 3, decided: Replacing,
		},
		"failed": {
			reason: "replacing what failed is not a number that somebody mistyped",
			set:    Set{Replicas: 10, Guard: third()}, members: append(many(2), renamed("x", many(8, failed))...), policy: replacing,
			delete: 8, decided: Replacing,
		},
		"failed, and too many besides": {
			reason: "those that failed are replaced, the others are held",
			set:    Set{Replicas: 1, Guard: third()}, members: append(many(8), renamed("x", many(2, failed))...), policy: replacing,
			delete: 2, held: "9 of 10", decided: Replacing,
		},
		"failed, and what may go besides without them": {
			reason: "the two that go because they failed are two of the three that may be on their way out",
			set:    Set{Replicas: 6, Guard: third()}, members: append(many(8), renamed("x", many(2, failed))...), policy: replacing,
			delete: 2, held: "4 of 10", decided: Replacing,
		},
		"failed, where they stay": {
			reason: "an API that does not replace failed machines counts them like any other",
			set:    Set{Replicas: 2, Guard: third()}, members: append(many(2), renamed("x", many(8, failed))...), policy: keeping,
			held: "8 of 10", decided: Guarded,
		},
		"a step of a rollout": {
			reason: "2 of a fleet of 12 is a step, though it is the end of this set",
			set:    Set{Guard: third(elsewhere(10, 0))}, members: many(2), policy: keeping, delete: 2, decided: ScalingDn,
		},
		"two sets at once": {
			reason: "2 here and 2 there are 4 of 12",
			set:    Set{Guard: third(elsewhere(10, 2))}, members: many(2), policy: keeping,
			held: "4 of 12 would be removed, and at most 3", decided: Guarded,
		},
		"the set goes": {
			reason: "who deletes a set has said what becomes of its machines",
			set:    Set{Deleting: true, Guard: third()}, members: many(10), policy: replacing, delete: 10, decided: Cascading,
		},
		"growth": {
			reason: "a guard does not keep machines from being made",
			set:    Set{Replicas: 12, Guard: third()}, members: many(10), policy: keeping, decided: ScalingUp,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(now, tc.set, tc.members, tc.policy)
			if len(d.Delete) != tc.delete || d.Reason != tc.decided || (d.Withheld == "") != (tc.held == "") || !strings.Contains(d.Withheld, tc.held) {
				t.Errorf("%s: deletes %d, %s, held %q; want %d, %s, %q", tc.reason, len(d.Delete), d.Reason, d.Withheld, tc.delete, tc.decided, tc.held)
			}
		})
	}
}

func renamed(prefix string, members []Member) []Member {
	for i := range members {
		members[i].Name = prefix + members[i].Name
		members[i].UID = "uid-" + members[i].UID
	}
	return members
}

// The message names everything that a user needs to act.
func TestGuardMessage(t *testing.T) {
	g := third(elsewhere(10, 2), func(g *Guard) { g.Place, g.Misread = "MachineDeployment web", "x: not understood" })
	got := Decide(now, Set{Guard: g}, many(2), keeping).Withheld
	want := `4 of 12 would be removed, and at most 3 may be at once; annotation millwright.dev/approve-mass-deletion: "4" approves it` +
		`, on MachineDeployment web (2 of them are under deletion or about to be); x: not understood`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWeigh(t *testing.T) {
	mixed := append(many(6), renamed("x", many(4, deleting))...)
	for name, tc := range map[string]struct {
		set  Set
		want Disruption
	}{
		"at rest":    {Set{Replicas: 6}, Disruption{10, 4}},
		"shrinking":  {Set{Replicas: 4}, Disruption{10, 6}},
		"growing":    {Set{Replicas: 40}, Disruption{10, 4}},
		"guarded":    {Set{Replicas: 0, Guard: third()}, Disruption{10, 10}},
		"at fault":   {Set{Faults: []lifecycle.Fault{{}}}, Disruption{10, 4}},
		"paused":     {Set{Paused: "x"}, Disruption{10, 4}},
		"deleted":    {Set{Replicas: 6, Deleting: true}, Disruption{10, 10}},
		"orphaning":  {Set{Replicas: 6, Deleting: true, Orphaning: true}, Disruption{10, 4}},
		"no members": {Set{Replicas: 6}, Disruption{}},
	} {
		members := mixed
		if name == "no members" {
			members = nil
		}
		if got := DisruptionOf(now, tc.set, members, keeping); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// For any set: with a guard it deletes the same members as without one, or only those to be replaced; and
// then the number of members under deletion is within the share, or approved.
func TestGuardHoldsAllOrNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, members, p := drawSet(t), drawMembers(t), drawPolicy(t)
		set.Deleting, p.Burst = false, 100
		free := Decide(now, set, members, p)
		share, approved := rapid.IntRange(1, 100).Draw(t, "share"), rapid.IntRange(0, 12).Draw(t, "approved")
		set.Guard = &Guard{Limit: limits.Limit{Percent: share, Min: 1}, Approved: approved}
		d := Decide(now, set, members, p)
		want := free.Delete
		if d.Withheld != "" {
			want = slices.DeleteFunc(slices.Clone(want), func(v Victim) bool { return v.Reason != WhyFailed })
		}
		if diff := cmp.Diff(want, d.Delete, emptyIsNil); diff != "" {
			t.Fatalf("held %q (-want +got):\n%s", d.Withheld, diff)
		}
		chosen := slices.ContainsFunc(d.Delete, func(v Victim) bool { return v.Reason != WhyFailed })
		going := len(members) - len(only(members, Member.Counts)) + len(guarded(d.Delete))
		// One may always be deleted, otherwise the share, rounded down.
		if within := going <= 1 || going <= approved || 100*going <= share*len(members); chosen && !within {
			t.Fatalf("%d of %d on their way out, %d %% or %d allowed", going, len(members), share, approved)
		}
		if d.Create != free.Create {
			t.Fatalf("creates %d instead of %d", d.Create, free.Create)
		}
	})
}
