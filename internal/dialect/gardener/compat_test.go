package gardener

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/drain"
	"github.com/millwright-dev/millwright/internal/lifecycle"
	"github.com/millwright-dev/millwright/internal/replicas"
	"github.com/millwright-dev/millwright/provider"
)

var compatNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestForceDeletionLabel(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "True": true, "1": true, "false": false, "": false, "please": false} {
		m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"force-deletion": value}}}
		if got := (Machines{}).View(m).Force; got != want {
			t.Errorf("label force-deletion=%q: forced %v", value, got)
		}
	}
	if (Machines{}).View(&v1alpha1.Machine{}).Force {
		t.Error("forced without the label")
	}
}

// What this API forces, it forces as the original does: pods are deleted
// without grace once a drain is forced, and only then.
func TestForcedDrainLeavesNoGrace(t *testing.T) {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}}
	p := Machines{Defaults: StandardDefaults()}.Policy(&v1alpha1.Machine{}).Drain
	if d := drain.Decide(compatNow, []corev1.Pod{pod}, nil, nil, p); len(d.Evict) != 1 || d.Evict[0].Grace != nil {
		t.Errorf("unforced: %+v", d)
	}
	p.Force = true
	if d := drain.Decide(compatNow, []corev1.Pod{pod}, nil, nil, p); len(d.Delete) != 1 || *d.Delete[0].Grace != 0 {
		t.Errorf("forced: %+v", d)
	}
}

// The driver's own state survives whatever says nothing about it.
func TestLastKnownStateIsKept(t *testing.T) {
	m := &v1alpha1.Machine{Status: v1alpha1.MachineStatus{LastKnownState: "disk-7"}}
	refused := provider.Errorf(provider.Denied, "no access")
	Machines{}.Record(m, lifecycle.Outcome{At: compatNow, Decision: lifecycle.Decision{
		Step: lifecycle.Await, Reason: lifecycle.ReasonRetry, Stage: lifecycle.StageCrashing, Err: refused, Message: refused.Error(),
	}})
	m.DeletionTimestamp = &metav1.Time{Time: compatNow}
	Machines{}.Record(m, lifecycle.Outcome{At: compatNow, Decision: lifecycle.Decision{
		Step: lifecycle.Await, Reason: lifecycle.ReasonTerminateFailed, Stage: lifecycle.StageDeleting, Err: refused, Message: refused.Error(),
	}})
	if m.Status.LastKnownState != "disk-7" {
		t.Errorf("lastKnownState became %q", m.Status.LastKnownState)
	}
}

// minReadySeconds is stored and has no effect, as in the original.
func TestMinReadySecondsDoesNotCount(t *testing.T) {
	s := &v1alpha1.MachineSet{Spec: v1alpha1.MachineSetSpec{Replicas: 1, MinReadySeconds: 3600}}
	m := &v1alpha1.Machine{Status: v1alpha1.MachineStatus{CurrentStatus: v1alpha1.CurrentStatus{
		Phase: v1alpha1.MachineRunning, LastUpdateTime: metav1.NewTime(compatNow),
	}}}
	none := dialect.Nodes(func(string) *corev1.Node { return nil })
	got := replicas.Count(compatNow, []replicas.Member{Sets{}.Member(s, m, none)}, Sets{}.Policy(s))
	if got.Available != 1 || got.Next != 0 {
		t.Errorf("a machine that runs since now: %+v", got)
	}
}
