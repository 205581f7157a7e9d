package dialect_test

import (
	"testing"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Each step has a condition, by which it is found again; what others call
// started is theirs.
func TestStartedConditions(t *testing.T) {
	for _, s := range lifecycle.DeletionSteps {
		if got := dialect.StartedStep(dialect.StartedCondition(s)); got != s {
			t.Errorf("%s is read back as %q", s, got)
		}
	}
	for _, foreign := range []string{"Started", "KubeletStarted", "Drain", "Drained", "DrainStartedTwice"} {
		t.Run(foreign, func(t *testing.T) {
			if got := dialect.StartedStep(foreign); got != "" {
				t.Errorf("%s is taken for %q", foreign, got)
			}
		})
	}
}
