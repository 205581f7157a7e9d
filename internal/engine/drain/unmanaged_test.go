package drain

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestUnmanaged: only pods that have to leave, run, and have no controller are lost by a drain.
func TestUnmanaged(t *testing.T) {
	for _, c := range []struct {
		reason string
		change func(*corev1.Pod)
		want   int
	}{
		{"no controller", func(*corev1.Pod) {}, 1},
		{"a controller", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: ptr.To(true)}}
		}, 0},
		{"a mirror pod stays", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }, 0},
		{"a finished pod does nothing any more", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, 0},
		{"a pod in deletion leaves anyway", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, 0},
	} {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "a", UID: "a"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		c.change(&p)
		if got := Unmanaged(Facts{Pods: []corev1.Pod{p}}, Policy{}); len(got) != c.want {
			t.Errorf("%s: %v, want %d", c.reason, got, c.want)
		}
	}
}
