package node

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMatters(t *testing.T) {
	base := func() *corev1.Node {
		return node("n", withLabel("a", "1"), withProviderID("p"), withIPs("10.0.0.1"), withTaint("k", "v", corev1.TaintEffectNoSchedule), func(n *corev1.Node) {
			n.ResourceVersion = "1"
			n.Status.Conditions = []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: metav1.NewTime(start),
			}}
		})
	}
	tests := []struct {
		reason string
		edit   func(*corev1.Node)
		want   bool
	}{
		{"a heartbeat is no news", func(n *corev1.Node) {
			n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(start.Add(time.Minute))
		}, false},
		{"nor are images", func(n *corev1.Node) { n.Status.Images = []corev1.ContainerImage{{SizeBytes: 1}} }, false},
		{"readiness is", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, true},
		{"so is a new condition", func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "KernelDeadlock"})
		}, true},
		{"the reason of a condition", func(n *corev1.Node) { n.Status.Conditions[0].Reason = "KubeletNotReady" }, true},
		{"the provider ID", func(n *corev1.Node) { n.Spec.ProviderID = "q" }, true},
		{"addresses", withIPs("10.0.0.2"), true},
		{"labels", withLabel("a", "2"), true},
		{"annotations", withAnnotation("b", "1"), true},
		{"a taint's value", func(n *corev1.Node) { n.Spec.Taints[0].Value = "w" }, true},
		{"cordoning", cordoned, true},
		{"finalizers", withFinalizers("x"), true},
		{"capacity", withCapacity("cpu", "4"), true},
		{"deletion", func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: start} }, true},
		{"another node of the same name", func(n *corev1.Node) { n.UID = "other" }, true},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			after := base()
			tt.edit(after)
			after.ResourceVersion = "2"
			if got := Matters(base(), after); got != tt.want {
				t.Errorf("passes: %v", got)
			}
		})
	}
	if Matters(base(), base()) {
		t.Error("a resync passes")
	}
}
