package lifecycle_test

import (
	"testing"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestNeeds: the questions to answer before a decision is carried out.
func TestNeeds(t *testing.T) {
	fails := func(r lifecycle.Reason) lifecycle.Decision {
		return lifecycle.Decision{Step: lifecycle.Fail, Reason: r}
	}
	hurried := leaving()
	hurried.Deletion.Force = true
	for name, c := range map[string]struct {
		d    lifecycle.Decision
		m    lifecycle.Machine
		want lifecycle.Question
	}{
		"its node did not join":        {fails(lifecycle.ReasonJoinTimeout), machine(), lifecycle.QuestionNode},
		"its node was not healthy":     {fails(lifecycle.ReasonHealthTimeout), machine(), lifecycle.QuestionNode},
		"its instance is missing":      {fails(lifecycle.ReasonMissing), machine(), lifecycle.QuestionNode},
		"its instance was given up":    {fails(lifecycle.ReasonGivenUp), machine(), lifecycle.QuestionNode},
		"nothing was made":             {fails(lifecycle.ReasonCreateFailed), machine(), ""},
		"its instance may still come":  {lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonGivenUp}, machine(), ""},
		"its pods are forced off":      {lifecycle.Decision{Step: lifecycle.Drain, Force: true}, leaving(), lifecycle.QuestionNode},
		"its pods are asked to go":     {lifecycle.Decision{Step: lifecycle.Drain}, leaving(), ""},
		"a person has them forced off": {lifecycle.Decision{Step: lifecycle.Drain, Force: true}, hurried, ""},
		"its group may not let it":     {lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonFailureWithheld}, machine(), lifecycle.QuestionGroup},
		"a budget may not permit it":   {lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonDisruptionBudget}, leaving(), lifecycle.QuestionDisruption},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.d.Needs(c.m); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		})
	}
}
