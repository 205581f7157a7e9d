package lifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Rows of the table "Force rules" of the Gardener notes, section 2.8.
func TestDefectForcesTheDrain(t *testing.T) {
	tests := []struct {
		reason    string
		condition corev1.NodeCondition
		policy    func(*lifecycle.Policy)
		want      bool
	}{
		{"ReadonlyFilesystem other than False for more than 5 minutes forces", lasting("ReadonlyFilesystem", corev1.ConditionTrue, 6*time.Minute), nil, true},
		{"Unknown is other than False", lasting("ReadonlyFilesystem", corev1.ConditionUnknown, 6*time.Minute), nil, true},
		{"not before", lasting("ReadonlyFilesystem", corev1.ConditionTrue, 4*time.Minute), nil, false},
		{"False is what it should be", lasting("ReadonlyFilesystem", corev1.ConditionFalse, time.Hour), nil, false},
		{"another condition does not force", lasting("DiskPressure", corev1.ConditionTrue, time.Hour), nil, false},
		{"without the time since when nothing is known", corev1.NodeCondition{Type: "ReadonlyFilesystem", Status: corev1.ConditionTrue}, nil, false},
		{"Ready other than True for more than 5 minutes forces", lasting(corev1.NodeReady, corev1.ConditionFalse, 6*time.Minute), nil, true},
		{
			"never, where that is the policy", lasting("ReadonlyFilesystem", corev1.ConditionTrue, time.Hour),
			func(p *lifecycle.Policy) { p.Drain.UnreachableAfter = 0 }, false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			n := node(corev1.ConditionTrue)
			if tt.condition.Type == corev1.NodeReady {
				n.Status.Conditions = nil
			}
			n.Status.Conditions = append(n.Status.Conditions, tt.condition)
			p := brisk
			p.Drain.DefectConditions = []string{"ReadonlyFilesystem"}
			if tt.policy != nil {
				tt.policy(&p)
			}
			d := lifecycle.Decide(now, leaving(), world(runningOn(n)), p)
			if d.Step != lifecycle.Drain || d.Force != tt.want {
				t.Errorf("%s, forced %v, want %v", d.Step, d.Force, tt.want)
			}
		})
	}
}

// lasting is a condition that has been like this for so long.
func lasting(kind corev1.NodeConditionType, status corev1.ConditionStatus, since time.Duration) corev1.NodeCondition {
	return corev1.NodeCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-since))}
}
