package run

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestSlim: the weight goes, and what controllers look at stays.
func TestSlim(t *testing.T) {
	managed := metav1.ObjectMeta{Name: "x", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}}
	in := []client.Object{
		&corev1.Node{ObjectMeta: managed, Spec: corev1.NodeSpec{ProviderID: "p://1"}, Status: corev1.NodeStatus{Images: make([]corev1.ContainerImage, 50)}},
		&corev1.Pod{ObjectMeta: managed, Spec: corev1.PodSpec{NodeName: "n", Containers: make([]corev1.Container, 3)}, Status: corev1.PodStatus{Phase: corev1.PodRunning}},
	}
	for kind, by := range slim() {
		for _, o := range in {
			out, err := by.Transform(o)
			if err != nil || len(out.(client.Object).GetManagedFields()) > 0 {
				t.Errorf("%T through the transform of %T: %v, managed fields %v", o, kind, err, out.(client.Object).GetManagedFields())
			}
		}
	}
	n, p := in[0].(*corev1.Node), in[1].(*corev1.Pod)
	if n.Status.Images != nil || n.Spec.ProviderID != "p://1" {
		t.Errorf("node: %d images, provider ID %q", len(n.Status.Images), n.Spec.ProviderID)
	}
	if p.Spec.Containers != nil || p.Spec.NodeName != "n" || p.Status.Phase != corev1.PodRunning {
		t.Errorf("pod: %d containers, node %q, phase %s", len(p.Spec.Containers), p.Spec.NodeName, p.Status.Phase)
	}
}
