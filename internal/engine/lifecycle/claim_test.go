package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// sighting is an instance with the UID, created so many minutes ago.
func sighting(id, uid string, ago int, edits ...func(*lifecycle.Sighting)) lifecycle.Sighting {
	s := lifecycle.Sighting{Instance: provider.Instance{
		ID: id, UID: uid, Name: "m-1", ProviderID: "cloud:///" + id, State: provider.Running, Created: now.Add(-time.Duration(ago) * time.Minute),
	}}
	for _, e := range edits {
		e(&s)
	}
	return s
}

func recorded(s *lifecycle.Sighting) { s.Recorded = true }

func claimed(s *lifecycle.Sighting) { s.Claimant = "ns/m-2" }

func in(state provider.State) func(*lifecycle.Sighting) {
	return func(s *lifecycle.Sighting) { s.State = state }
}

func called(name string) func(*lifecycle.Sighting) {
	return func(s *lifecycle.Sighting) { s.Name = name }
}

// TestClaims: the owners of the found instances.
func TestClaims(t *testing.T) {
	has := machine()                 // it has cloud:///i-1 recorded
	nothing, uid := fresh(), has.UID // it has nothing
	for _, r := range []struct {
		name, reason       string
		m                  lifecycle.Machine
		all                []lifecycle.Sighting
		kept               string
		doubles, strangers []string
		unmade             bool
	}{
		{
			name: "P2 two instances", reason: "the one recorded is kept, although it is the younger one",
			m: has, all: []lifecycle.Sighting{sighting("i-2", uid, 9), sighting("i-1", uid, 1, recorded)},
			kept: "i-1", doubles: []string{"i-2"},
		},
		{
			name: "P2 two instances, the recorded one is stopping", reason: "its end is the machine's business; no other takes its place",
			m: has, all: []lifecycle.Sighting{sighting("i-2", uid, 9), sighting("i-1", uid, 1, recorded, in(provider.Stopping))},
			kept: "i-1", doubles: []string{"i-2"},
		},
		{
			name: "two instances, nothing recorded", reason: "the oldest is kept",
			m: nothing, all: []lifecycle.Sighting{sighting("i-1", uid, 1), sighting("i-2", uid, 2)},
			kept: "i-2", doubles: []string{"i-1"},
		},
		{
			name: "two instances of one moment", reason: "the lowest ID is kept, so that all observers keep the same",
			m: nothing, all: []lifecycle.Sighting{sighting("i-2", uid, 1), sighting("i-1", uid, 1)},
			kept: "i-1", doubles: []string{"i-2"},
		},
		{
			name: "one with our UID and one without", reason: "ours is kept, although it is the younger one",
			m: nothing, all: []lifecycle.Sighting{sighting("i-2", "", 9), sighting("i-1", uid, 1)},
			kept: "i-1", doubles: []string{"i-2"},
		},
		{
			name: "two instances, the older is on its way out", reason: "the one that stays is kept",
			m: nothing, all: []lifecycle.Sighting{sighting("i-1", uid, 9, in(provider.Stopping)), sighting("i-2", uid, 1)},
			kept: "i-2", doubles: []string{"i-1"},
		},
		{
			name: "two instances, both on their way out", reason: "neither is usable: the oldest is kept all the same, and no third is made",
			m: nothing, all: []lifecycle.Sighting{sighting("i-2", uid, 9, in(provider.Stopping)), sighting("i-1", uid, 1, in(provider.Stopping))},
			kept: "i-2", doubles: []string{"i-1"},
		},
		{
			name: "the recorded one is gone, a double is there", reason: "the UID is the identity: the double stands in",
			m: has, all: []lifecycle.Sighting{sighting("i-1", uid, 9, recorded, in(provider.Terminated)), sighting("i-2", uid, 1)},
			kept: "i-2",
		},
		{
			name: "the recorded one is gone, a namesake is there", reason: "what merely has the name does not stand in",
			m: has, all: []lifecycle.Sighting{sighting("i-2", "", 9)}, doubles: []string{"i-2"},
		},
		{
			name: "C36 made by another implementation", reason: "no UID, our name, our scope, and nobody else's: adopted",
			m: nothing, all: []lifecycle.Sighting{sighting("i-2", "", 9)}, kept: "i-2",
		},
		{
			name: "C36 made by another implementation for somebody else", reason: "a name alone is no claim",
			m: nothing, all: []lifecycle.Sighting{sighting("i-2", "", 9, claimed)}, strangers: []string{"i-2"}, unmade: true,
		},
		{
			name: "recorded, without a UID, under another name", reason: "the record is a claim",
			m: has, all: []lifecycle.Sighting{sighting("i-1", "", 9, recorded, called("old"))}, kept: "i-1",
		},
		{
			name: "recorded, without a UID, and another machine's", reason: "a copied record is none",
			m: has, all: []lifecycle.Sighting{sighting("i-1", "", 9, recorded, claimed)}, strangers: []string{"i-1"}, unmade: true,
		},
		{
			name: "restored from a backup", reason: "a former UID; record and name say whose it is",
			m: has, all: []lifecycle.Sighting{sighting("i-1", "former", 9, recorded)}, kept: "i-1",
		},
		{
			name: "a copy of another machine, with its record", reason: "the UID is another's, and so is the name",
			m: has, all: []lifecycle.Sighting{sighting("i-1", "other", 9, recorded, called("m-0"))}, strangers: []string{"i-1"}, unmade: true,
		},
		{
			name: "restored beside the original", reason: "the machine with the UID is alive",
			m: has, all: []lifecycle.Sighting{sighting("i-1", "other", 9, recorded, claimed)}, strangers: []string{"i-1"}, unmade: true,
		},
		{
			name: "a namesake with another UID", reason: "it is a former machine's",
			m: nothing, all: []lifecycle.Sighting{sighting("i-1", "former", 9)}, strangers: []string{"i-1"}, unmade: true,
		},
		{
			name: "our UID, and another machine has it recorded", reason: "the UID alone decides",
			m: nothing, all: []lifecycle.Sighting{sighting("i-1", uid, 9, claimed)}, kept: "i-1",
		},
		{
			name: "terminated, ours", reason: "a machine that had an instance does not get another",
			m: nothing, all: []lifecycle.Sighting{sighting("i-1", uid, 9, in(provider.Terminated))},
		},
		{
			name: "terminated, of our name", reason: "what somebody's namesake had says nothing about us",
			m: nothing, all: []lifecycle.Sighting{sighting("i-1", "", 9, in(provider.Terminated))}, unmade: true,
		},
		{name: "nothing", reason: "nothing", m: nothing, unmade: true},
	} {
		t.Run(r.name, func(t *testing.T) {
			c := lifecycle.Claims(r.m, r.all)
			var kept []string
			if r.kept != "" {
				kept = []string{r.kept}
			}
			got := [][]string{ids(c.Instances), ids(c.Duplicates), strangers(c)}
			if d := cmp.Diff([][]string{kept, r.doubles, r.strangers}, got); d != "" || c.Made == r.unmade {
				t.Errorf("%s: made %t; kept, doubles, strangers (-want +got)\n%s", r.reason, c.Made, d)
			}
		})
	}
}

func ids(all []provider.Instance) (out []string) {
	for _, i := range all {
		out = append(out, i.ID)
	}
	return out
}

func strangers(c lifecycle.Claim) (out []string) {
	for _, s := range c.Foreign {
		out = append(out, s.ID)
	}
	return out
}

// TestClaimsProperties: every existing instance is in one list, for any order of the report; at most one
// instance is kept; the recorded one is kept if it belongs to the machine.
func TestClaimsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom([]lifecycle.Machine{machine(), fresh()}).Draw(t, "machine")
		var all []lifecycle.Sighting
		for n := range rapid.IntRange(0, 5).Draw(t, "instances") {
			s := sighting(string(rune('a'+n)), rapid.SampledFrom([]string{"", m.UID, m.UID, "other"}).Draw(t, "uid"), rapid.IntRange(0, 2).Draw(t, "age"))
			s.State = rapid.SampledFrom([]provider.State{provider.Running, provider.Pending, provider.Stopping, provider.Terminated}).Draw(t, "state")
			s.Name = rapid.SampledFrom([]string{m.Name, m.Name, "other"}).Draw(t, "name")
			s.Recorded = m.Recorded.ProviderID != "" && n == 0 && drawBool(t, "recorded")
			if drawBool(t, "claimed") {
				s.Claimant = "ns/other"
			}
			all = append(all, s)
		}
		c := lifecycle.Claims(m, all)
		if again := lifecycle.Claims(m, rapid.Permutation(all).Draw(t, "order")); !slices.Equal(ids(again.Instances), ids(c.Instances)) {
			t.Fatalf("kept %v, in another order %v", ids(c.Instances), ids(again.Instances))
		}
		if len(c.Instances) > 1 {
			t.Fatalf("kept %v", ids(c.Instances))
		}
		there := slices.Concat(ids(c.Instances), ids(c.Duplicates), strangers(c))
		var want []string
		for _, s := range all {
			if s.Exists() {
				want = append(want, s.ID)
			}
			own := s.UID == m.UID || s.UID == "" && s.Claimant == ""
			if s.Recorded && s.Exists() && own && !slices.Contains(ids(c.Instances), s.ID) {
				t.Fatalf("%s is recorded, and %v is kept", s.ID, ids(c.Instances))
			}
			if s.UID != m.UID && s.Claimant != "" && slices.Contains(slices.Concat(ids(c.Instances), ids(c.Duplicates)), s.ID) {
				t.Fatalf("%s is another machine's, and would be removed", s.ID)
			}
		}
		slices.Sort(there)
		if !slices.Equal(there, want) {
			t.Fatalf("of %v, %v are somewhere", want, there)
		}
	})
}

// TestClaimant: the owner among several machines with a link to an instance.
func TestClaimant(t *testing.T) {
	i := provider.Instance{ID: "i-1", Name: "m-1"}
	tagged := i
	tagged.UID = "uid-2"
	rival := func(name string, edits ...func(*lifecycle.Rival)) lifecycle.Rival {
		r := lifecycle.Rival{UID: "uid-2", Namespace: "other", Name: name, Created: now}
		for _, e := range edits {
			e(&r)
		}
		return r
	}
	records := func(r *lifecycle.Rival) { r.Records = true }
	other := func(r *lifecycle.Rival) { r.Other = true }
	younger := func(r *lifecycle.Rival) { r.Created = now.Add(time.Hour) }
	first := func(r *lifecycle.Rival) { r.UID = "uid-0" }
	me := func(edits ...func(*lifecycle.Rival)) lifecycle.Rival {
		m := rival("m-1", edits...)
		m.UID, m.Namespace = "uid-1", "ns"
		return m
	}
	for _, r := range []struct {
		reason string
		i      provider.Instance
		m      lifecycle.Rival
		rivals []lifecycle.Rival
		want   string
	}{
		{"nobody else", i, me(), nil, ""},
		{"the machine whose UID it carries, whatever is recorded", tagged, me(records), []lifecycle.Rival{rival("m-0")}, "other/m-0"},
		{"who recorded it goes before who has its name", i, me(), []lifecycle.Rival{rival("m-0", records)}, "other/m-0"},
		{"we recorded it, the other has its name", i, me(records), []lifecycle.Rival{rival("m-1")}, ""},
		{"both recorded it, the other has its name", i, me(records, func(m *lifecycle.Rival) { m.Name = "copy" }), []lifecycle.Rival{rival("m-1", records, younger)}, "other/m-1"},
		{"both recorded it, we have its name", i, me(records, younger), []lifecycle.Rival{rival("copy", records)}, ""},
		{"both have its name; the other is older", i, me(younger), []lifecycle.Rival{rival("m-1")}, "other/m-1"},
		{"both have its name; we are older", i, me(), []lifecycle.Rival{rival("m-1", younger)}, ""},
		{"both have its name and age; the UID decides, for us", i, me(), []lifecycle.Rival{rival("m-1")}, ""},
		{"both have its name and age; the UID decides, for the other", i, me(), []lifecycle.Rival{rival("m-1", first)}, "other/m-1"},
		{"the other has one already", i, me(younger), []lifecycle.Rival{rival("m-1", other)}, ""},
		{"we have one already", i, me(other), []lifecycle.Rival{rival("m-1", younger)}, "other/m-1"},
		{"a rival without any right is none", tagged, me(func(m *lifecycle.Rival) { m.Name = "x" }), []lifecycle.Rival{rival("y", first)}, ""},
	} {
		t.Run(r.reason, func(t *testing.T) {
			if got := lifecycle.ClaimantOf(r.i, r.m, r.rivals); got != r.want {
				t.Errorf("the instance is %q's, want %q", got, r.want)
			}
		})
	}
}

// TestDuplicates: the decisions about several instances, and about those of other machines.
func TestDuplicates(t *testing.T) {
	double := sighting("i-2", "uid-1", 9).Instance
	twice := func(w *lifecycle.World) {
		having(instance(provider.Running))(w)
		w.Instances.Duplicates = []provider.Instance{double}
	}
	stranger := func(edits ...func(*lifecycle.Sighting)) worldEdit {
		return func(w *lifecycle.World) {
			w.Instances.Foreign = []lifecycle.Sighting{sighting("i-3", "uid-3", 9, append(edits, claimed)...)}
		}
	}
	for _, r := range []struct {
		name, reason string
		m            lifecycle.Machine
		w            lifecycle.World
		p            lifecycle.Policy
		step         lifecycle.Step
		because      lifecycle.Reason
	}{
		{"nothing recorded", "the choice is stored before anything else", fresh(), world(twice), lifecycle.Policy{}, lifecycle.RecordInstance, lifecycle.ReasonDuplicate},
		{"one recorded", "the machine lives on, and looks whether it is gone", machine(), world(twice, joined(node("True"))), lifecycle.Policy{}, lifecycle.Await, lifecycle.ReasonRunning},
		{
			"deleted, only a double left", "the machine does not go before all its instances", leaving(func(m *lifecycle.Machine) { m.Deletion.Drained = true }),
			world(func(w *lifecycle.World) { w.Instances.Duplicates = []provider.Instance{double} }),
			lifecycle.Policy{},
			lifecycle.Terminate, lifecycle.ReasonDeleting,
		},
		{
			"deleted, only a double left, and a node", "there may be workloads", leaving(),
			world(joined(node("True")), func(w *lifecycle.World) { w.Instances.Duplicates = []provider.Instance{double} }),
			lifecycle.Policy{},
			lifecycle.Drain, lifecycle.ReasonDeleting,
		},
		{"the name is taken", "none is made, and it is said why", fresh(), world(stranger()), lifecycle.Policy{}, lifecycle.Await, lifecycle.ReasonTaken},
		{
			"the name is taken, and the time is over", "the owner may make another", fresh(aged(time.Hour)), world(stranger()),
			lifecycle.Policy{Join: lifecycle.JoinPolicy{Timeout: time.Minute}},
			lifecycle.Fail, lifecycle.ReasonCreateTimeout,
		},
		{
			"the instance recorded is another's", "there is none for this machine", machine(), world(stranger(recorded)),
			lifecycle.Policy{Join: lifecycle.JoinPolicy{MissingFails: true}},
			lifecycle.Fail, lifecycle.ReasonMissing,
		},
		{
			"create was not answered, listings lag", "it is looked for before it is asked for again", fresh(),
			world(func(w *lifecycle.World) {
				w.Unlisted = lifecycle.Unlisted{For: 30 * time.Second, Sent: true, Err: errTransient}
			}),
			lifecycle.Policy{},
			lifecycle.Await, lifecycle.ReasonUnconfirmed,
		},
		{
			"create was not answered, listings have caught up", "it is asked for again", fresh(),
			world(func(w *lifecycle.World) {
				w.Unlisted = lifecycle.Unlisted{Sent: true, Err: errTransient}
			}),
			lifecycle.Policy{},
			lifecycle.Create, lifecycle.ReasonNoInstance,
		},
		{
			"create was refused, listings lag", "a refusal made nothing", fresh(),
			world(failedAt(lifecycle.Create, provider.Errorf(provider.Exhausted, "full"), time.Minute, 1), func(w *lifecycle.World) { w.Unlisted.For = time.Hour }),
			lifecycle.Policy{},
			lifecycle.Create, lifecycle.ReasonNoInstance,
		},
	} {
		t.Run(r.name, func(t *testing.T) {
			d := lifecycle.Decide(now, r.m, r.w, r.p)
			if d.Step != r.step || d.Reason != r.because {
				t.Errorf("%s: %s (%s) %s, want %s (%s)", r.reason, d.Step, d.Reason, d.Message, r.step, r.because)
			}
			if d.Step == lifecycle.Await && d.After <= 0 {
				t.Errorf("waits for %v", d.After)
			}
		})
	}
}
