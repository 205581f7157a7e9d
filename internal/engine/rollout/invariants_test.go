package rollout

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// wander lets all actors act for a while, with users and mishaps in between.
func (m *model) wander(steps int, meddle func()) {
	for range steps {
		if m.chance("meddle at all", 5) == 0 {
			meddle()
		}
		m.act()
	}
}

// inUse reports whether an old set has machines that stay, or wants some.
func (m *model) inUse() bool {
	return slices.ContainsFunc(m.sets, func(s *modelSet) bool { return s != m.current() && !s.Deleting && s.Replicas > 0 })
}

// For any changes of template and number, a set grows only as far as there is room at the moment of writing.
// Room counts the wanted machines of a set, or the existing ones if more, and machines that are deleted
// because of the rollout.
func TestGrowthFindsRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, Rolling, InPlace)
		m.onScale = func(s *modelSet, to int) {
			surge, _ := declaredBounds(m.d)
			sum := 0
			for _, b := range m.sets {
				wanted := b.Replicas
				if b.UID == s.UID {
					wanted = to
				}
				living := m.count(func(x *modelMachine) bool { return x.set == b.UID && !x.Leaving && !x.Moved })
				sum += max(wanted, living) + m.count(func(x *modelMachine) bool { return x.set == b.UID && x.Leaving && m.weight(x) })
			}
			moved := m.count(func(x *modelMachine) bool { return x.Moved })
			if to > s.Replicas && m.inUse() && moved == 0 && sum > m.d.Replicas+surge {
				m.fail("%s grows from %d to %d, and then there may be %d of %d and %d surge", s.Name, s.Replicas, to, sum, m.d.Replicas, surge)
			}
		}
		m.wander(rapid.IntRange(1, 60).Draw(t, "steps"), func() {
			if m.chance("what", 2) == 0 {
				m.change()
				return
			}
			// A set that shrank and grew again before its machines were seen leaving is beyond what a cache
			// can show.
			m.d.Replicas = m.d.Replicas + m.chance("more", 3)
		})
	})
}

// A plan from facts after the last plan was carried out is empty, within a few passes.
func TestPlansComeToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, strategies...)
		m.d.Guard = drawGuard(t)
		m.wander(rapid.IntRange(1, 40).Draw(t, "steps"), m.meddle)
		m.deliver()
		const most = 8
		for range most {
			m.pass()
		}
		if p := Decide(m.now, m.d, m.view(), m.p); !m.unchanged(p) {
			m.fail("after %d passes over the same world there is still something to do: %+v", most, p)
		}
		seen := slices.Clone(m.sets)
		m.pass()
		if len(seen) != len(m.sets) {
			m.fail("another set")
		}
	})
}

func TestTheOrderOfSetsAndMachinesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, strategies...)
		m.d.Guard = drawGuard(t)
		m.wander(rapid.IntRange(1, 40).Draw(t, "steps"), m.meddle)
		sets := m.view()
		shuffled := rapid.Permutation(sets).Draw(t, "sets")
		for i := range shuffled {
			shuffled[i].Machines = rapid.Permutation(shuffled[i].Machines).Draw(t, "machines")
		}
		sortNodes := cmpopts.SortSlices(func(a, b NodeWant) bool { return a.Node < b.Node })
		sortRefs := cmpopts.SortSlices(func(a, b MachineRef) bool { return a.Name < b.Name })
		if diff := cmp.Diff(Decide(m.now, m.d, sets, m.p), Decide(m.now, m.d, shuffled, m.p), sortNodes, sortRefs); diff != "" {
			m.fail("the order matters: %s", diff)
		}
	})
}

// Without a change of the template no machine is replaced: as many are created and deleted as the wanted
// number requires.
func TestOnlyTheTemplateReplacesMachines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, strategies...)
		created, removed := 0, 0
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			was := m.d.Replicas
			m.tinker(t)
			m.wander(rapid.IntRange(1, 15).Draw(t, "steps"), func() {})
			m.d.Paused = false
			if !m.settle(300) {
				m.fail("does not come to rest")
			}
			created += max(0, m.d.Replicas-was)
			removed += max(0, was-m.d.Replicas)
			if m.created != created || m.removed != removed {
				m.fail("%d machines came and %d went, expected %d and %d", m.created, m.removed, created, removed)
			}
		}
	})
}

// tinker changes all but the template.
func (m *model) tinker(t *rapid.T) {
	switch rapid.IntRange(0, 6).Draw(t, "tinker") {
	case 0:
		m.d.Replicas = rapid.IntRange(0, 7).Draw(t, "replicas")
	case 1:
		m.d.Paused = true
	case 2:
		m.d.Guard = Guard{MaxFailures: 1, ReadyWithin: time.Minute, RollBack: true, Canary: bound("1")}
	case 3:
		m.d.Strategy = rapid.SampledFrom(strategies).Draw(t, "strategy")
	case 4:
		m.d.Surge, m.d.Unavailable = bound("50%"), bound("2")
	case 5:
		// All records are lost, as if another controller had managed it.
		m.d.Last, m.d.Revision = Last{}, 0
		for _, s := range m.sets {
			s.Desired, s.Max, s.Revision, s.Notes = nil, nil, 0, Notes{}
			s.version++
		}
	default:
		n := int64(rapid.IntRange(0, 3).Draw(t, "revision"))
		m.d.RollbackTo = &n
	}
}

// In place, without surge, no machine is created or deleted, even if passes are interrupted, and every
// machine ends up in the new set.
func TestUpdatesInPlaceKeepTheirMachines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, InPlace)
		m.d.Surge = nil
		m.template = "b"
		m.wander(rapid.IntRange(1, 40).Draw(t, "steps"), func() {})
		if !m.settle(400) {
			m.fail("does not converge")
		}
		if m.created != 0 || m.removed != 0 {
			m.fail("%d machines came and %d went", m.created, m.removed)
		}
		m.clean()
	})
}

// The current set has no more machines than the canary until a user approves.
func TestTheCanaryIsNotExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, Rolling, InPlace)
		m.d.ByHand = false
		limit := rapid.IntRange(1, 3).Draw(t, "canary")
		m.d.Guard.Canary = bound(string(rune('0' + limit)))
		approved := map[string]bool{}
		m.onScale = func(s *modelSet, to int) {
			most := min(limit, m.d.Replicas)
			if m.inUse() && s.template == m.template && s.Replicas <= most && to > max(most, s.Replicas) && !approved[m.template] {
				m.fail("%s grows to %d, beyond the canary of %d", s.Name, to, most)
			}
		}
		m.template = "b"
		m.wander(rapid.IntRange(1, 60).Draw(t, "steps"), func() {
			switch m.chance("what", 4) {
			case 0:
				m.d.Replicas = 1 + m.chance("replicas", 6)
			case 1:
				m.d.Paused = !m.d.Paused
			default:
				m.mishap()
			}
		})
		m.d.Paused = false
		for range 100 {
			m.round(30 * time.Second)
		}
		m.d.Guard.Approved, approved["b"] = m.d.Revision, true
		m.calm()
		if !m.settle(400) {
			m.fail("does not go on once approved")
		}
	})
}

// A rollout to a template whose machines never join is stopped, or rolled back; existing machines are kept,
// and a good template undoes all effects of the guard.
func TestABadTemplateIsStopped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, Rolling, OnDelete)
		m.spoilt["b"] = true
		m.d.Guard = Guard{MaxFailures: rapid.IntRange(1, 2).Draw(t, "failures"), RollBack: rapid.Bool().Draw(t, "goes back")}
		if rapid.Bool().Draw(t, "timed") {
			m.d.Guard.ReadyWithin = 10 * time.Minute
		}
		m.onSet = func(w SetWant) {
			s := m.set(w.UID)
			if m.plan.Status.Progress.Reason == Stopped && s.template != m.template && w.Replicas < w.Was && m.d.Strategy == Rolling {
				m.fail("%s gives up machines although the rollout is stopped", s.Name)
			}
		}
		m.template, m.diligent = "b", true
		stopped := false
		for range 300 {
			m.round(30 * time.Second)
			m.diligent = m.d.Strategy == OnDelete && m.count(func(x *modelMachine) bool { return x.template == "b" }) == 0
			stopped = stopped || m.d.Last.Progress.Reason == Stopped || m.template == "a"
		}
		if _, unavailable := declaredBounds(m.d); m.d.Strategy == Rolling && m.count(m.available) < m.d.Replicas-unavailable {
			m.fail("capacity was lost")
		}
		if m.d.Guard.RollBack != (m.template == "a") {
			m.fail("template %s, goes back %v", m.template, m.d.Guard.RollBack)
		}
		if !stopped && m.d.Strategy == Rolling {
			m.fail("was never stopped")
		}
		if m.template == "b" {
			m.template = "c"
		}
		m.calm()
		if !m.settle(400) {
			m.fail("does not recover")
		}
		m.clean()
	})
}

// Without precautions nothing is stopped, held or rolled back.
func TestWithoutAGuardNothingIsStopped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, strategies...)
		m.spoilt["b"], m.spoilt["c"] = true, true
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if m.chance("meddle at all", 4) == 0 {
				m.meddle()
			}
			asked := m.d.RollbackTo != nil
			m.act()
			if m.plan.Status.Progress.Reason == Stopped || m.plan.RollBack() != nil && m.plan.RollBack().Automatic && !asked {
				m.fail("stopped: %+v", m.plan)
			}
			if c := m.current(); c != nil && len(c.Notes.Failed) > 0 {
				m.fail("failures are noted: %v", c.Notes)
			}
		}
	})
}
