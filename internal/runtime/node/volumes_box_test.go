package node

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/engine/drain"
)

// detachFinalizer holds an attachment until its driver has detached the volume,
// as external attachers do.
const detachFinalizer = "example.com/detach"

// bound makes a claim and the volume that it is bound to.
func bound(t *testing.T, c *Cluster, namespace, name string) {
	t.Helper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name}, Spec: corev1.PersistentVolumeSpec{
		Capacity: size, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		ClaimRef:               &corev1.ObjectReference{Namespace: namespace, Name: name},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "none.example.com", VolumeHandle: namespace + "-" + name}},
	}}
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: pv.Spec.AccessModes, VolumeName: pv.Name, StorageClassName: ptr.To(""),
		Resources: corev1.VolumeResourceRequirements{Requests: size},
	}}
	for _, o := range []client.Object{pv, pvc} {
		if err := c.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		_ = c.Client.Delete(context.Background(), pv) // what is left of it goes with the server
	})
}

// attach makes the attachment of a volume, as a driver leaves it.
func attach(t *testing.T, c *Cluster, pv, nodeName string) *storagev1.VolumeAttachment {
	t.Helper()
	a := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: pv + "-on-" + nodeName, Finalizers: []string{detachFinalizer}},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "none.example.com", NodeName: nodeName, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv},
		},
	}
	if err := c.Client.Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	a.Status.Attached = true
	if err := c.Client.Status().Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { detached(t, c, a) })
	return a
}

// detached is the driver's word that the volume is detached.
func detached(t *testing.T, c *Cluster, a *storagev1.VolumeAttachment) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := c.Client.Patch(context.Background(), a.DeepCopy(), patch); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
	if err := c.Client.Delete(context.Background(), a.DeepCopy()); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}

// statefulPod runs a pod with its claim on the node.
func statefulPod(t *testing.T, c *Cluster, namespace, nodeName, name, claim string) {
	t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "db"}},
		Spec: corev1.PodSpec{
			NodeName: nodeName, TerminationGracePeriodSeconds: ptr.To(int64(0)),
			Containers: []corev1.Container{{Name: "c", Image: "example.com/none"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			}}},
		},
	}
	eventually(t, "creating pod "+name, func(ctx context.Context) (bool, error) {
		err := c.Client.Create(ctx, p)
		if apierrors.IsForbidden(err) { // the namespace's service account is not there yet
			return false, nil
		}
		return err == nil, err
	})
}

// T12 of the Gardener notes on a real API server: pods as a StatefulSet has them
// leave one after another, through the eviction API, and each volume is
// detached, and attached to the node of its next pod, before the next one goes.
func TestVolumesMoveOneAfterAnotherOnRealServer(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Now())
	c, _ := realCluster(t, clk)
	namespace := devplanetest.Namespace(t)
	n, elsewhere := createNode(t, c, node("from-"+namespace)), createNode(t, c, node("to-"+namespace))
	attachments := map[string]*storagev1.VolumeAttachment{}
	for i := range 3 {
		name := fmt.Sprint("db-", i)
		bound(t, c, namespace, name)
		statefulPod(t, c, namespace, n.Name, name, name)
		attachments[name] = attach(t, c, namespace+"-"+name, n.Name)
	}
	look := func(ctx context.Context) drain.Decision {
		clk.SetTime(clk.Now().Add(time.Second))
		d, err := c.Drain(ctx, n, volumesCount)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	waits := func(what string, r drain.Reason) {
		t.Helper()
		eventually(t, what, func(ctx context.Context) (bool, error) {
			d := look(ctx)
			for _, b := range d.Waiting {
				if b.Reason == r {
					return true, nil
				}
			}
			return false, nil
		})
	}
	eventually(t, "seeing all pods and volumes", func(ctx context.Context) (bool, error) {
		f, err := c.look(ctx, c.Client, n, volumesCount)
		return len(f.Pods) == 3 && len(f.Volumes) == 3 && len(f.Attachments) == 3, err
	})
	for i := range 3 {
		name := fmt.Sprint("db-", i)
		eventually(t, "evicting "+name, func(ctx context.Context) (bool, error) {
			d := look(ctx)
			return len(d.Evict) == 1 && d.Evict[0].Pod.Name == name, nil
		})
		waits("detaching "+name, drain.ReasonDetaching)
		statefulPod(t, c, namespace, elsewhere.Name, name, name) // the controller makes it again
		detached(t, c, attachments[name])
		if i < 2 {
			waits("attaching "+name, drain.ReasonReattaching)
			attach(t, c, namespace+"-"+name, elsewhere.Name)
		}
	}
	eventually(t, "done", func(ctx context.Context) (bool, error) { return look(ctx).Done, nil })
}

// T14 of the Gardener notes on a real API server: attachments of an unreachable
// node are deleted with its pods, and those that their driver holds are not
// waited for.
func TestAttachmentsOfUnreachableNodeOnRealServer(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Now())
	c, _ := realCluster(t, clk)
	namespace := devplanetest.Namespace(t)
	n := createNode(t, c, node("silent-"+namespace))
	bound(t, c, namespace, "db-0")
	statefulPod(t, c, namespace, n.Name, "db-0", "db-0")
	a := attach(t, c, namespace+"-db-0", n.Name)
	policy := volumesCount
	eventually(t, "waiting for the volume", func(ctx context.Context) (bool, error) {
		d, err := c.Drain(ctx, n, policy)
		return strings.Contains(d.Message, "is being detached"), err
	})
	policy.Force, policy.NodeUnreachable = true, true
	eventually(t, "done", func(ctx context.Context) (bool, error) {
		clk.SetTime(clk.Now().Add(time.Second))
		d, err := c.Drain(ctx, n, policy)
		return d.Done, err
	})
	var now storagev1.VolumeAttachment
	if err := c.Live.Get(t.Context(), client.ObjectKeyFromObject(a), &now); err != nil || now.DeletionTimestamp == nil {
		t.Errorf("the attachment was not asked to go: %v, %v", now.DeletionTimestamp, err)
	}
}
