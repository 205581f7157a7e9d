package dialect

import (
	"strings"

	"github.com/millwright-dev/millwright/internal/lifecycle"
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
	for _, s := range lifecycle.DeletionSteps {
		if string(s) == name {
			return s
		}
	}
	return ""
}
