package dialect

import (
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// started ends the types of conditions of ours on machines on their way out.
const started = "Started"

// StartedCondition is the type of the machine condition that is True from the
// moment on at which the step of a deletion began ("DrainStarted"). It is in the
// status, so that it goes with the write that the step causes anyway.
func StartedCondition(s lifecycle.DeletionStep) string { return string(s) + started }

// StartedStep is the step of such a type; empty when the type is another's.
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

// SeenReason is the reason of a condition that says of the instance's removal that
// the instance was reported then, and asked to go. Whether it is reported any more
// is another question.
const SeenReason = "InstanceListed"

// StartedReason is the reason of the condition for b; empty for none.
func StartedReason(b lifecycle.Begun) string {
	if b.Seen {
		return SeenReason
	}
	return ""
}

// BegunIn are the steps of a deletion that conditions record, in order, given the
// type and reason of each and since when it has been as it is. What is older than
// the deletion is no part of it.
func BegunIn[C any](conditions []C, deleted time.Time, read func(*C) (kind, reason string, since time.Time)) (out []lifecycle.Begun) {
	for _, step := range lifecycle.DeletionSteps {
		for i := range conditions {
			if kind, reason, since := read(&conditions[i]); StartedStep(kind) == step {
				if !since.Before(deleted) {
					out = append(out, lifecycle.Begun{Step: step, At: since, Seen: reason == SeenReason})
				}
				break
			}
		}
	}
	return out
}
