package sim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// TestMarked: the cloud controller manager keeps a node that a machine has marked as its own. It ignores foreign
// finalizers.
func TestMarked(t *testing.T) {
	tests := map[string]struct {
		reason string
		meta   metav1.ObjectMeta
		want   bool
	}{
		"bare":                {"nobody looks after it", metav1.ObjectMeta{}, false},
		"held by others":      {"a backup is no machine", metav1.ObjectMeta{Finalizers: []string{foreign}}, false},
		"with our finalizer":  {"a machine sees it off", metav1.ObjectMeta{Finalizers: []string{"node.machine.sapcloud.io/machine-controller"}}, true},
		"with both":           {"a machine sees it off", metav1.ObjectMeta{Finalizers: []string{foreign, "node.machine.sapcloud.io/machine-controller"}}, true},
		"named by annotation": {"a machine named itself", metav1.ObjectMeta{Annotations: map[string]string{node.MachineAnnotation: "machines/m"}}, true},
		"named by label":      {"a machine named itself", metav1.ObjectMeta{Labels: map[string]string{node.MachineNameLabel: "m"}}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := marked(&corev1.Node{ObjectMeta: tc.meta}); got != tc.want {
				t.Errorf("%s: marked %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestReadyLeavesOthersAlone: in world 100000578 of both APIs each change of Ready removed the condition of an update in
// place.
func TestReadyLeavesOthersAlone(t *testing.T) {
	n := &corev1.Node{}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: "InPlaceUpdate", Status: corev1.ConditionTrue}}
	setReady(n, corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown})
	if len(n.Status.Conditions) != 2 || ready(n) != corev1.ConditionUnknown || n.Status.Conditions[0].Type != "InPlaceUpdate" {
		t.Errorf("conditions %+v", n.Status.Conditions)
	}
}
