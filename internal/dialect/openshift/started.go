package openshift

import (
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// started returns the steps of m's deletion that its conditions record, in order.
func started(m *machinev1.Machine) []lifecycle.StartedStep {
	return dialect.StartedIn(m.Status.Conditions, m.DeletionTimestamp.Time, func(c *machinev1.Condition) (kind, reason string, since time.Time) {
		return string(c.Type), c.Reason, c.LastTransitionTime.Time
	})
}

// recordStarted writes when each step of the deletion began, and why the instance is not terminated, which no
// other field shows after its event has expired. When a machine is about to be deleted, that is no longer
// needed.
func recordStarted(m *machinev1.Machine, o lifecycle.Outcome) {
	if m.DeletionTimestamp == nil || o.Did(lifecycle.RemoveFinalizer) {
		return
	}
	steps := lifecycle.Begin(started(m), m.DeletionTimestamp.Time, o)
	m.Status.Conditions = slices.DeleteFunc(m.Status.Conditions, func(c machinev1.Condition) bool {
		step := dialect.StartedStep(string(c.Type))
		return step != "" && !slices.Contains(steps, dialect.StartedBy(step, c.Reason, c.LastTransitionTime.Time))
	})
	for _, b := range steps {
		t := machinev1.ConditionType(dialect.StartedCondition(b.Step))
		c := machinev1.Condition{Type: t, Status: corev1.ConditionTrue, Reason: dialect.StartedReason(b)}
		if b.Step == lifecycle.DeletionInstance && o.Reason == lifecycle.ReasonTerminateFailed {
			c.Message = notDeleted + ": " + o.Message
		}
		if b.Step == lifecycle.DeletionBudget && o.Reason == lifecycle.ReasonDisruptionBudget {
			c.Message = "Waits for " + o.Message
		}
		setCondition(m, c, b.At)
	}
}
