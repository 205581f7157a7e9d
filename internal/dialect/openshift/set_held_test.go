package openshift

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// That machines are held is a condition of ours since it began, which a
// deployment mirrors, and no errorReason; the count in it is kept up, and it
// ends with the hold. Conditions of others stay.
func TestRecordHeld(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	paused := machinev1.Condition{Type: "Paused", Status: corev1.ConditionFalse, Reason: "NotPaused"}
	s := sampleSet(func(s *machinev1.MachineSet) { s.Status.Conditions = []machinev1.Condition{paused} })
	step := func(when string, after time.Duration, o dialect.SetOutcome, message string) {
		t.Helper()
		o.Now = start.Add(after)
		Sets{}.Record(s, o)
		want := []machinev1.Condition{paused}
		if message != "" {
			want = append(want, machinev1.Condition{
				Type: "DeletionHeld", Status: corev1.ConditionTrue, Severity: machinev1.ConditionSeverityWarning,
				LastTransitionTime: metav1.NewTime(start), Reason: "MassDeletion", Message: message,
			})
		}
		got := slices.DeleteFunc(slices.Clone(s.Status.Conditions), func(c machinev1.Condition) bool { return c.Type == ReadyCondition })
		if diff := cmp.Diff(want, got); diff != "" || s.Status.ErrorReason != nil {
			t.Errorf("%s, errorReason %v (-want +got):\n%s", when, s.Status.ErrorReason, diff)
		}
	}
	step("begun", 0, dialect.SetOutcome{Judged: true, Withheld: "5 of 10"}, "5 of 10")
	step("counted again", time.Minute, dialect.SetOutcome{Judged: true, Withheld: "4 of 9"}, "4 of 9")
	step("not looked at", 2*time.Minute, dialect.SetOutcome{}, "4 of 9")
	if f := (deployedSets{}).View(&v1beta1.MachineDeployment{}, s).Failure; f == nil || f.Reason != "DeletionHeld" || f.Message != "4 of 9" || !f.Withheld {
		t.Errorf("the deployment does not see it: %+v", f)
	}
	step("ended", 3*time.Minute, dialect.SetOutcome{Judged: true}, "")
}

// That machines cannot be made is a condition of ours, in the words of the first attempt of
// its kind, which a deployment mirrors; it ends with a pass that goes well.
func TestRecordReplicaFailure(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := sampleSet()
	fails := func(creating bool, text string) dialect.SetOutcome {
		return dialect.SetOutcome{Judged: true, Failure: &dialect.SetFailure{Creating: creating, Err: errors.New(text)}}
	}
	for i, step := range []struct {
		when, reason, message string
		since                 int
		o                     dialect.SetOutcome
	}{
		{"refused", "FailedCreate", "create machine mill-a-1: quota", 0, fails(true, "create machine mill-a-1: quota")},
		{"refused again, another name", "FailedCreate", "create machine mill-a-1: quota", 0, fails(true, "create machine mill-a-2: quota")},
		{"not looked at", "FailedCreate", "create machine mill-a-1: quota", 0, dialect.SetOutcome{}},
		{"of another kind", "FailedDelete", "delete machine mill-a-1: no", 3, fails(false, "delete machine mill-a-1: no")},
		{"over", "", "", 0, dialect.SetOutcome{Judged: true}},
	} {
		step.o.Now = start.Add(time.Duration(i) * time.Minute)
		Sets{}.Record(s, step.o)
		var got machinev1.Condition
		for _, c := range s.Status.Conditions {
			if c.Type == FailureCondition {
				got = c
			}
		}
		var since metav1.Time
		if step.reason != "" {
			since = metav1.NewTime(start.Add(time.Duration(step.since) * time.Minute))
		}
		if got.Reason != step.reason || got.Message != step.message || !got.LastTransitionTime.Equal(&since) || s.Status.ErrorReason != nil {
			t.Errorf("%s: %+v, errorReason %v", step.when, got, s.Status.ErrorReason)
		}
		if f := (deployedSets{}).View(&v1beta1.MachineDeployment{}, s).Failure; (f == nil) != (step.reason == "") || f != nil && f.Message != step.message {
			t.Errorf("%s: the deployment sees %+v", step.when, f)
		}
	}
}

// A deployment's guard is that of all its sets, the old ones too.
func TestDressGuards(t *testing.T) {
	d, s := sampleDeployment(), sampleSet()
	d.Annotations = map[string]string{dialect.MaxShareAnnotation: "30%", dialect.ApproveShrinkAnnotation: "4"}
	deployedSets{}.Apply(d, s, rollout.SetWant{Replicas: 3})
	if g := (Sets{}).View(s).Guard; g == nil || g.Limit.Percent != 30 || g.Approved != 4 {
		t.Errorf("the set is guarded by %+v", g)
	}
	d.Annotations = nil
	deployedSets{}.Apply(d, s, rollout.SetWant{Replicas: 3})
	if g := (Sets{}).View(s).Guard; g != nil {
		t.Errorf("the set is still guarded by %+v", g)
	}
}
