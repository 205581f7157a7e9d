package replicas

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

func drawMembers(t *rapid.T) []Member {
	return rapid.SliceOfNDistinct(rapid.Custom(drawMember), 0, 12, func(m Member) string { return m.Name }).Draw(t, "members")
}

func drawMember(t *rapid.T) Member {
	name := fmt.Sprintf("m-%02d", rapid.IntRange(0, 40).Draw(t, "name"))
	about := func(label string) time.Time {
		return now.Add(time.Duration(rapid.IntRange(-3, 3).Draw(t, label)) * time.Hour)
	}
	flag := func(label string) bool { return rapid.IntRange(0, 4).Draw(t, label) == 0 }
	m := Member{
		UID: types.UID(name), Name: name, Created: about("created"), Deleting: flag("deleting"), Leaving: flag("leaving"),
		Phase: Phase(rapid.IntRange(0, 6).Draw(t, "phase")), Failed: flag("failed"), Linked: flag("linked"), Asked: flag("asked"),
		Priority: rapid.IntRange(0, 3).Draw(t, "priority"), Shielded: flag("shielded"),
	}
	if flag("marked") {
		m.Marked = about("mark")
	}
	if flag("kept") {
		m.Preservation = lifecycle.Preservation{
			Until: about("until"),
			Own:   rapid.SampledFrom([]lifecycle.Wish{lifecycle.WishNone, lifecycle.WishNot, lifecycle.WishFailed, lifecycle.WishOwner}).Draw(t, "own"),
		}
	}
	return m
}

func drawPolicy(t *rapid.T) Policy {
	p := replacing
	if rapid.Bool().Draw(t, "keeping") {
		p = keeping
		p.Order = []Criterion{rapid.SampledFrom([]Criterion{UnlinkedFirst, OldestFirst, NewestFirst}).Draw(t, "order")}
	}
	p.Burst = rapid.IntRange(1, 8).Draw(t, "burst")
	return p
}

func drawSet(t *rapid.T) Set {
	s := Set{Replicas: rapid.IntRange(0, 12).Draw(t, "replicas"), Deleting: rapid.IntRange(0, 5).Draw(t, "going") == 0}
	if rapid.Bool().Draw(t, "scaled") {
		s.Scaled = now
	}
	return s
}

// The bounds hold in every single pass, for any members.
func TestDecideStaysWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, members, p := drawSet(t), drawMembers(t), drawPolicy(t)
		d := Decide(now, set, members, p)
		counted := len(only(members, Member.Counts))
		plain := 0
		for _, v := range d.Delete {
			if v.Reason == WhySurplus {
				plain++
			}
		}
		surplus := max(0, counted-set.Replicas)
		switch {
		case d.Create > 0 && len(d.Delete) > 0:
			t.Fatal("creates and deletes in one pass")
		case d.Create > p.Burst || len(d.Delete) > p.Burst:
			t.Fatalf("more than the burst of %d: %d, %d", p.Burst, d.Create, len(d.Delete))
		case d.Create > 0 && (set.Deleting || counted+d.Create > set.Replicas):
			t.Fatalf("creates %d with %d of %d there", d.Create, counted, set.Replicas)
		case plain > surplus:
			t.Fatalf("deletes %d as surplus where there are %d", plain, surplus)
		case !p.ReplaceFailed && !p.HonourMarks && len(d.Delete) > surplus:
			t.Fatalf("deletes %d with a surplus of %d", len(d.Delete), surplus)
		}
		for _, v := range d.Delete {
			i := slices.IndexFunc(members, func(m Member) bool { return m.UID == v.UID })
			if i < 0 || members[i].Deleting {
				t.Fatalf("deletes %s, which is no member or deleted already", v.Name)
			}
		}
	})
}

// The arithmetic of the original, in its own words: a machine under deletion does not count; below the wanted
// number the difference is created, and nothing deleted; otherwise the surplus is deleted, without shielded
// machines, and in addition only failed or marked machines. Our difference: below the wanted number a set
// that may not grow, and is not frozen, deletes failed machines.
func TestDecideDoesTheArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, members, p := drawSet(t), drawMembers(t), drawPolicy(t)
		set.Deleting, p.Burst = false, 100
		if rapid.Bool().Draw(t, "held") {
			set.NoGrowth, set.Frozen = "held", rapid.Bool().Draw(t, "frozen")
		}
		there, open, condemned, failed := 0, 0, 0, 0
		for _, m := range members {
			if m.Deleting || m.Leaving {
				continue
			}
			there++
			if m.Shielded {
				continue
			}
			open++
			stays := m.Preservation.Until.After(now) || m.Preservation.Until.IsZero() && (m.Preservation.Own == lifecycle.WishFailed || m.Preservation.Own == lifecycle.WishOwner)
			called := m.Priority == 1 && !m.Marked.IsZero() && !set.Scaled.IsZero() && !m.Marked.After(set.Scaled)
			gone := p.ReplaceFailed && m.Failed && !stays
			if gone || p.HonourMarks && called {
				condemned++
			}
			if gone {
				failed++
			}
		}
		create, remove := 0, 0
		switch {
		case there >= set.Replicas:
			remove = max(condemned, open-set.Replicas)
		case set.NoGrowth == "":
			create = set.Replicas - there
		case !set.Frozen:
			remove = failed
		}
		d := Decide(now, set, members, p)
		if d.Create != create || len(d.Delete) != remove {
			t.Fatalf("of %d wanted, %d there, %d not shielded, %d condemned: creates %d and deletes %d, expected %d and %d",
				set.Replicas, there, open, condemned, d.Create, len(d.Delete), create, remove)
		}
	})
}

func TestDecideIgnoresTheOrderOfMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, members, p := drawSet(t), drawMembers(t), drawPolicy(t)
		shuffled := rapid.Permutation(members).Draw(t, "shuffled")
		if diff := cmp.Diff(Decide(now, set, members, p), Decide(now, set, shuffled, p)); diff != "" {
			t.Fatalf("the order of members matters:\n%s", diff)
		}
	})
}

// Carrying out decisions repeatedly ends with the wanted number of members.
func TestDecideConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, members, p := drawSet(t), drawMembers(t), drawPolicy(t)
		set.Deleting = false
		for pass := 0; ; pass++ {
			d := Decide(now, set, members, p)
			if !d.Acts() {
				break
			}
			if pass > 100 {
				t.Fatalf("still not at rest: %+v", d)
			}
			members = perform(members, d, pass)
		}
		counted := only(members, Member.Counts)
		open := only(counted, func(m Member) bool { return !m.Shielded })
		if len(counted) < set.Replicas || len(open) > set.Replicas {
			t.Fatalf("at rest with %d members, %d of them not shielded, for %d replicas", len(counted), len(open), set.Replicas)
		}
	})
}

func perform(members []Member, d Decision, pass int) []Member {
	out := only(members, func(m Member) bool {
		return !slices.ContainsFunc(d.Delete, func(v Victim) bool { return v.UID == m.UID })
	})
	for i := range d.Create {
		out = append(out, member(fmt.Sprintf("new-%d-%d", pass, i)))
	}
	return out
}

func TestRankIsATotalOrder(t *testing.T) {
	criteria := []Criterion{UnlinkedFirst, OldestFirst, NewestFirst, KeptLast, ByPriority, MarkedFirst, ByPhase, ByAge, UnavailableFirst}
	rapid.Check(t, func(t *rapid.T) {
		members := drawMembers(t)
		order := rapid.Permutation(criteria).Draw(t, "order")
		p := Policy{Order: order, MinReady: time.Minute}
		a := Rank(now, members, p)
		b := Rank(now, rapid.Permutation(members).Draw(t, "shuffled"), p)
		if diff := cmp.Diff(a, b, emptyIsNil); diff != "" {
			t.Fatalf("the rank depends on the order of members:\n%s", diff)
		}
		if len(a) != len(members) {
			t.Fatalf("%d members in, %d out", len(members), len(a))
		}
	})
}
