package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// databases is the number of pods with a volume each, as in a StatefulSet: a pod is recreated under its name, and its volume
// follows it.
const databases = 3

const (
	driver   = "sim.csi"
	attacher = "external-attacher/sim-csi"
	// unmountTime is how long the cluster waits for a silent kubelet to unmount a volume.
	unmountTime = 6 * time.Minute
)

// volumes is the state of attachments.
type volumes struct {
	// due is the time at which the attacher finishes an attachment, by the attachment's name.
	due map[string]time.Time
}

func podName(n int) string    { return fmt.Sprint("db-", n) }
func volumeName(n int) string { return fmt.Sprint("volume-", n) }
func claimName(n int) string  { return "data-" + podName(n) }

func volumeID(n int) corev1.AttachedVolume {
	return corev1.AttachedVolume{Name: corev1.UniqueVolumeName("kubernetes.io/csi/" + driver + "^" + volumeName(n))}
}

// beginVolumes creates the volumes and their claims.
func (w *World) beginVolumes() {
	w.volumes = volumes{due: map[string]time.Time{}}
	for n := range w.databases() {
		pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volumeName(n)}}
		pv.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: appSpace, Name: claimName(n)}
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: volumeName(n)}
		pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: appSpace, Name: claimName(n)}}
		pvc.Spec.VolumeName = volumeName(n)
		for _, o := range []client.Object{pv, pvc} {
			_, err := w.target.Create(o)
			w.must("make a volume", err)
		}
	}
}

func (w *World) databases() int {
	if w.profile.volumes {
		return databases
	}
	return 0
}

// volumeActions are the possible actions on pods with volumes, and on their volumes.
func (w *World) volumeActions() (out []func()) {
	for n := range w.databases() {
		pod := w.database(n)
		switch home := w.attachment(n); {
		case pod == nil:
			if to := w.roomyNode(); to != nil {
				out = append(out, func() { w.startDatabase(n, to.Name) })
			}
			if home != nil {
				out = append(out, w.detach(n, home)...)
			}
		case home == nil && pod.DeletionTimestamp == nil && w.node(pod.Spec.NodeName) != nil:
			out = append(out, func() { w.attach(n, pod.Spec.NodeName) })
		case home == nil:
		case home.Spec.NodeName != pod.Spec.NodeName || home.DeletionTimestamp != nil:
			out = append(out, w.detach(n, home)...)
		case !home.Status.Attached && !w.now.Before(w.volumes.due[home.Name]):
			out = append(out, func() { w.attached(n, home, pod) })
		}
	}
	return out
}

func (w *World) database(n int) *corev1.Pod {
	pod, _ := w.target.Lookup(&corev1.Pod{}, client.ObjectKey{Namespace: appSpace, Name: podName(n)}).(*corev1.Pod)
	return pod
}

// attachment returns the attachment of volume n, to any node; nil if it is not attached.
func (w *World) attachment(n int) *storagev1.VolumeAttachment {
	for _, a := range objects(w, &storagev1.VolumeAttachment{}) {
		if ptr.Deref(a.Spec.Source.PersistentVolumeName, "") == volumeName(n) {
			return a
		}
	}
	return nil
}

func (w *World) startDatabase(n int, nodeName string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: appSpace, Name: podName(n)}}
	pod.Spec.NodeName = nodeName
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(n)},
	}}}
	pod.Status.Phase = corev1.PodPending
	o, err := w.target.Create(pod)
	w.must("start a pod", err)
	w.tracef("scheduler", "pod %s on node %s", o.GetName(), nodeName)
}

func (w *World) attach(n int, nodeName string) {
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{GenerateName: volumeName(n) + "-", Finalizers: []string{attacher}}}
	a.Spec = storagev1.VolumeAttachmentSpec{
		Attacher: driver, NodeName: nodeName, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To(volumeName(n))},
	}
	o, err := w.target.Create(a)
	w.must("attach a volume", err)
	w.volumes.due[o.GetName()] = w.now.Add(w.profile.attach)
	w.tracef("attacher", "attaches %s to node %s", volumeName(n), nodeName)
}

func (w *World) attached(n int, a *storagev1.VolumeAttachment, pod *corev1.Pod) {
	w.tracef("attacher", "%s is attached to node %s", volumeName(n), a.Spec.NodeName)
	w.edit(a, "", func(o client.Object) { o.(*storagev1.VolumeAttachment).Status.Attached = true })
	w.listVolume(n, a.Spec.NodeName, true)
	w.edit(pod, "status", func(o client.Object) { o.(*corev1.Pod).Status.Phase = corev1.PodRunning })
}

// listVolume writes to the node's status whether it has the volume.
func (w *World) listVolume(n int, nodeName string, there bool) {
	if on := w.node(nodeName); on != nil {
		w.edit(on, "status", func(o client.Object) {
			st := &o.(*corev1.Node).Status
			st.VolumesAttached = slices.DeleteFunc(st.VolumesAttached, func(v corev1.AttachedVolume) bool { return v.Name == volumeID(n).Name })
			if there {
				st.VolumesAttached = append(st.VolumesAttached, volumeID(n))
			}
		})
	}
}

// detach returns the steps that detach a volume from a node on which no pod uses it.
func (w *World) detach(n int, a *storagev1.VolumeAttachment) []func() {
	if a.DeletionTimestamp == nil {
		return []func(){func() {
			wait := w.profile.attach
			if on := w.node(a.Spec.NodeName); on != nil && !w.kubeletLives(on) {
				wait = unmountTime
			}
			w.volumes.due[a.Name] = w.now.Add(wait)
			w.tracef("attacher", "detaches %s from node %s", volumeName(n), a.Spec.NodeName)
			w.must("detach a volume", w.target.Delete(a, client.DeleteOptions{}))
		}}
	}
	if w.now.Before(w.volumes.due[a.Name]) {
		return nil
	}
	return []func(){func() {
		w.tracef("attacher", "%s is detached from node %s", volumeName(n), a.Spec.NodeName)
		w.listVolume(n, a.Spec.NodeName, false)
		delete(w.volumes.due, a.Name)
		w.edit(a, "", func(o client.Object) { o.SetFinalizers(nil) })
	}}
}
