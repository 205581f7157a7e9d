package replicas

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// keeping is the policy of an API that keeps failed machines and leaves the
// end of a set to the garbage collector; replacing that of one that does not.
var (
	keeping   = Policy{Burst: 500, Order: []Criterion{UnlinkedFirst}}
	replacing = Policy{
		Burst: 100, Order: []Criterion{KeptLast, ByPriority, MarkedFirst, ByPhase, ByAge},
		ReplaceFailed: true, HonourMarks: true, Cascade: true, StatusCountsLeaving: true,
	}
)

// sparing is that of a deployment's set: useless members are deleted first.
var sparing = Policy{Burst: 500, Order: []Criterion{UnavailableFirst, UnlinkedFirst}}

// member is a running machine of the usual priority, changed by changes.
func member(name string, changes ...func(*Member)) Member {
	m := Member{
		UID: types.UID("uid-" + name), Name: name, Created: now.Add(-time.Hour),
		Phase: PhaseRunning, Linked: true, Priority: 3, Ready: true, Usable: true, ReadySince: now.Add(-time.Hour),
	}
	for _, c := range changes {
		c(&m)
	}
	return m
}

func many(n int, changes ...func(*Member)) []Member {
	out := make([]Member, n)
	for i := range out {
		out[i] = member(fmt.Sprintf("m-%04d", i), changes...)
	}
	return out
}

func deleting(m *Member) { m.Deleting = true }
func leaving(m *Member)  { m.Leaving, m.Phase = true, PhaseUnknown }
func doomed(m *Member)   { m.PendingDeletion = true }
func useless(m *Member)  { m.Ready, m.Usable = false, false }
func failed(m *Member)   { m.Failed, m.Phase, m.Ready, m.Usable = true, PhaseFailed, false, false }
func shielded(m *Member) { m.Shielded = true }
func marked1(m *Member)  { m.Priority, m.Marked = 1, now.Add(-time.Minute) }

func keptUntil(t time.Time) func(*Member) { return func(m *Member) { m.Preservation.Until = t } }

func names(d Decision) []string {
	var out []string
	for _, v := range d.Delete {
		out = append(out, v.Name)
	}
	return out
}

func TestDecide(t *testing.T) {
	scaled := now.Add(-30 * time.Second)
	tests := map[string]struct {
		reason  string
		set     Set
		members []Member
		policy  Policy
		create  int
		delete  []string
		decided Reason
		done    bool
	}{
		"too few": {
			reason: "what is missing is created",
			set:    Set{Replicas: 3}, members: many(1), policy: keeping, create: 2, decided: ScalingUp,
		},
		"too few, beyond the burst": {
			reason: "250 wanted by an API that creates 100 a pass",
			set:    Set{Replicas: 250}, policy: replacing, create: 100, decided: ScalingUp,
		},
		"equal": {
			reason: "nothing to do",
			set:    Set{Replicas: 2}, members: many(2), policy: keeping, decided: Settled,
		},
		"a deletion without an answer": {
			reason: "it may have happened: the same machine goes, and no other",
			set:    Set{Replicas: 2}, members: []Member{member("a"), member("b"), member("c", doomed)}, policy: keeping, delete: []string{"c"}, decided: ScalingDn,
		},
		"a deletion without an answer, of what goes first anyway": {
			reason: "the choice has not changed",
			set:    Set{Replicas: 2}, members: []Member{member("a"), member("b"), member("c", useless, doomed)}, policy: sparing, delete: []string{"c"}, decided: ScalingDn,
		},
		"a deletion without an answer, of a machine that is needed now": {
			reason: "another is of no use: nothing goes before it is known whether this one does",
			set:    Set{Replicas: 2}, members: []Member{member("a"), member("b", useless), member("c", doomed)}, policy: sparing, decided: ScalingDn,
		},
		"a deletion without an answer, and two too many": {
			reason: "the one of no use goes in any case, and one that works with it",
			set:    Set{Replicas: 1}, members: []Member{member("a"), member("b", useless), member("c", doomed)}, policy: sparing, delete: []string{"c", "b"}, decided: ScalingDn,
		},
		"two deletions without an answer, one of them of a machine that is needed now": {
			reason: "what goes first anyway goes",
			set:    Set{Replicas: 1}, members: []Member{member("a", useless), member("b", useless, doomed), member("c", doomed)}, policy: sparing, delete: []string{"b"}, decided: ScalingDn,
		},
		"too many": {
			reason: "the surplus goes, in the order of names among equals",
			set:    Set{Replicas: 1}, members: many(3), policy: keeping, delete: []string{"m-0000", "m-0001"}, decided: ScalingDn,
		},
		"to zero": {
			reason: "all go",
			set:    Set{}, members: many(2), policy: replacing, delete: []string{"m-0000", "m-0001"}, decided: ScalingDn,
		},
		"deleting machines are replaced while they drain": {
			reason: "surge on deletion: a machine with a deletion timestamp is no replica any more",
			set:    Set{Replicas: 2}, members: []Member{member("a"), member("b", deleting)}, policy: keeping, create: 1, decided: ScalingUp,
		},
		"deletion timestamp before the phase follows": {
			reason: "a user's delete is replaced at once, not when the phase flips",
			set:    Set{Replicas: 1}, members: []Member{member("a", deleting)}, policy: replacing, create: 1, decided: ScalingUp,
		},
		"terminating phase": {
			reason: "a machine on its way out is no replica",
			set:    Set{Replicas: 1}, members: []Member{member("a", leaving)}, policy: replacing, create: 1, decided: ScalingUp,
		},
		"failed machines stay": {
			reason: "this API counts them and leaves them to health checks",
			set:    Set{Replicas: 1}, members: []Member{member("a", failed)}, policy: keeping, decided: Settled,
		},
		"failed machines are replaced": {
			reason: "deleted without surplus, made good for in the next pass",
			set:    Set{Replicas: 2}, members: []Member{member("a"), member("b", failed)}, policy: replacing, delete: []string{"b"}, decided: Replacing,
		},
		"failed machine kept for inspection": {
			reason: "preservation in force spares it",
			set:    Set{Replicas: 1}, members: []Member{member("a", failed, keptUntil(now.Add(time.Hour)))}, policy: replacing, decided: Settled,
		},
		"failed machine whose preservation is over": {
			reason: "expired means replaced, even though it was asked for",
			set:    Set{Replicas: 1}, policy: replacing, delete: []string{"a"}, decided: Replacing,
			members: []Member{member("a", failed, keptUntil(now.Add(-time.Second)), func(m *Member) { m.Preservation.Own = lifecycle.WishFailed })},
		},
		"failed machine whose preservation has not begun": {
			reason: "asked for is enough until the machine controller sets the end",
			set:    Set{Replicas: 1}, policy: replacing, decided: Settled,
			members: []Member{member("a", failed, func(m *Member) { m.Preservation.Own = lifecycle.WishFailed })},
		},
		"missing machines come before replacing failed ones": {
			reason: "creating and deleting never mix in one pass",
			set:    Set{Replicas: 3}, members: []Member{member("a"), member("b", failed)}, policy: replacing, create: 1, decided: ScalingUp,
		},
		"frozen": {
			reason: "a frozen set creates nothing",
			set:    Set{Replicas: 3, NoGrowth: "frozen"}, members: many(1), policy: replacing, decided: Held,
		},
		"held, and some of those that are there failed": {
			reason: "nobody waits for them to get well, and nothing comes in their place",
			set:    Set{Replicas: 4, NoGrowth: "held"}, policy: replacing, delete: []string{"b", "c"}, decided: Held,
			members: []Member{member("a"), member("b", failed), member("c", failed)},
		},
		"held, and failed ones are kept or handed over": {
			reason: "who wants to look at one keeps it, as in any other set",
			set:    Set{Replicas: 5, NoGrowth: "held"}, policy: replacing, delete: []string{"d"}, decided: Held,
			members: []Member{
				member("a", failed, keptUntil(now.Add(time.Second))), member("b", failed, func(m *Member) { m.Preservation.Own = lifecycle.WishFailed }),
				member("c", failed, shielded), member("d", failed, keptUntil(now)),
			},
		},
		"held, and an autoscaler chose one before": {
			reason: "too few are there already: only what has failed is of no use",
			set:    Set{Replicas: 3, Scaled: scaled, NoGrowth: "held"}, members: []Member{member("a"), member("b", marked1)}, policy: replacing, decided: Held,
		},
		"held, and an autoscaler chose one that failed": {
			reason: "it has failed all the same",
			set:    Set{Replicas: 3, Scaled: scaled, NoGrowth: "held"}, members: []Member{member("a"), member("b", marked1, failed)}, policy: replacing,
			delete: []string{"b"}, decided: Held,
		},
		"held, in an API that keeps failed machines": {
			reason: "a health check gives them up, or nobody",
			set:    Set{Replicas: 3, NoGrowth: "held"}, members: []Member{member("a"), member("b", failed)}, policy: keeping, decided: Held,
		},
		"frozen, and some of those that are there failed": {
			reason: "who freezes a set in an outage wants no more of them to go",
			set:    Set{Replicas: 3, NoGrowth: "frozen", Frozen: true}, members: []Member{member("a"), member("b", failed)}, policy: replacing, decided: Held,
		},
		"frozen, too many": {
			reason: "freezing does not stop scaling down",
			set:    Set{Replicas: 1, NoGrowth: "frozen"}, members: many(2), policy: replacing, delete: []string{"m-0000"}, decided: ScalingDn,
		},
		"chosen by the autoscaler": {
			reason: "marked no later than the replicas were changed, with the first priority",
			set:    Set{Replicas: 2, Scaled: scaled}, members: []Member{member("a"), member("b", marked1)}, policy: replacing, delete: []string{"b"}, decided: Replacing,
		},
		"chosen after the last change of replicas": {
			reason: "the change that the mark belongs to is still under way",
			set:    Set{Replicas: 1, Scaled: now.Add(-time.Hour)}, members: []Member{member("b", marked1)}, policy: replacing, decided: Settled,
		},
		"marked, priority taken back": {
			reason: "only the first priority means the autoscaler's choice",
			set:    Set{Replicas: 1, Scaled: scaled}, policy: replacing, decided: Settled,
			members: []Member{member("b", marked1, func(m *Member) { m.Priority = 3 })},
		},
		"marked, never scaled": {
			reason: "without the time of a change no mark counts",
			set:    Set{Replicas: 1}, members: []Member{member("b", marked1)}, policy: replacing, decided: Settled,
		},
		"shielded machines count but do not go": {
			reason: "5 there, 3 of them updated in place, 3 wanted: the 2 others are no surplus by themselves",
			set:    Set{Replicas: 3}, policy: replacing, decided: Settled,
			members: []Member{member("a"), member("b"), member("c", shielded), member("d", shielded), member("e", shielded)},
		},
		"surplus beyond the burst": {
			reason: "150 too many, 100 a pass",
			set:    Set{Replicas: 50}, members: many(200), policy: replacing, delete: firstNames(100), decided: ScalingDn,
		},
		"fault": {
			reason: "an object at fault is left alone",
			set:    Set{Replicas: 3, Faults: []lifecycle.Fault{{Field: "spec.selector", Message: "must not be empty"}}}, policy: replacing, decided: Invalid,
		},
		"paused": {
			reason: "somebody else is in charge",
			set:    Set{Replicas: 3, Paused: "migrating"}, policy: keeping, decided: Paused,
		},
		"set deleted, members belong to the garbage collector": {
			reason: "nothing to do for us",
			set:    Set{Replicas: 3, Deleting: true}, members: many(2), policy: keeping, decided: Orphaned, done: true,
		},
		"set deleted with its members": {
			reason: "those that are not deleted yet are, faults or not",
			set:    Set{Replicas: 3, Deleting: true, Faults: []lifecycle.Fault{{Field: "spec.replicas", Message: "bad"}}}, policy: replacing, decided: Cascading,
			members: []Member{member("a"), member("b", deleting), member("c", leaving)}, delete: []string{"c", "a"},
		},
		"set deleted, members all deleted": {
			reason: "the set waits for the last to go",
			set:    Set{Deleting: true}, members: []Member{member("b", deleting)}, policy: replacing, decided: Cascading,
		},
		"set deleted, no members left": {
			reason: "the finalizer may go",
			set:    Set{Deleting: true}, policy: replacing, decided: Cascading, done: true,
		},
		"set deleted, members to survive": {
			reason: "orphaning: the garbage collector frees the members first",
			set:    Set{Deleting: true, Orphaning: true}, members: many(2), policy: replacing, decided: Orphaned,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(now, tc.set, tc.members, tc.policy)
			if d.Create != tc.create || d.Reason != tc.decided || d.Finished != tc.done || !slices.Equal(names(d), tc.delete) {
				t.Errorf("%s\ngot create %d, delete %v, reason %s, finished %v\nwant %d, %v, %s, %v", tc.reason,
					d.Create, names(d), d.Reason, d.Finished, tc.create, tc.delete, tc.decided, tc.done)
			}
			if d.Message == "" {
				t.Error("a decision without a message explains nothing")
			}
		})
	}
}

func firstNames(n int) (out []string) {
	for _, m := range many(n) {
		out = append(out, m.Name)
	}
	return out
}

func TestClaim(t *testing.T) {
	tests := map[string]struct {
		reason string
		tie    Tie
		want   Verdict
	}{
		"own, matching":                 {"a member", Tie{Ours: true, Matches: true}, IsMember},
		"own, matching, both deleting":  {"a member until it is gone", Tie{Ours: true, Matches: true, MachineDeleting: true, SetDeleting: true}, IsMember},
		"own, not matching":             {"its labels were changed: let it go", Tie{Ours: true}, Release},
		"own, not matching, deleting":   {"it goes anyway", Tie{Ours: true, MachineDeleting: true}, Ignore},
		"own, not matching, set going":  {"a broken selector saves no machine", Tie{Ours: true, SetDeleting: true}, IsMember},
		"somebody else's, matching":     {"never taken away", Tie{Matches: true}, Ignore},
		"nobody's, matching":            {"adopted", Tie{Free: true, Matches: true}, Adopt},
		"nobody's, matching, deleting":  {"no use adopting it", Tie{Free: true, Matches: true, MachineDeleting: true}, Ignore},
		"nobody's, matching, set going": {"orphans stay orphans", Tie{Free: true, Matches: true, SetDeleting: true}, Ignore},
		"nobody's, not matching":        {"none of our business", Tie{Free: true}, Ignore},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Claim(tc.tie); got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestAutoKeep(t *testing.T) {
	aged := func(hours int) func(*Member) {
		return func(m *Member) { m.Created = now.Add(-time.Duration(hours) * time.Hour) }
	}
	auto := func(m *Member) { m.Preservation.Own = lifecycle.WishOwner }
	tests := map[string]struct {
		reason  string
		bound   int
		members []Member
		want    []KeepChange
	}{
		"no bound set":        {"nothing is kept unasked", 0, []Member{member("a", failed)}, nil},
		"room for one of two": {"the newest failed machine is kept", 1, []Member{member("a", failed, aged(2)), member("b", failed, aged(1))}, []KeepChange{{"b", true}}},
		"full":                {"one is kept already", 1, []Member{member("a", failed, auto), member("b", failed)}, nil},
		"decided against":     {"a person said no", 1, []Member{member("a", failed, func(m *Member) { m.Preservation.Own = lifecycle.WishNot })}, nil},
		"lowered":             {"the oldest is let go", 1, []Member{member("a", failed, auto, aged(1)), member("b", failed, auto, aged(2))}, []KeepChange{{"b", false}}},
		"healthy machines":    {"only failures are kept", 2, many(2), nil},
		"on its way out":      {"a machine being deleted cannot be kept", 1, []Member{member("a", failed, deleting)}, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := AutoKeep(Set{AutoKeep: tc.bound}, tc.members)
			if diff := cmp.Diff(tc.want, got, emptyIsNil); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
