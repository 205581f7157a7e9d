package orphan_test

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/orphan"
)

// G 5.2, nodes without machine.
func TestJudgeNode(t *testing.T) {
	const timeout = 20 * time.Minute
	old, young := now.Add(-timeout), now.Add(-timeout+time.Minute)
	tests := map[string]struct {
		reason string
		node   orphan.Node
		act    orphan.NodeAct
		after  time.Duration
	}{
		"young without machine":      {"its machine may not know it yet", orphan.Node{Created: young}, orphan.LeaveNode, time.Minute},
		"old without machine":        {"nobody manages it", orphan.Node{Created: old}, orphan.Disown, 0},
		"old, held":                  {"the finalizer would hold it for ever", orphan.Node{Created: old, HasFinalizer: true}, orphan.Disown, 0},
		"marked already":             {"nothing is left to do", orphan.Node{Created: old, Marked: true}, orphan.LeaveNode, 0},
		"marked and held":            {"the finalizer was not ours to put there", orphan.Node{Created: old, Marked: true, HasFinalizer: true}, orphan.Disown, 0},
		"young, marked and held":     {"a machine was there a moment ago", orphan.Node{Created: young, Marked: true, HasFinalizer: true}, orphan.LeaveNode, time.Minute},
		"with machine":               {"nothing to do", orphan.Node{Created: old, Machine: true, Ours: true, HasFinalizer: true}, orphan.LeaveNode, 0},
		"of the other API, held":     {"its machine never takes our finalizer off", orphan.Node{Created: old, Machine: true, HasFinalizer: true}, orphan.LetGo, 0},
		"of the other API, young":    {"a machine of ours may be about to record it", orphan.Node{Created: young, Machine: true, HasFinalizer: true}, orphan.LeaveNode, time.Minute},
		"of the other API, not held": {"nothing to do", orphan.Node{Created: young, Machine: true}, orphan.LeaveNode, 0},
		"marked, a machine turns up": {"it is managed again", orphan.Node{Created: old, Machine: true, Marked: true}, orphan.Own, 0},
		"young, marked, has machine": {"age does not matter", orphan.Node{Created: young, Machine: true, Marked: true}, orphan.Own, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			act, after := orphan.JudgeNode(now, tc.node, timeout)
			if act != tc.act || after != tc.after {
				t.Errorf("%s: %s after %v, want %s after %v", tc.reason, act, after, tc.act, tc.after)
			}
		})
	}
}
