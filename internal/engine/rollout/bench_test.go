package rollout

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// budget is the maximum duration of a decision about 5000 machines.
const budget = 10 * time.Millisecond

// workload is a deployment of 5000 machines in some state.
type workload struct {
	d    Deployment
	sets []Set
}

// sized is a deployment with a surge of 10 % and nothing unavailable.
func sized(s Strategy, replicas int) Deployment {
	surge, unavailable := intstr.FromString("10%"), intstr.FromInt32(0)
	return Deployment{
		UID: "fleet", Name: "fleet", Replicas: replicas, Strategy: s, Surge: &surge, Unavailable: &unavailable,
		Deadline: time.Hour, Revision: 1,
	}
}

// populated is a set of n machines that work, each changed by changes.
func populated(name string, current bool, n int, changes ...func(i int, m *Machine)) Set {
	s := Set{
		UID: types.UID(name), Name: name, Created: epoch.Add(-240 * time.Hour), Current: current, Replicas: n, Observed: true, Revision: 1,
		Machines: make([]Machine, n),
	}
	if current {
		s.Created, s.Revision = epoch.Add(-time.Hour), 2
	}
	desired, most := 5000, 5500
	s.Desired, s.Max = &desired, &most
	for i := range s.Machines {
		id := fmt.Sprintf("%s-%04d", name, i)
		s.Machines[i] = Machine{
			Member: replicas.Member{
				UID: types.UID(id), Name: id, Created: s.Created.Add(time.Duration(i) * time.Second),
				Ready: true, Usable: true, ReadySince: s.Created.Add(time.Duration(i)*time.Second + 3*time.Minute),
			},
			Joined: true, Node: "node-" + id, Seen: true,
		}
		for _, c := range changes {
			c(i, &s.Machines[i])
		}
	}
	return s
}

// one in n machines is changed.
func one(n int, change func(m *Machine)) func(int, *Machine) {
	return func(i int, m *Machine) {
		if i%n == 0 {
			change(m)
		}
	}
}

func workloads() map[string]workload {
	leaving := one(20, func(m *Machine) { m.Leaving, m.Ready, m.Usable = true, false, false })
	coming := one(20, func(m *Machine) { m.Ready, m.Usable, m.Seen = false, false, false })
	updated := one(20, func(m *Machine) {
		m.Update = inplace.Update{Node: inplace.Node{Request: inplace.RequestSelected, Answer: inplace.AnswerDone, Mark: inplace.MarkUpdated}}
	})
	candidate := one(1, func(m *Machine) { m.Update.Request = inplace.RequestCandidate })
	underway := one(50, func(m *Machine) { m.Update.Request = inplace.RequestSelected })
	broken := one(3, func(m *Machine) { m.Failed, m.Ready, m.Usable = true, false, false })

	guarded := sized(Rolling, 5000)
	guarded.Guard = Guard{MaxFailures: 2000, ReadyWithin: 10 * time.Minute, Estimate: true}
	wishful := sized(Rolling, 5000)
	for i := range 1000 {
		wishful.Wishes = append(wishful.Wishes, Wish{Machine: fmt.Sprintf("new-%04d", i*5), At: epoch.Add(-time.Minute)})
	}
	undone := sized(Rolling, 5000)
	undone.RollbackTo = new(int64)
	gone := sized(Rolling, 5000)
	gone.Deleting = true

	var generations []Set
	for i := range 50 {
		generations = append(generations, populated(fmt.Sprintf("g%02d", i), i == 49, 100, leaving))
	}
	half := func(changes ...func(int, *Machine)) []Set {
		return []Set{populated("old", false, 2500, changes...), populated("new", true, 2500, coming)}
	}
	return map[string]workload{
		"at rest":                  {sized(Rolling, 5000), []Set{populated("new", true, 5000)}},
		"rolling, at first":        {sized(Rolling, 5000), []Set{populated("old", false, 5000)}},
		"rolling, half way":        {sized(Rolling, 5000), half(leaving)},
		"rolling, much is broken":  {sized(Rolling, 5000), half(broken)},
		"rolling, guarded":         {guarded, []Set{populated("old", false, 2500, leaving), populated("new", true, 2500, broken)}},
		"rolling, 50 sets, scaled": {sized(Rolling, 4000), generations},
		"recreate, half way":       {sized(Recreate, 5000), []Set{populated("old", false, 5000, leaving), populated("new", true, 0)}},
		"on delete, half way":      {sized(OnDelete, 5000), half(leaving)},
		"in place, at first":       {sized(InPlace, 5000), []Set{populated("old", false, 5000), populated("new", true, 0)}},
		"in place, half way":       {sized(InPlace, 5000), half(candidate, underway, updated)},
		"a thousand wishes":        {wishful, []Set{populated("new", true, 5000)}},
		"rolled back":              {undone, half(leaving)},
		"being deleted":            {gone, half(leaving)},
	}
}

func BenchmarkDecide5000(b *testing.B) {
	policies := map[string]Policy{
		"bare": {},
		"full": {MinReady: time.Minute, LeavingTakesRoom: true, StatusCountsLeaving: true, Cascade: true, AvoidOld: true, StayDuringRollout: true},
	}
	for name, w := range workloads() {
		for kind, p := range policies {
			b.Run(name+"/"+kind, func(b *testing.B) {
				best := time.Hour
				b.ReportAllocs()
				for b.Loop() {
					begun := time.Now()
					Decide(epoch, w.d, w.sets, p)
					best = min(best, time.Since(begun))
				}
				b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
				if best > budget {
					b.Errorf("%s at best, want at most %s", best, budget)
				}
			})
		}
	}
}
