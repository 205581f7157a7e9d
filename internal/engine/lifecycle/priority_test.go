package lifecycle

import (
	"slices"
	"testing"
	"time"
)

// TestPriority: from the last to the first.
func TestPriority(t *testing.T) {
	made := Recorded{ProviderID: "sim:///a/i-1"}
	inTurn := [][]Machine{
		{{}, {Stage: StageCreating}, {Stage: StageCrashing}},
		{{Stage: StageRunning, Recorded: made}, {Stage: StageFailed, Recorded: made}},
		{{Stage: StageJoining, Recorded: made}, {Stage: StageLost, Recorded: made}, {Recorded: made}, {Stage: StageUpdating, Recorded: made}},
		{{Stage: StageDeleting, Recorded: made, Deleted: time.Unix(1, 0)}, {Stage: StageRunning, Recorded: made, Deleted: time.Unix(1, 0)}, {Deleted: time.Unix(1, 0)}},
	}
	var all []int
	for _, equal := range inTurn {
		for _, m := range equal {
			if got, first := Priority(m), Priority(equal[0]); got != first {
				t.Errorf("%+v has priority %d, want %d", m, got, first)
			}
		}
		all = append(all, Priority(equal[0]))
	}
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(inTurn) {
		t.Errorf("the priorities %v do not rise", all)
	}
}
