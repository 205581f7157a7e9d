package gardener

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// 2.7: from the mark of the node's deletion on, the original would not ask for
// the instance any more. So it is not given while there may be one.
func TestUnknownNodeMarks(t *testing.T) {
	for removal, mark := range map[lifecycle.RemovalState]string{
		lifecycle.RemovalDone:     "Initiate node object deletion",
		lifecycle.RemovalUnderway: "Initiate node drain",
		lifecycle.RemovalUntried:  "Initiate node drain",
	} {
		op := removalOf(t, lifecycle.Outcome{
			Decision: lifecycle.Decision{Reason: lifecycle.ReasonNodeUnknown, Err: errors.New("no answer"), Message: "no answer"},
			World:    lifecycle.World{Removal: lifecycle.Removal{State: removal}},
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

// The node that a machine has recorded is not exchanged for one that is found by
// other means.
func TestNodeLabelStays(t *testing.T) {
	for recorded, want := range map[string]string{"": "node-2", "node-1": "node-1"} {
		t.Run(recorded, func(t *testing.T) {
			m := &v1alpha1.Machine{}
			if recorded != "" {
				m.Labels = map[string]string{v1alpha1.LabelKeyNode: recorded}
			}
			Machines{}.Record(m, lifecycle.Outcome{
				World: lifecycle.World{Node: lifecycle.Node{Looked: true, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}}}},
			})
			if got := m.Labels[v1alpha1.LabelKeyNode]; got != want {
				t.Errorf("recorded %q, found node-2: the label is %q, want %q", recorded, got, want)
			}
		})
	}
}
