package judge

import (
	"slices"
	"testing"
)

// TestSecondInstance: a machine gets a second instance only if the first died, and no client can know of it: no machine recorded it, or a
// restore of the API server removed the record (world 300547).
func TestSecondInstance(t *testing.T) {
	bare, recorded := gardenerMachine("m"), gardenerMachine("m")
	recorded.Spec.ProviderID = "sim:///i-1"
	for _, c := range []struct {
		reason                       string
		died, noted, restored, stays bool
		broken                       bool
	}{
		{reason: "the first exists", broken: true},
		{reason: "the first died, and was not recorded", died: true},
		{reason: "the first died, and was recorded", died: true, noted: true, broken: true},
		{reason: "a restore removed the record", died: true, noted: true, restored: true},
		{reason: "a restore removed the record of an instance that exists", noted: true, restored: true, broken: true},
		{reason: "a restore kept the record", died: true, noted: true, restored: true, stays: true, broken: true},
	} {
		s := newScene()
		s.write(nil, bare)
		if c.noted {
			s.write(s.begin(Machines, 1), recorded)
		}
		first := Instance{ID: "i-1", UID: "m", ProviderID: "sim:///i-1", Created: s.now}
		if c.died {
			first.Died, first.Gone = true, s.now
		}
		if c.restored {
			changes := s.judge.Changes()
			if !c.stays {
				s.write(nil, bare)
			}
			s.judge.Restored(changes)
		}
		second := Instance{ID: "i-2", UID: "m", ProviderID: "sim:///i-2", Created: s.now}
		s.instances = []Instance{first, second}
		s.judge.Created(second, s.begin(Machines, 1), false)
		if got := slices.Contains(s.broken, OneInstance); got != c.broken {
			t.Errorf("%s: broken %v, want %v", c.reason, s.broken, c.broken)
		}
	}
}
