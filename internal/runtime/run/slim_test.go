package run

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/drain"
)

// TestSlim: the weight goes, and what controllers look at stays.
func TestSlim(t *testing.T) {
	managed := metav1.ObjectMeta{Name: "x", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}}
	in := []client.Object{
		&corev1.Node{ObjectMeta: managed, Spec: corev1.NodeSpec{ProviderID: "p://1"}, Status: corev1.NodeStatus{Images: make([]corev1.ContainerImage, 50)}},
		&corev1.Pod{ObjectMeta: managed, Spec: corev1.PodSpec{NodeName: "n", Containers: make([]corev1.Container, 3)}, Status: corev1.PodStatus{Phase: corev1.PodRunning}},
		&corev1.PersistentVolume{ObjectMeta: managed, Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, MountOptions: []string{"x"},
			ClaimRef: &corev1.ObjectReference{Namespace: "n", Name: "c", UID: "u"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: "d", VolumeHandle: "h", VolumeAttributes: map[string]string{"k": "v"},
			}},
		}},
		&corev1.PersistentVolume{ObjectMeta: managed, Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "v"}},
		}},
		&corev1.PersistentVolumeClaim{ObjectMeta: managed, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv", StorageClassName: ptr.To("s")}},
		&storagev1.VolumeAttachment{ObjectMeta: managed, Spec: storagev1.VolumeAttachmentSpec{NodeName: "n", Source: storagev1.VolumeAttachmentSource{
			InlineVolumeSpec: &corev1.PersistentVolumeSpec{MountOptions: []string{"x"}},
		}}, Status: storagev1.VolumeAttachmentStatus{Attached: true, AttachmentMetadata: map[string]string{"k": "v"}}},
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
	v, old, c, a := in[2].(*corev1.PersistentVolume), in[3].(*corev1.PersistentVolume), in[4].(*corev1.PersistentVolumeClaim), in[5].(*storagev1.VolumeAttachment)
	want := drain.Volume{Name: "x", Claim: types.NamespacedName{Namespace: "n", Name: "c"}, Shared: true, ID: "kubernetes.io/csi/d^h"}
	if got := drain.VolumeOf(v); got != want || v.Spec.MountOptions != nil || v.Spec.CSI.VolumeAttributes != nil {
		t.Errorf("volume: %+v of %+v", got, v.Spec)
	}
	if old.Spec.Cinder == nil || old.Spec.Cinder.VolumeID != "v" {
		t.Errorf("what another volume is: %+v", old.Spec)
	}
	if c.Spec.VolumeName != "pv" || c.Spec.StorageClassName != nil {
		t.Errorf("claim: %+v", c.Spec)
	}
	if s := a.Spec.Source.InlineVolumeSpec; a.Spec.NodeName != "n" || !a.Status.Attached || a.Status.AttachmentMetadata != nil || s == nil || s.MountOptions != nil {
		t.Errorf("attachment: %+v", a)
	}
}
