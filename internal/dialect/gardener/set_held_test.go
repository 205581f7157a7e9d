package gardener

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// That machines are held is a ReplicaFailure since it began, which a deployment
// mirrors; the count in it is kept up, and it ends with the hold.
func TestRecordHeld(t *testing.T) {
	s := sampleSet()
	record := func(after time.Duration, o dialect.SetOutcome) []v1alpha1.MachineSetCondition {
		o.Now = setNow.Add(after)
		Sets{}.Record(s, o)
		return s.Status.Conditions
	}
	want := func(when string, got []v1alpha1.MachineSetCondition, message string) {
		t.Helper()
		var conditions []v1alpha1.MachineSetCondition
		if message != "" {
			conditions = []v1alpha1.MachineSetCondition{{
				Type: v1alpha1.MachineSetReplicaFailure, Status: v1alpha1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(setNow), Reason: "DeletionHeld", Message: message,
			}}
		}
		if len(conditions)+len(got) > 0 && !cmp.Equal(conditions, got) {
			t.Errorf("%s (-want +got):\n%s", when, cmp.Diff(conditions, got))
		}
	}
	want("begun", record(0, dialect.SetOutcome{Judged: true, Withheld: "5 of 10"}), "5 of 10")
	want("counted again", record(time.Minute, dialect.SetOutcome{Judged: true, Withheld: "4 of 9"}), "4 of 9")
	want("not looked at", record(2*time.Minute, dialect.SetOutcome{}), "4 of 9")
	if f := (deployedSets{}).View(&v1alpha1.MachineDeployment{}, s).Failure; f == nil || f.Reason != "DeletionHeld" || f.Message != "4 of 9" || !f.Withheld {
		t.Errorf("the deployment does not see it: %+v", f)
	}
	want("ended", record(3*time.Minute, dialect.SetOutcome{Judged: true}), "")
}

// A deployment's guard is that of all its sets, the old ones too.
func TestDressGuards(t *testing.T) {
	d, s := &v1alpha1.MachineDeployment{}, sampleSet()
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
