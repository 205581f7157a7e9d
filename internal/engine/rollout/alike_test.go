package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// TestAlikeMachinesAreDecidedAlike: a deployment is not reconciled for a change that [Machine.Alike] ignores,
// so no decision may read those fields.
func TestAlikeMachinesAreDecidedAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, Rolling, OnDelete, Recreate, InPlace)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			m.act()
			if m.chance("mishap at all", 4) == 0 && len(m.machines) > 0 {
				m.spoil(m.machines[m.chance("machine", len(m.machines))])
			}
			sets, others := m.view(), m.view()
			for i := range others {
				for n := range others[i].Machines {
					x := &others[i].Machines[n]
					blur(x)
					if !x.Alike(sets[i].Machines[n]) {
						t.Fatalf("%+v and %+v are not alike", *x, sets[i].Machines[n])
					}
				}
			}
			if diff := cmp.Diff(Decide(m.now, m.d, sets, m.p), Decide(m.now, m.d, others, m.p)); diff != "" {
				t.Fatalf("alike machines are decided about differently\n%s", diff)
			}
		}
	})
}

// blur changes all fields that only sets use.
func blur(x *Machine) {
	x.Deleting = x.Leaving
	x.Phase, x.Linked, x.Priority, x.PendingDeletion, x.Shielded, x.FullyLabeled = replicas.PhaseLost, !x.Linked, 7, true, true, true
	x.Preservation.Own, x.Preservation.LastApplied = lifecycle.WishOwner, lifecycle.WishNot
	if x.Kept() {
		x.Preservation.Until = x.Preservation.Until.Add(time.Hour)
	}
}

// TestAlike: the changes that a deployment must not ignore.
func TestAlike(t *testing.T) {
	for name, change := range map[string]func(*Machine){
		"on its way out": leaving, "asked for": asked, "handed over": moved, "not ready": pending, "failed": broken, "failed and kept": keptOne,
		"may be updated": candidate, "marked": func(m *Machine) { m.Marked = epoch }, "made anew": func(m *Machine) { m.UID = "another" },
	} {
		if machine("a", change).Alike(machine("a")) {
			t.Errorf("a machine that is %s is not seen to have changed", name)
		}
	}
	if machine("a", keptOne).Alike(machine("a", broken)) {
		t.Error("whether a failed machine is kept is not seen")
	}
}
