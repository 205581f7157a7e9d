package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

func TestForeignTarget(t *testing.T) {
	for _, c := range []struct {
		reason                  string
		recorded, now, accepted string
		foreign                 bool
	}{
		{"the cluster that it joined", "a", "a", "", false},
		{"another one", "a", "b", "", true},
		{"one that is being made, or no cluster", "a", lifecycle.NoCluster, "", true},
		{"a person says that it is the one", "a", "b", "b", false},
		{"a person speaks of a third one", "a", "b", "c", true},
		{"it did not join any that is known", "", "b", "", false},
		{"roles that do not allow to read it: nothing can be compared", "a", "", "", false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			text := lifecycle.ForeignTarget(c.recorded, c.now, c.accepted)
			if (text != "") != c.foreign || c.foreign != lifecycle.Distrusts(text) {
				t.Errorf("%s: %q", c.reason, text)
			}
		})
	}
}

func TestAbsent(t *testing.T) {
	for _, c := range []struct {
		reason          string
		recorded, there int
		doubted         bool
	}{
		{"alone", 0, 0, false},
		{"one other, whose node is not there either: both may have gone", 1, 0, false},
		{"all others have theirs", 5, 5, false},
		{"half of them have", 4, 2, false},
		{"fewer than half", 5, 2, true},
		{"none of a fleet", 20, 0, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if text := lifecycle.Absent(c.recorded, c.there); (text != "") != c.doubted || c.doubted != lifecycle.Distrusts(text) {
				t.Errorf("%s: %q", c.reason, text)
			}
		})
	}
}

func deleted(m *lifecycle.Machine) { m.Deleted = now.Add(-time.Second) }

// TestDrainOfHosts: pods are evicted from all nodes on which they may run, and no instance is terminated
// before a cluster that can know is asked.
func TestDrainOfHosts(t *testing.T) {
	other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "custom-1", UID: "uid-1"}}
	absent := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	closed := other.DeepCopy()
	closed.Spec.Unschedulable = true
	hosts := func(all ...*corev1.Node) worldEdit { return func(w *lifecycle.World) { w.Node.Hosts = all } }
	drained := func(m *lifecycle.Machine) { m.Deletion.Drained = true }
	forced := func(m *lifecycle.Machine) { m.Deletion.Force = true }
	foreign := func(w *lifecycle.World) {
		w.Node = lifecycle.Node{Foreign: "the machine joined the cluster whose ..."}
	}
	doubted := func(w *lifecycle.World) { w.Node.Doubt = "the target cluster has 0 of 5" }
	for _, c := range []struct {
		reason string
		edits  []machineEdit
		world  []worldEdit
		step   lifecycle.Step
		why    lifecycle.Reason
	}{
		{"no node, and no other that shows the instance: nothing to drain", nil, nil, lifecycle.Terminate, lifecycle.ReasonDeleting},
		{"another node shows the instance", nil, []worldEdit{hosts(other)}, lifecycle.Drain, lifecycle.ReasonDeleting},
		{"pods are bound to the name of a node that is not there any more", nil, []worldEdit{hosts(absent)}, lifecycle.Drain, lifecycle.ReasonDeleting},
		{"drained, and the node stays closed", []machineEdit{drained}, []worldEdit{hosts(closed)}, lifecycle.Terminate, lifecycle.ReasonDeleting},
		{"drained, and open to pods again", []machineEdit{drained}, []worldEdit{hosts(other)}, lifecycle.Drain, lifecycle.ReasonDeleting},
		{"another cluster answers", nil, []worldEdit{foreign}, lifecycle.Await, lifecycle.ReasonTargetReplaced},
		{"another cluster answers, and the deletion is forced: who means that cluster says so", []machineEdit{forced}, []worldEdit{foreign}, lifecycle.Await, lifecycle.ReasonTargetReplaced},
		{"the nodes of the fleet are missing together", nil, []worldEdit{doubted}, lifecycle.Await, lifecycle.ReasonNodeDoubted},
		{"a person forces that", []machineEdit{forced}, []worldEdit{doubted}, lifecycle.Terminate, lifecycle.ReasonDeleting},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m := machine(append([]machineEdit{stage(lifecycle.StageDeleting, time.Minute), onNode1, deleted}, c.edits...)...)
			w := world(append([]worldEdit{having(instance(provider.Running))}, c.world...)...)
			d := lifecycle.Decide(now, m, w, brisk)
			if d.Step != c.step || d.Reason != c.why {
				t.Errorf("%s: %s (%s) %s, want %s (%s)", c.reason, d.Step, d.Reason, d.Message, c.step, c.why)
			}
		})
	}
}

// TestForeignTargetFreezes: no decision about a machine that is not under deletion depends on another cluster.
func TestForeignTargetFreezes(t *testing.T) {
	for _, s := range []lifecycle.Stage{lifecycle.StageJoining, lifecycle.StageRunning, lifecycle.StageLost, lifecycle.StageUpdating} {
		m := machine(stage(s, 24*time.Hour), aged(48*time.Hour), onNode1)
		w := world(having(instance(provider.Running)), func(w *lifecycle.World) {
			w.Node = lifecycle.Node{Foreign: "the machine joined the cluster whose ..."}
			w.MayFail = true
		})
		if d := lifecycle.Decide(now, m, w, brisk); d.Step != lifecycle.Await || d.Reason != lifecycle.ReasonTargetReplaced || d.Stage != s || !strings.Contains(d.Err.Error(), w.Node.Foreign) {
			t.Errorf("%s: %s (%s), stage %s", s, d.Step, d.Reason, d.Stage)
		}
	}
}
