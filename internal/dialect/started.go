package dialect

import (
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// started is the suffix of the types of Millwright's conditions on machines under deletion.
const started = "Started"

// StartedCondition returns the type of the machine condition that is True from the moment at which the step
// of a deletion began ("DrainStarted"). It is in the status, so that it is written with the write that the
// step causes anyway.
func StartedCondition(s lifecycle.DeletionStep) string { return string(s) + started }

// StartedStep returns the step of such a type; empty for other types.
func StartedStep(conditionType string) lifecycle.DeletionStep {
	name, ok := strings.CutSuffix(conditionType, started)
	if !ok {
		return ""
	}
	if s := lifecycle.DeletionStep(name); slices.Contains(lifecycle.DeletionSteps, s) {
		return s
	}
	return ""
}

// SeenReason is the reason of a condition about the instance's removal which says that the instance was
// listed then, and its termination requested. Whether it is still listed is another question.
const SeenReason = "InstanceListed"

// StartedReason returns the reason of the condition for b; may be empty. That of a wait for disruption budgets is the cause of
// the disruption.
func StartedReason(b lifecycle.StartedStep) string {
	if b.Seen {
		return SeenReason
	}
	return string(b.Cause)
}

// StartedBy returns the step that a condition records: the inverse of [StartedReason].
func StartedBy(step lifecycle.DeletionStep, reason string, since time.Time) lifecycle.StartedStep {
	b := lifecycle.StartedStep{Step: step, At: since, Seen: reason == SeenReason}
	if cause := v1alpha1.DisruptionReason(reason); step == lifecycle.DeletionBudget && slices.Contains(v1alpha1.DisruptionReasons, cause) {
		b.Cause = cause
	}
	return b
}

// StartedIn returns the steps of a deletion that conditions record, in order, given the type, reason and
// transition time of each. Conditions from before the deletion do not belong to it.
func StartedIn[C any](conditions []C, deleted time.Time, read func(*C) (kind, reason string, since time.Time)) (out []lifecycle.StartedStep) {
	for _, step := range lifecycle.DeletionSteps {
		for i := range conditions {
			if kind, reason, since := read(&conditions[i]); StartedStep(kind) == step {
				if !since.Before(deleted) {
					out = append(out, StartedBy(step, reason, since))
				}
				break
			}
		}
	}
	return out
}
