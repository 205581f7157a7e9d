package replicas

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

func TestCount(t *testing.T) {
	since := func(ago time.Duration) func(*Member) { return func(m *Member) { m.ReadySince = now.Add(-ago) } }
	labelled := func(m *Member) { m.FullyLabeled = true }
	detached := func(m *Member) { m.Ready, m.Usable, m.Phase = false, true, PhaseDetached }
	patient := Policy{Burst: 1, MinReady: time.Minute}
	tests := map[string]struct {
		reason  string
		members []Member
		policy  Policy
		want    Tally
	}{
		"nothing":                     {"all zero", nil, keeping, Tally{}},
		"ready and labelled":          {"one of each", []Member{member("a", labelled)}, keeping, Tally{Replicas: 1, FullyLabeled: 1, Ready: 1, Available: 1}},
		"deleting":                    {"not counted", []Member{member("a", deleting)}, keeping, Tally{}},
		"deleting, counted in status": {"reported, although it is no replica", []Member{member("a", deleting)}, replacing, Tally{Replicas: 1, Ready: 1, Available: 1}},
		"usable without a node":       {"available, not ready", []Member{member("a", detached)}, replacing, Tally{Replicas: 1, Available: 1}},
		"ready for long enough":       {"available", []Member{member("a", since(2*time.Minute))}, patient, Tally{Replicas: 1, Ready: 1, Available: 1}},
		"ready for exactly the time": {
			"one nanosecond short of available", []Member{member("a", since(time.Minute))}, patient, Tally{Replicas: 1, Ready: 1, Next: 1},
		},
		"ready for a shorter time": {
			"the earliest of those to come is next",
			[]Member{member("a", since(20*time.Second)), member("b", since(50*time.Second))},
			patient,
			Tally{Replicas: 2, Ready: 2, Next: 10*time.Second + 1},
		},
		"minimum not asked for": {"no time counts", []Member{member("a", since(0))}, replacing, Tally{Replicas: 1, Ready: 1, Available: 1}},
		"ready since nobody knows when": {
			"available at no time: the original asks for a time that has passed",
			[]Member{member("a", func(m *Member) { m.ReadySince = time.Time{} })},
			patient,
			Tally{Replicas: 1, Ready: 1},
		},
		"failed, and its time is over": {
			"still counted: clients go by the time that is set, the set deletes it",
			[]Member{member("a", failed, keptUntil(now.Add(-time.Hour)))},
			replacing,
			Tally{Replicas: 1, Kept: 1},
		},
		"failed, and asked for": {"not counted before it began", []Member{member("a", failed, func(m *Member) { m.Preservation.Own = lifecycle.WishFailed })}, replacing, Tally{Replicas: 1}},
		"failed and kept": {
			"counted once its end is set",
			[]Member{member("a", failed, keptUntil(now.Add(time.Hour)), func(m *Member) { m.Preservation.Own = lifecycle.WishOwner })},
			replacing,
			Tally{Replicas: 1, Kept: 1, AutoKept: 1},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Count(now, tc.members, tc.policy)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCountAfterNext(t *testing.T) {
	p := Policy{Burst: 1, MinReady: time.Minute}
	m := []Member{member("a", func(m *Member) { m.ReadySince = now })}
	next := Count(now, m, p).Next
	if got := Count(now.Add(next), m, p).Available; got != 1 {
		t.Errorf("after the announced %v there are %d available, want 1", next, got)
	}
	if got := Count(now.Add(next-1), m, p).Available; got != 0 {
		t.Errorf("just before the announced %v there are %d available already", next, got)
	}
}
