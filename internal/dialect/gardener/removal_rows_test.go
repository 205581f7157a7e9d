package gardener

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/provider"
)

// guards are the marks of section 2.7 of the Gardener notes, in the order in
// which the original looks for them in a description.
var guards = []string{
	"Now, getting VM Status", "Initiate node drain", "Delete Volume Attachments", "Initiate VM deletion",
	"Initiate node object deletion", "Initiate machine object finalizer removal",
}

// resumes is where the original would go on that reads the description.
func resumes(description string) string {
	for _, g := range guards {
		if strings.Contains(description, g) {
			return g
		}
	}
	return ""
}

func deletingMachine() *v1alpha1.Machine {
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{
		Name: "m", DeletionTimestamp: &metav1.Time{Time: compatNow}, Finalizers: []string{v1alpha1.FinalizerMachine},
	}}
	m.Status.CurrentStatus = v1alpha1.CurrentStatus{
		Phase: v1alpha1.MachineRunning, LastUpdateTime: metav1.NewTime(compatNow.Add(-time.Hour)), PreserveExpiryTime: &metav1.Time{Time: compatNow.Add(time.Hour)},
	}
	return m
}

// TestRowsOfGardenerMarks: either system can resume the other's half-done
// deletion: each way in which a pass over a deletion ends says the mark of the
// step that is not done.
func TestRowsOfGardenerMarks(t *testing.T) {
	denied := provider.Errorf(provider.Denied, "credentials are not valid")
	for row, c := range map[string]struct {
		reason  lifecycle.Reason
		err     error
		removal lifecycle.RemovalState
		state   v1alpha1.MachineState
		want    string
	}{
		"getting VM Status: others ⇒ stay, Failed":                   {lifecycle.ReasonDeletionNeedsHelp, denied, "", v1alpha1.MachineStateFailed, guards[0]},
		"Initiate node drain: it goes on":                            {lifecycle.ReasonDraining, nil, "", v1alpha1.MachineStateProcessing, guards[1]},
		"getting VM Status: the node is not known: before the drain": {lifecycle.ReasonNodeUnknown, errors.New("away"), "", v1alpha1.MachineStateFailed, guards[1]},
		"Initiate VM deletion: it goes on":                           {lifecycle.ReasonTerminating, nil, lifecycle.RemovalUnderway, v1alpha1.MachineStateProcessing, guards[3]},
		"Initiate VM deletion: not believed yet":                     {lifecycle.ReasonUnconfirmed, nil, "", v1alpha1.MachineStateProcessing, guards[3]},
		"Initiate VM deletion: other codes ⇒ Failed, stay":           {lifecycle.ReasonTerminateFailed, denied, "", v1alpha1.MachineStateFailed, guards[3]},
		"Initiate node object deletion: other errors ⇒ Failed":       {lifecycle.ReasonNodeUnknown, errors.New("away"), lifecycle.RemovalDone, v1alpha1.MachineStateFailed, guards[4]},
	} {
		t.Run(row, func(t *testing.T) {
			m := deletingMachine()
			o := lifecycle.Outcome{At: compatNow, World: lifecycle.World{Removal: lifecycle.Removal{State: c.removal}}}
			o.Decision = lifecycle.Decision{Step: lifecycle.Await, Reason: c.reason, Stage: lifecycle.StageDeleting, Err: c.err, Message: "why"}
			if c.reason == lifecycle.ReasonDraining {
				o.World.Drain.Result = &drain.Decision{Message: "why"}
			}
			Machines{}.Record(m, o)
			op := m.Status.LastOperation
			if got := resumes(op.Description); got != c.want || op.State != c.state || op.Type != v1alpha1.MachineOperationDelete {
				t.Errorf("%s %s %q: the original goes on with %q, want %q", op.Type, op.State, op.Description, got, c.want)
			}
		})
	}
}

// TestRowsOfGardenerTerminating: the guard "phase ≠ Terminating" of section 2.7.
func TestRowsOfGardenerTerminating(t *testing.T) {
	m := deletingMachine()
	pass := func(at time.Time) {
		Machines{}.Record(m, lifecycle.Outcome{At: at, Decision: lifecycle.Decision{
			Step: lifecycle.Await, Reason: lifecycle.ReasonTerminating, Stage: lifecycle.StageDeleting,
		}})
	}
	pass(compatNow)
	want := v1alpha1.CurrentStatus{Phase: v1alpha1.MachineTerminating, LastUpdateTime: metav1.NewTime(compatNow)}
	t.Run("write phase Terminating (preserveExpiryTime cleared)", func(t *testing.T) {
		if d := cmp.Diff(want, m.Status.CurrentStatus); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
	t.Run("currentStatus.lastUpdateTime is left untouched after the first write", func(t *testing.T) {
		pass(compatNow.Add(time.Hour))
		if d := cmp.Diff(want, m.Status.CurrentStatus); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
}

// TestRowsOfGardenerEffectivePreserve: which values spare a Failed machine
// (section 3.4), by the machine and by what its node was heard to ask.
func TestRowsOfGardenerEffectivePreserve(t *testing.T) {
	for row, c := range map[string]struct {
		own, heard string
		spared     bool
	}{
		"effective preserve value when-failed":     {"when-failed", "", true},
		"effective preserve value now":             {"now", "", true},
		"effective preserve value auto-preserved":  {"auto-preserved", "", true},
		"effective preserve value false":           {"false", "", false},
		"effective preserve value empty":           {"", "", false},
		"Invalid M is ignored":                     {"please", "", false},
		"N when-failed counts":                     {"", "when-failed", true},
		"N false counts, the machine says nothing": {"", "false", false},
	} {
		t.Run(row, func(t *testing.T) {
			s := &v1alpha1.MachineSet{Spec: v1alpha1.MachineSetSpec{Replicas: 1}}
			m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", Annotations: map[string]string{
				v1alpha1.AnnotationKeyPreserve: c.own, v1alpha1.AnnotationKeyLastAppliedNodePreserve: c.heard,
			}}}
			m.Status.CurrentStatus.Phase = v1alpha1.MachineFailed
			member := Sets{}.Member(s, m, nil)
			d := replicas.Decide(compatNow, replicas.Set{Replicas: 1}, []replicas.Member{member}, Sets{}.View(s).Policy)
			if spared := len(d.Delete) == 0; spared != c.spared {
				t.Errorf("spared %v, want %v (%s)", spared, c.spared, d.Message)
			}
		})
	}
}
