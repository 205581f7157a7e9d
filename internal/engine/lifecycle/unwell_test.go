package lifecycle

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// C16: the reason for which a node is drained distinguishes failure from surplus.
func TestUnwell(t *testing.T) {
	with := func(ready corev1.ConditionStatus, disk corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: ready}, {Type: "DiskPressure", Status: disk},
		}}}
	}
	well, silent, full := with(corev1.ConditionTrue, corev1.ConditionFalse), with(corev1.ConditionUnknown, corev1.ConditionFalse), with(corev1.ConditionTrue, corev1.ConditionTrue)
	p := Policy{Health: HealthPolicy{Conditions: []string{"DiskPressure"}}}
	for name, tc := range map[string]struct {
		reason string
		stage  Stage
		node   *corev1.Node
		want   bool
	}{
		"running":                {"one too many", StageRunning, well, false},
		"failed":                 {"that is why it goes, though the node came back", StageFailed, well, true},
		"lost":                   {"its health was in doubt", StageLost, well, true},
		"update failed":          {"that is why it goes", StageUpdateFailed, well, true},
		"running, silent":        {"deleted before the machine was given up", StageRunning, silent, true},
		"running, full":          {"a condition that the policy lists", StageRunning, full, true},
		"joining":                {"not ready is what joining nodes are", StageJoining, with(corev1.ConditionFalse, corev1.ConditionFalse), false},
		"on its way out":         {"the phase is overwritten, the node is well", StageDeleting, well, false},
		"on its way out, silent": {"the phase is overwritten, the node is not well", StageDeleting, silent, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Unwell(Machine{Stage: tc.stage}, tc.node, p); got != tc.want {
				t.Errorf("%s: %s: %v", name, tc.reason, got)
			}
		})
	}
}
