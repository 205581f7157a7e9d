package machine_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

// eyes are a source of sight under the test's control.
type eyes struct{ state connectivity.State }

func (e *eyes) State() connectivity.State { return e.state }

func open(at time.Time) *eyes {
	e := &eyes{connectivity.Begin(at, connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}, connectivity.Control, connectivity.Target)}
	e.look(at, connectivity.Reachable, connectivity.Reachable)
	return e
}

func (e *eyes) look(at time.Time, control, target connectivity.Answer) {
	e.state = e.state.After(connectivity.Probe{At: at, Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Control: control, connectivity.Target: target}})
}

// silent lets the clusters be silent for longer than the timeout.
func (g *rig[M]) silent(e *eyes, control, target connectivity.Answer) {
	for range 6 {
		g.clock.Step(6 * time.Second)
		e.look(g.clock.Now(), control, target)
	}
}

// TestFrozen: nothing is bought, asked or written while a cluster is silent, and
// all goes on by itself when it answers.
func TestFrozen(t *testing.T) {
	for name, answers := range map[string][2]connectivity.Answer{"control": {connectivity.Unreachable, connectivity.Reachable}, "target": {connectivity.Reachable, connectivity.Unreachable}} {
		t.Run(name, func(t *testing.T) {
			g := gardenerRig(t)
			e := open(start)
			g.sight = e
			g.restart()
			g.silent(e, answers[0], answers[1])
			if res := g.pass(); res.RequeueAfter != 6*time.Second {
				t.Errorf("asked again after %v, want the next look", res.RequeueAfter)
			}
			if calls, writes := g.cloud.calls, g.written(); len(calls)+len(writes) > 0 {
				t.Errorf("frozen, and calls %q, writes %q", calls, writes)
			}
			e.look(g.clock.Now(), connectivity.Reachable, connectivity.Reachable)
			g.pass()
			if g.cloud.count("Create") != 1 {
				t.Errorf("thawed, and calls %q", g.cloud.calls)
			}
		})
	}
}

// TestFrozenDeletion: who deletes a machine has said so already. Its way out
// needs the cluster of the objects; from the other one it needs what it asks.
func TestFrozenDeletion(t *testing.T) {
	forced := func(m *v1alpha1.Machine) { m.Labels["force-deletion"] = "True" }
	for _, c := range []struct {
		reason          string
		control, target connectivity.Answer
		want            int
	}{
		{"the wishes cannot be read, nor can it be recorded", connectivity.Unreachable, connectivity.Reachable, 0},
		{"all that is missing is the node, which the cache shows", connectivity.Reachable, connectivity.Unreachable, 1},
	} {
		g := gardenerRig(t, forced)
		e := open(start)
		g.sight = e
		g.restart()
		g.pass()
		g.delete()
		g.silent(e, c.control, c.target)
		g.pass()
		if n := g.cloud.count("Delete"); n != c.want {
			t.Errorf("%s: %d deletions of the instance, want %d", c.reason, n, c.want)
		}
	}
}

// TestThaw is section 5.3 of the Gardener notes from end to end: Unknown, frozen, Running with the
// text that clients know, and a whole health timeout before it fails.
func TestThaw(t *testing.T) {
	g := gardenerRig(t)
	e := open(start)
	g.sight = e
	g.restart()
	g.pass()
	g.joins()
	g.pass()
	g.ready(corev1.ConditionFalse)
	g.pass()
	g.phase(v1alpha1.MachineUnknown)
	for range 10 { // an hour
		g.silent(e, connectivity.Reachable, connectivity.Unreachable)
		g.clock.Step(6 * time.Minute)
	}
	g.pass()
	g.phase(v1alpha1.MachineUnknown)
	e.look(g.clock.Now(), connectivity.Reachable, connectivity.Reachable)
	if res := g.pass(); res.RequeueAfter != 30*time.Second {
		t.Errorf("looked at again after %v, want 30s", res.RequeueAfter)
	}
	g.phase(v1alpha1.MachineRunning)
	if got := g.read().Status.LastOperation.Description; got != "Machine Health Timeout was reset due to APIServer being unreachable" {
		t.Errorf("lastOperation %q", got)
	}
	for range 100 { // 10 minutes
		g.pass()
		g.phase(v1alpha1.MachineUnknown)
		g.clock.Step(6 * time.Second)
		e.look(g.clock.Now(), connectivity.Reachable, connectivity.Reachable)
	}
	g.pass()
	g.phase(v1alpha1.MachineFailed)
}

func (g *rig[M]) ready(status corev1.ConditionStatus) {
	g.Helper()
	var n corev1.Node
	if err := g.target.Get(g.Context(), client.ObjectKey{Name: "node-1"}, &n); err != nil {
		g.Fatal(err)
	}
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	n.Status.Conditions[i].Status = status
	if err := g.target.WithWatch.Status().Patch(g.Context(), &n, client.Merge); err != nil {
		g.Fatal(err)
	}
}

func (g *rig[M]) phase(want v1alpha1.MachinePhase) {
	g.Helper()
	if got := any(g.read()).(*v1alpha1.Machine).Status.CurrentStatus.Phase; got != want {
		g.Errorf("at %v phase %q, want %q", g.clock.Since(start), got, want)
	}
}
