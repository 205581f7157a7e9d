package machine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// started are the steps on the object, with their time after a moment.
func (g *rig[M]) started(after time.Time) map[lifecycle.DeletionStep]time.Duration {
	out := map[lifecycle.DeletionStep]time.Duration{}
	for _, b := range g.lens.View(g.read()).Deletion.Started {
		out[b.Step] = b.At.Sub(after)
	}
	return out
}

// TestStepsOfADeletion: each step shows when it began, whatever process looks at
// it by then, and none costs a write of its own. There is one status write in the
// pass that comes to a drain, and one in that which comes behind it, as ever.
func TestStepsOfADeletion(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { stepsOfADeletion(openshiftRig(t), 0) })
	t.Run("gardener", func(t *testing.T) { stepsOfADeletion(gardenerRig(t), 1) })
}

// reworded is how often the API changes its text that a drain is over, once no pass checks it any more.
func stepsOfADeletion[M client.Object](g *rig[M], reworded int) {
	g.settle()
	g.pod("db-0", true)
	g.delete()
	deleted := g.read().GetDeletionTimestamp().Time
	g.clock.SetTime(deleted.Add(5 * time.Second)) // the fake server has its own
	step := func(after time.Duration, statusWrites int, want map[lifecycle.DeletionStep]time.Duration) {
		g.Helper()
		g.clock.Step(after)
		g.written()
		g.pass()
		if d := cmp.Diff(want, g.started(deleted)); d != "" {
			g.Errorf("%v after the deletion (-want +got)\n%s", g.clock.Since(deleted), d)
		}
		n := 0
		for _, w := range g.written() {
			switch w {
			case "patch Machine/status!":
				n++
			case "patch Machine!":
				g.Errorf("%v after the deletion the object is written besides its status", g.clock.Since(deleted))
			}
		}
		if n != statusWrites {
			g.Errorf("%v after the deletion: %d writes of the status, want %d", g.clock.Since(deleted), n, statusWrites)
		}
	}
	draining := map[lifecycle.DeletionStep]time.Duration{lifecycle.DeletionDrain: 5 * time.Second}
	step(0, 1, draining)
	step(time.Minute, 1, draining) // what is in the way is said otherwise now
	step(time.Minute, 0, draining)
	g.restart()
	step(time.Minute, 0, draining)

	g.ends("db-0")
	g.cloud.deletions = 4
	going := map[lifecycle.DeletionStep]time.Duration{lifecycle.DeletionDrain: 5 * time.Second, lifecycle.DeletionInstance: 3*time.Minute + 15*time.Second}
	step(10*time.Second, 1, going)
	g.restart()
	step(time.Minute, reworded, going)
	step(time.Minute, 0, going)
}

// A hook that a machine waits for, and the other behind it, in one API: the other
// has none.
func TestHooksOfADeletionBegin(t *testing.T) {
	g := openshiftRig(t, func(m *machinev1.Machine) {
		m.Spec.LifecycleHooks.PreDrain = []machinev1.LifecycleHook{{Name: "a", Owner: "b"}}
		m.Spec.LifecycleHooks.PreTerminate = []machinev1.LifecycleHook{{Name: "c", Owner: "d"}}
	})
	g.settle()
	g.delete()
	deleted := g.read().DeletionTimestamp.Time
	g.clock.SetTime(deleted)
	g.pass()
	g.clock.Step(time.Hour)
	g.change(func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreDrain = nil })
	g.pass()
	g.clock.Step(time.Hour)
	g.change(func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreTerminate = nil })
	g.cloud.deletions = 2
	g.pass()
	want := map[lifecycle.DeletionStep]time.Duration{
		lifecycle.DeletionPreDrainHook: 0, lifecycle.DeletionDrain: time.Hour,
		lifecycle.DeletionPreTerminateHook: time.Hour, lifecycle.DeletionInstance: 2 * time.Hour,
	}
	if d := cmp.Diff(want, g.started(deleted)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// The duration of a drain counts from where it began, also in a new process.
func TestDrainIsMeasuredAcrossProcesses(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.pod("db-0", true)
	g.delete()
	g.clock.SetTime(g.read().DeletionTimestamp.Time)
	g.pass()
	g.clock.Step(40 * time.Second)
	g.restart()
	registry := prometheus.NewRegistry()
	g.r.Metrics = machine.NewMetrics(registry)
	g.pass()
	g.clock.Step(20 * time.Second)
	g.ends("db-0")
	g.pass()
	expectSeries(t, registry, "drained", "mcm_machine_drain_duration_seconds", map[string]float64{"pool machines": 60})
}
