package gardener

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// started returns the steps of m's deletion that its conditions record, in order.
func started(m *v1alpha1.Machine) []lifecycle.StartedStep {
	return dialect.StartedIn(m.Status.Conditions, m.DeletionTimestamp.Time, func(c *corev1.NodeCondition) (kind, reason string, since time.Time) {
		return string(c.Type), c.Reason, c.LastTransitionTime.Time
	})
}

// recordStarted writes when each step of the deletion began, in addition to the conditions that were last
// copied from the node: no condition is copied any more. It returns those steps.
func recordStarted(m *v1alpha1.Machine, o lifecycle.Outcome) []lifecycle.StartedStep {
	if m.DeletionTimestamp == nil {
		return nil
	}
	steps := lifecycle.Begin(started(m), m.DeletionTimestamp.Time, o)
	conditions := slices.DeleteFunc(slices.Clone(m.Status.Conditions), func(c corev1.NodeCondition) bool {
		return dialect.StartedStep(string(c.Type)) != ""
	})
	for _, b := range steps {
		conditions = append(conditions, corev1.NodeCondition{
			Type:   corev1.NodeConditionType(dialect.StartedCondition(b.Step)),
			Status: corev1.ConditionTrue, Reason: dialect.StartedReason(b), LastTransitionTime: metav1.NewTime(b.At),
			LastHeartbeatTime: metav1.NewTime(b.At), // the API does not allow null here
		})
	}
	m.Status.Conditions = conditions
	return steps
}
