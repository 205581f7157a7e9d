package gardener

import (
	"errors"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/lifecycle"
)

// 2.7: from the mark of the node's deletion on, the original would not ask for
// the instance any more. So it is not given while there may be one.
func TestUnknownNodeMarks(t *testing.T) {
	for removal, mark := range map[lifecycle.Removal]string{
		lifecycle.RemovalDone:     "Initiate node object deletion",
		lifecycle.RemovalUnderway: "Initiate node drain",
		lifecycle.RemovalUntried:  "Initiate node drain",
	} {
		op := removalOf(t, lifecycle.Outcome{
			Decision: lifecycle.Decision{Reason: lifecycle.ReasonNodeUnknown, Err: errors.New("no answer"), Message: "no answer"},
			World:    lifecycle.World{Removal: removal},
		})
		if !strings.HasSuffix(op.Description, ". "+mark) || op.State != v1alpha1.MachineStateFailed {
			t.Errorf("removal %q: %s, %q, want the mark %q", removal, op.State, op.Description, mark)
		}
	}
}

func removalOf(t *testing.T, o lifecycle.Outcome) v1alpha1.LastOperation {
	t.Helper()
	op := removal(o)
	if op == nil {
		t.Fatal("nothing is said")
	}
	return *op
}
