package machine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestDrainedOnlyInThisDeletion: a machine that was restored with the status it had
// while it was deleted before is drained like any other, after its hooks.
func TestDrainedOnlyInThisDeletion(t *testing.T) {
	for _, tt := range []struct {
		reason string
		before time.Duration // of the deletion
		counts bool
	}{
		{"a day old", 24 * time.Hour, false},
		{"a second old", time.Second, false},
		{"of the same second, in which a drain may end", 0, true},
		{"since then", -time.Second, true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := openshiftRig(t, func(m *machinev1.Machine) {
				m.Spec.LifecycleHooks.PreDrain = []machinev1.LifecycleHook{{Name: "backup", Owner: "me"}}
			})
			g.settle()
			g.pod("web-0", true)
			g.schedulable(false)
			g.delete()
			deleted := g.read().DeletionTimestamp.Time
			m := g.read()
			m.Status.Conditions = append(m.Status.Conditions, machinev1.Condition{
				Type: machinev1.MachineDrained, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(deleted.Add(-tt.before)),
			})
			if err := g.control.WithWatch.Status().Update(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			g.clock.SetTime(deleted.Add(time.Minute))
			g.restart()
			g.pass()
			if tt.counts {
				if !g.gone() {
					t.Error("drained again")
				}
				return
			}
			says := func(s corev1.ConditionStatus) bool {
				return slices.ContainsFunc(g.read().Status.Conditions, func(c machinev1.Condition) bool {
					return c.Type == machinev1.MachineDrained && c.Status == s
				})
			}
			if g.cloud.count("Delete") > 0 || g.gone() || says(corev1.ConditionTrue) {
				t.Fatalf("the hook was passed over: %q", g.cloud.calls)
			}
			g.change(func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreDrain = nil })
			g.pass()
			if g.cloud.count("Delete") > 0 || !says(corev1.ConditionFalse) {
				t.Errorf("not drained: %q", g.cloud.calls)
			}
		})
	}
}

// TestDrainedBySlowClock: a drain that ends before the deletion by our clock, which
// is slow, has ended in it.
func TestDrainedBySlowClock(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	g.delete()
	g.cloud.deletions = 2
	g.clock.SetTime(g.read().DeletionTimestamp.Time.Add(-time.Minute))
	g.pass()
	g.written()
	g.clock.Step(time.Second)
	g.pass()
	if w := g.written(); !g.lens.View(g.read()).Deletion.Drained || len(w) > 0 {
		t.Errorf("drained %v, written %q", g.lens.View(g.read()).Deletion.Drained, w)
	}
}

// TestDrainedAgain: the drain is recorded as finished, and the infrastructure does not
// remove the instance at once. Pods that come to the node meanwhile are moved, too, and
// waited for, also by another process, which finds the node cordoned.
func TestDrainedAgain(t *testing.T) {
	for _, tt := range []struct {
		reason string
		then   func(*rig[*machinev1.Machine])
		evicts bool
	}{
		{"the node is as it was drained", func(*rig[*machinev1.Machine]) {}, false},
		{"somebody uncordoned it", func(g *rig[*machinev1.Machine]) { g.schedulable(true) }, true},
		{"its kubelet made it anew", func(g *rig[*machinev1.Machine]) {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
			if err := g.target.WithWatch.Delete(g.Context(), n); err != nil {
				g.Fatal(err)
			}
			g.joins()
		}, true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := openshiftRig(t)
			g.settle()
			g.delete()
			g.cloud.deleteErr = errors.New("internal error")
			g.pass()
			if !g.lens.View(g.read()).Deletion.Drained {
				t.Fatal("not drained")
			}
			tt.then(g)
			g.pod("web-0", true)
			g.cloud.deleteErr, g.cloud.calls = nil, nil
			g.restart()
			g.target.writes = nil
			g.pass()
			if evicts := slices.Contains(g.target.writes, "create Pod/eviction"); evicts != tt.evicts {
				t.Errorf("evicts %v", evicts)
			}
			if !tt.evicts {
				if g.cloud.count("Delete") == 0 {
					t.Error("the instance stays, though its node takes no pods")
				}
				return
			}
			for range 2 {
				if g.cloud.count("Delete") > 0 || !g.lens.View(g.read()).Deletion.Drained {
					t.Errorf("calls %q", g.cloud.calls)
				}
				g.restart()
				g.pass()
			}
			g.ends("web-0")
			if g.pass(); g.cloud.count("Delete") == 0 {
				t.Error("the instance stays, though all pods have left")
			}
		})
	}
}

// schedulable says whether node-1 takes pods.
func (g *rig[M]) schedulable(yes bool) {
	g.Helper()
	n := g.stored("node-1")
	before := n.DeepCopy()
	n.Spec.Unschedulable = !yes
	if err := g.target.WithWatch.Patch(g.Context(), n, client.MergeFrom(before)); err != nil {
		g.Fatal(err)
	}
}
