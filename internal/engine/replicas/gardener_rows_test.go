package replicas

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestRowsOfGardenerFailedMachines: section 3.4 of the Gardener notes, "Failed
// machine is terminated unless".
func TestRowsOfGardenerFailedMachines(t *testing.T) {
	wanted := func(m *Member) { m.Preservation.Own = lifecycle.WishFailed }
	for row, c := range map[string]struct {
		member Member
		goes   bool
	}{
		"Failed machine is terminated":                              {member("a", failed), true},
		"unless: preserveExpiryTime in the future":                  {member("a", failed, keptUntil(now.Add(time.Second))), false},
		"unless: expiry nil and effective preserve value":           {member("a", failed, wanted), false},
		"Expired ⇒ terminate: although it is wished":                {member("a", failed, wanted, keptUntil(now.Add(-time.Second))), true},
		"Expired ⇒ terminate: at that very moment":                  {member("a", failed, keptUntil(now)), true},
		"a machine that has not failed is not terminated by expiry": {member("a", keptUntil(now.Add(-time.Second))), false},
	} {
		t.Run(row, func(t *testing.T) {
			d := Decide(now, Set{Replicas: 1}, []Member{c.member}, replacing)
			if slices.Contains(names(d), "a") != c.goes {
				t.Errorf("deletes %v (%s), want it to go: %v", names(d), d.Message, c.goes)
			}
		})
	}
}

// TestRowsOfGardenerAutoPreservation: the capacity of section 3.4.
func TestRowsOfGardenerAutoPreservation(t *testing.T) {
	born := func(ago time.Duration) func(*Member) { return func(m *Member) { m.Created = now.Add(-ago) } }
	auto := func(m *Member) { m.Preservation.Own = lifecycle.WishOwner }
	decided := func(m *Member) { m.Preservation.Own = lifecycle.WishNot }
	older, newer := 2*time.Hour, time.Hour
	for row, c := range map[string]struct {
		bound   int
		members []Member
		want    []KeepChange
	}{
		"capacity 0 ⇒ nothing":         {1, []Member{member("a", failed, auto), member("b", failed)}, nil},
		"capacity 0 ⇒ nothing: no max": {0, []Member{member("b", failed)}, nil},
		"Negative ⇒ remove from the |capacity| oldest annotated": {
			1,
			[]Member{member("a", failed, auto, born(newer)), member("b", failed, auto, born(older))},
			[]KeepChange{{"b", false}},
		},
		"Negative ⇒ as many as there are too many": {
			0,
			[]Member{member("a", failed, auto, born(newer)), member("b", failed, auto, born(older))},
			[]KeepChange{{"a", false}, {"b", false}},
		},
		"Positive ⇒ newest first until capacity is used": {
			1,
			[]Member{member("a", failed, born(older)), member("b", failed, born(newer))},
			[]KeepChange{{"b", true}},
		},
		"Positive ⇒ machines without a valid preserve annotation": {
			2,
			[]Member{member("a", failed, decided, born(newer)), member("b", failed, born(older))},
			[]KeepChange{{"b", true}},
		},
		"Positive ⇒ Failed machines": {2, []Member{member("a", born(newer))}, nil},
	} {
		t.Run(row, func(t *testing.T) {
			if diff := cmp.Diff(c.want, AutoKeep(Set{AutoKeep: c.bound}, c.members), emptyIsNil); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
