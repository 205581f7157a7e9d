package openshift_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestActions: section 9.3, the type, the reason and in brackets the action of each event about a machine.
func TestActions(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	living := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	leaving := living.DeepCopy()
	leaving.DeletionTimestamp = &at
	with := func(m *machinev1.Machine, kind machinev1.ConditionType, status string) *machinev1.Machine {
		out := m.DeepCopy()
		out.Status.Conditions = []machinev1.Condition{{Type: kind, Status: "True", LastTransitionTime: at}}
		if status != "True" {
			out.Status.Conditions[0].Status, out.Status.Conditions[0].Reason = "False", "No"
		}
		return out
	}
	drained := func(d *drain.Decision) lifecycle.Outcome {
		return lifecycle.Outcome{World: lifecycle.World{Drain: lifecycle.Draining{Result: d}}}
	}
	made := living.DeepCopy()
	made.Spec.ProviderID = ptr.To("test:///m")
	stuck := drained(&drain.Decision{Blocked: []drain.Blocker{{Reason: drain.ReasonBudget}}})
	stuck.Reason = lifecycle.ReasonDraining
	refused := lifecycle.Outcome{Decision: lifecycle.Decision{Reason: lifecycle.ReasonTerminateFailed}, World: lifecycle.World{Retry: lifecycle.Retry{Err: errors.New("no")}}, At: at.Time}
	gone := lifecycle.Outcome{Steps: []lifecycle.Decision{{Step: lifecycle.RemoveFinalizer}}, World: lifecycle.World{Removal: lifecycle.Removal{State: lifecycle.RemovalDone}}}
	for _, row := range []struct {
		want          string
		before, after *machinev1.Machine
		outcome       lifecycle.Outcome
	}{
		{"Warning FailedValidate [Validate]", living, with(living, machinev1.InstanceExistsCondition, "False"), lifecycle.Outcome{Decision: lifecycle.Decision{Reason: lifecycle.ReasonInvalidObject}}},
		{"Normal Create [Create]", living, made, lifecycle.Outcome{}},
		{"Warning FailedCreate [Create]", living, with(living, machinev1.InstanceExistsCondition, "False"), lifecycle.Outcome{Decision: lifecycle.Decision{Err: errors.New("no")}}},
		{"Normal DrainBlocked [Drain]", leaving, leaving, lifecycle.Outcome{Decision: lifecycle.Decision{Reason: lifecycle.ReasonDrainBlockedHook}}},
		{"Normal DrainRequeued [Drain]", leaving, with(leaving, machinev1.MachineDrained, "False"), stuck},
		{"Normal DrainSkipped [Drain]", leaving, with(leaving, machinev1.MachineDrained, "True"), lifecycle.Outcome{}},
		{"Normal DrainSucceeded [Drain]", leaving, with(leaving, machinev1.MachineDrained, "True"), drained(&drain.Decision{Done: true})},
		{"Warning FailedDelete [Delete]", leaving, leaving, refused},
		{"Normal Delete [Delete]", with(leaving, machinev1.MachineDrained, "True"), with(leaving, machinev1.MachineDrained, "True"), gone},
	} {
		var got []string
		for _, e := range (openshift.Machines{}).Events(row.before, row.after, row.outcome) {
			got = append(got, e.Type+" "+e.Reason+" ["+e.Action+"]")
		}
		if !slices.Equal(got, []string{row.want}) {
			t.Errorf("told %q, want %q", got, row.want)
		}
	}
}
