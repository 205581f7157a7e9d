package machine_test

import (
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	if w := g.written(); !g.lens.View(g.read()).Drained || len(w) > 0 {
		t.Errorf("drained %v, written %q", g.lens.View(g.read()).Drained, w)
	}
}
