package machine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// ledger answers as the test wants it to, and notes the questions.
type ledger struct {
	answer lifecycle.Disruption
	asked  []lifecycle.PermitRequest
	held   map[types.UID]bool
	over   []types.UID
}

func (l *ledger) Ask(_ context.Context, m client.Object, r lifecycle.PermitRequest) lifecycle.Disruption {
	l.asked = append(l.asked, r)
	l.held[m.GetUID()] = l.answer.Permitted || r.Begun
	if r.Begun {
		return lifecycle.Disruption{Permitted: true}
	}
	return l.answer
}

func (l *ledger) Over(_ context.Context, uid types.UID) error {
	l.over = append(l.over, uid)
	delete(l.held, uid)
	return nil
}

func (l *ledger) Holds(uid types.UID) bool                { return l.held[uid] }
func (l *ledger) Due(context.Context) []reconcile.Request { return nil }

// governs gives the rig a ledger that refuses.
func (g *rig[M]) governs() *ledger {
	l := &ledger{answer: lifecycle.Disruption{Message: "machine disruption budget a, which is paused", After: time.Minute}, held: map[types.UID]bool{}}
	g.r.Budgets = l
	return l
}

// passes reconciles m-1 until it does not exist any more, or so often.
func (g *rig[M]) passes(n int) {
	g.Helper()
	for range n {
		if !g.gone() {
			g.pass()
		}
	}
}

func (g *rig[M]) unschedulable() bool {
	g.Helper()
	return g.node().Spec.Unschedulable
}

// waitsForBudget is the same test for both APIs; says is a part of what the object says while it waits.
func waitsForBudget[M client.Object](t *testing.T, g *rig[M], says func(M) string) {
	l := g.governs()
	g.settle()
	g.delete()
	g.clock.SetTime(g.read().GetDeletionTimestamp().Time.Add(time.Second))
	g.told()

	res := g.pass()
	if res.RequeueAfter != time.Minute || g.unschedulable() || len(l.asked) != 1 || l.asked[0].Kind != lifecycle.DisruptingDeletion || l.asked[0].Begun {
		t.Fatalf("again in %v, cordoned %v, asked %+v", res.RequeueAfter, g.unschedulable(), l.asked)
	}
	if got := says(g.read()); !strings.Contains(got, "Waits for machine disruption budget a, which is paused") {
		t.Errorf("the machine says %q", got)
	}
	if got := g.told(); !slices.Equal(got, []string{"Normal DisruptionDelayed Waits for machine disruption budget a, which is paused"}) {
		t.Errorf("told %q", got)
	}
	g.written()
	g.clock.Step(time.Minute)
	g.pass()
	if told, wrote := g.told(), g.written(); len(told)+len(wrote) > 0 {
		t.Errorf("once more: told %q, wrote %q", told, wrote)
	}
	g.clock.Step(24 * time.Hour) // longer than any timeout of a drain

	l.answer = lifecycle.Disruption{Permitted: true}
	asked := len(l.asked)
	g.passes(5)
	if len(l.asked) != asked+1 {
		t.Errorf("asked %d times for one permit", len(l.asked)-asked)
	}
	if !slices.Equal(l.over, []types.UID{"uid-1"}) || l.Holds("uid-1") || len(g.cloud.instances) != 0 {
		t.Errorf("over %q, %d instances are left", l.over, len(g.cloud.instances))
	}
}

func TestWaitsForBudgetOpenShift(t *testing.T) {
	waitsForBudget(t, openshiftRig(t), func(m *machinev1.Machine) (out string) {
		for _, c := range m.Status.Conditions {
			if c.Type == "DisruptionBudgetStarted" && c.Status == corev1.ConditionTrue {
				out += c.Message
			}
			if c.Type == machinev1.MachineDrained {
				out += "it says that it is drained"
			}
		}
		return out
	})
}

func TestWaitsForBudgetGardener(t *testing.T) {
	waitsForBudget(t, gardenerRig(t), func(m *v1alpha1.Machine) string {
		if op := m.Status.LastOperation; op.State == v1alpha1.MachineStateProcessing {
			return op.Description
		}
		return ""
	})
}

// TestExcludedDrainWaits: the record that the drain was skipped would otherwise say that the disruption has begun.
func TestExcludedDrainWaits(t *testing.T) {
	g := openshiftRig(t, func(m *machinev1.Machine) {
		m.Annotations = map[string]string{"machine.openshift.io/exclude-node-draining": ""}
	})
	l := g.governs()
	g.settle()
	g.delete()
	for range 3 {
		g.pass()
	}
	if len(g.cloud.instances) != 1 {
		t.Fatal("the instance was terminated without a permit")
	}
	l.answer = lifecycle.Disruption{Permitted: true}
	g.passes(5)
	if len(g.cloud.instances) != 0 {
		t.Error("the instance was not terminated with a permit")
	}
}

// TestForcedDeletionIsRecorded: it does not wait, and counts.
func TestForcedDeletionIsRecorded(t *testing.T) {
	g := gardenerRig(t)
	l := g.governs()
	g.settle()
	g.change(func(m *v1alpha1.Machine) { m.Labels["force-deletion"] = "True" })
	g.pod("db-0", true)
	g.delete()
	g.pass()
	if !g.unschedulable() || len(l.asked) == 0 || !l.asked[0].Begun {
		t.Errorf("cordoned %v, asked %+v", g.unschedulable(), l.asked)
	}
}

// TestLaterBudgetsAreAsked: a budget that is created during a disruption gets to know of it, once a minute at most.
func TestLaterBudgetsAreAsked(t *testing.T) {
	g := gardenerRig(t)
	l := g.governs()
	l.answer = lifecycle.Disruption{Permitted: true}
	g.settle()
	g.pod("db-0", true)
	g.delete()
	g.passes(3)
	if len(l.asked) != 1 || l.asked[0].Begun {
		t.Fatalf("asked %+v", l.asked)
	}
	g.clock.Step(time.Minute)
	g.passes(3)
	if len(l.asked) != 2 || !l.asked[1].Begun {
		t.Errorf("asked %+v", l.asked)
	}
}

// TestUpdateWaitsForBudget: the node is not marked, cordoned or drained, and the permit ends with the update.
func TestUpdateWaitsForBudget(t *testing.T) {
	g := gardenerRig(t)
	l := g.governs()
	g.settle()
	g.label(candidateLabel, "true", selectedLabel, "true")
	g.told()
	g.passes(2)
	if g.unschedulable() || len(l.asked) == 0 || l.asked[0].Kind != lifecycle.DisruptingUpdate {
		t.Fatalf("cordoned %v, asked %+v", g.unschedulable(), l.asked)
	}
	if got := g.told(); !slices.Contains(got, "Normal DisruptionDelayed Waits for machine disruption budget a, which is paused") {
		t.Errorf("told %q", got)
	}
	l.answer = lifecycle.Disruption{Permitted: true}
	g.passes(2)
	if !g.unschedulable() || !l.Holds("uid-1") {
		t.Fatalf("cordoned %v, holds %v", g.unschedulable(), l.Holds("uid-1"))
	}
	g.label(resultLabel, "successful")
	g.passes(2)
	if !l.Holds("uid-1") {
		t.Error("the node is still cordoned, and the permit is released")
	}
	g.label(candidateLabel, "", selectedLabel, "", resultLabel, "") // as the deployment controller does
	g.edit(func(n *corev1.Node) { n.Spec.Unschedulable = false })
	g.passes(2)
	if l.Holds("uid-1") {
		t.Error("the update is over, and the permit is not released")
	}
}
