package sim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// appSize is the number of pods of each workload.
const appSize = 2

// stepPod is one action on a pod.
func (w *World) stepPod() {
	if do, ok := pick(w, w.podActions()); ok {
		do()
	}
}

// podActions are the possible actions on pods. A pod is created if a node has room, ends if a kubelet ends it, and is
// deleted with its node.
func (w *World) podActions() (out []func()) {
	counts := map[string]int{}
	for _, pod := range objects(w, &corev1.Pod{}) {
		n := w.node(pod.Spec.NodeName)
		switch {
		case ended(pod):
		case n == nil, pod.DeletionTimestamp != nil && w.kubeletLives(n):
			out = append(out, func() { w.removePod(pod) })
		case pod.DeletionTimestamp == nil:
			counts[pod.Labels["app"]]++
		}
	}
	for i := range w.profile.apps {
		app := fmt.Sprint("app", i)
		if n := w.roomyNode(); n != nil && counts[app] < appSize {
			out = append(out, func() { w.startPod(app, n.Name) })
		}
	}
	for _, b := range objects(w, &policyv1.PodDisruptionBudget{}) {
		if counted := w.target.Count(b); counted != nil {
			out = append(out, func() { w.count(counted) })
		}
	}
	return append(out, w.volumeActions()...)
}

func (w *World) count(b *policyv1.PodDisruptionBudget) {
	w.tracef("cluster", "budget %s allows %d", b.Name, b.Status.DisruptionsAllowed)
	w.edit(b, "status", func(client.Object) {})
}

func (w *World) kubeletLives(n *corev1.Node) bool {
	for _, i := range w.cloud.Existing("") {
		if k := w.kubelet(i); w.nodeOf(k) != nil && i.Host == n.Name {
			return w.alive(k)
		}
	}
	return false
}

// roomyNode returns a node that accepts new pods; nil if none exists.
func (w *World) roomyNode() *corev1.Node {
	var fit []*corev1.Node
	for _, n := range objects(w, &corev1.Node{}) {
		if !n.Spec.Unschedulable && n.DeletionTimestamp == nil && nodeReady(n) {
			fit = append(fit, n)
		}
	}
	n, _ := pick(w, fit)
	return n
}

func (w *World) startPod(app, nodeName string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: appSpace, GenerateName: app + "-", Labels: map[string]string{"app": app},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(app), Controller: ptr.To(true)}},
	}}
	pod.Spec.NodeName = nodeName
	pod.Status.Phase = corev1.PodRunning
	if w.profile.hazard == silentDrains {
		pod.Spec.TerminationGracePeriodSeconds = ptr.To(int64(longGrace / time.Second))
	}
	o, err := w.target.Create(pod)
	w.must("start a pod", err)
	w.tracef("scheduler", "pod %s on node %s", o.GetName(), nodeName)
}

func (w *World) removePod(pod *corev1.Pod) {
	w.tracef("cluster", "pod %s ends", pod.Name)
	w.must("remove a pod", w.target.Delete(pod, client.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}))
}

// budget gives a workload a PodDisruptionBudget; a strict one never allows an eviction.
func (w *World) budget(app string, strict bool) {
	least := appSize - 1
	if strict {
		least = appSize
	}
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: appSpace, Name: app}}
	b.Spec.MinAvailable = ptr.To(intstr.FromInt32(int32(least)))
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	_, err := w.target.Create(b)
	w.must("make a budget", err)
}
