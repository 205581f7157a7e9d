package lifecycle

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/turn"
)

func TestTurn(t *testing.T) {
	made := Recorded{ProviderID: "sim:///a/i-1", Provisioned: true}
	at := time.Unix(1, 0)
	for _, c := range []struct {
		reason string
		m      Machine
		short  bool
		want   turn.Class
	}{
		{"it is new", Machine{}, false, turn.Asking},
		{"its instance could not be made so far", Machine{Stage: StageCrashing}, false, turn.Asking},
		{"its instance boots", Machine{Stage: StageCreating, Recorded: made}, false, turn.Joining},
		{"its node has joined", Machine{Stage: StageJoining, Recorded: made}, false, turn.Joining},
		{"its node fell silent", Machine{Stage: StageLost, Recorded: made}, false, turn.Joining},
		{"it is updated in place", Machine{Stage: StageUpdating, Recorded: made}, false, turn.Joining},
		{"it runs", Machine{Stage: StageRunning, Recorded: made}, false, turn.Settled},
		{"it failed without an instance", Machine{Stage: StageFailed}, false, turn.Settled},
		{"it failed with one", Machine{Stage: StageFailed, Recorded: made}, false, turn.Settled},
		{"it is deleted", Machine{Stage: StageRunning, Recorded: made, Deleted: at}, false, turn.Leaving},
		{"it is deleted, and others lack capacity", Machine{Stage: StageRunning, Recorded: made, Deleted: at}, true, turn.Freeing},
		{"it is deleted, others lack capacity, and it holds none", Machine{Deleted: at}, true, turn.Leaving},
		{"others lack capacity, as it does", Machine{Stage: StageCrashing}, true, turn.Asking},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := Turn(c.m, c.short); got != c.want {
				t.Errorf("%s: class %d, want %d", c.reason, got, c.want)
			}
		})
	}
}
