package pages

import (
	"fmt"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// TestBudgetOf: the page of a budget has what it permits for each cause, and the machines with a permit; a long list is cut.
func TestBudgetOf(t *testing.T) {
	b := &v1alpha1.MachineDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Spec: v1alpha1.MachineDisruptionBudgetSpec{Message: "quorum", Budgets: []v1alpha1.Budget{{Nodes: intstr.FromInt32(2), Reasons: []v1alpha1.DisruptionReason{v1alpha1.ReasonRollout}}}}}
	for i := range mostPermits + 3 {
		b.Status.Disruptions = append(b.Status.Disruptions, v1alpha1.Disruption{API: machinev1.GroupName, Namespace: "blue", Name: fmt.Sprint("m-", i), UID: types.UID(fmt.Sprint(i)), Reason: v1alpha1.ReasonRollout})
	}
	a, p := BudgetOf(noon, b)
	if a.State != explain.Healthy || len(a.Because) != 1 || a.Because[0].Message != "quorum" || a.Next != "" {
		t.Errorf("%+v", a)
	}
	if len(p.Permits) != mostPermits || p.Cut != 3 || p.Permits[0].String() != "Machine blue/m-0" {
		t.Errorf("%d permits, %d cut, the first is of %s", len(p.Permits), p.Cut, p.Permits[0])
	}
	for _, c := range p.Causes {
		if limited := c.Reason == v1alpha1.ReasonRollout; limited != (c.Allowed != nil && *c.Allowed == 2) || limited != (c.InUse == mostPermits+3) {
			t.Errorf("%+v", c)
		}
	}
	for next, b := range map[string]*v1alpha1.MachineDisruptionBudget{
		"`kubectl machine resume` ends the stop":                        disruption.NewStop(""),
		"change the budget: `kubectl edit machinedisruptionbudget few`": {ObjectMeta: b.ObjectMeta, Spec: v1alpha1.MachineDisruptionBudgetSpec{Paused: true}},
	} {
		if a, _ := BudgetOf(noon, b); a.Next != next || a.State != explain.Waiting {
			t.Errorf("%+v, want the next step %s", a, next)
		}
	}
	if a := NoBudget(disruption.EmergencyStop); a.State != explain.Healthy {
		t.Errorf("no emergency stop is no trouble: %+v", a)
	}
	if a := NoBudget("other"); a.State != explain.Unknown {
		t.Errorf("%+v", a)
	}
}

// TestSelectingOf: a machine has the budgets that select it, and its permits.
func TestSelectingOf(t *testing.T) {
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "a", UID: "uid-a", Labels: map[string]string{"pool": "blue"}}}
	d := collect.Detail{Object: m, Answer: explain.Answer{Subject: explain.Subject{Kind: "Machine", Name: "a"}}}
	all := make([]v1alpha1.MachineDisruptionBudget, 3)
	for i, pool := range []string{"blue", "red", "blue"} {
		all[i].Name = fmt.Sprint("b-", i)
		all[i].Spec.Selector.MatchLabels = map[string]string{"pool": pool}
	}
	all[2].Status.Disruptions = []v1alpha1.Disruption{{UID: "other"}, {UID: "uid-a", Reason: v1alpha1.ReasonReboot, Since: metav1.NewTime(noon.Add(-time.Minute))}}
	got := SelectingOf(noon, all, d)
	if len(got) != 2 || got[0].Name != "b-0" || got[0].Holds || !got[1].Holds || got[1].Reason != v1alpha1.ReasonReboot || !got[1].Held.Equal(noon.Add(-time.Minute)) {
		t.Errorf("%+v", got)
	}
	if d.Kind = "MachineSet"; SelectingOf(noon, all, d) != nil {
		t.Error("budgets select machines, and no sets")
	}
}
