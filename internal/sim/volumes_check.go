package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/drain"
	"github.com/millwright-dev/millwright/internal/sim/store"
)

// judgePod judges that a pod is sent off its node.
func (p *process) judgePod(c store.Call, old, now client.Object, before snapshot) {
	w := p.w
	pod, ok := old.(*corev1.Pod)
	if !ok || c.Kind.Kind != "Pod" || pod.DeletionTimestamp != nil || now != nil && now.GetDeletionTimestamp() == nil || len(drain.Claims(pod)) == 0 {
		return
	}
	p.evicted[pod.UID] = true
	policy := w.inTurn(pod.Spec.NodeName, before.at)
	if policy == nil || w.belated {
		return
	}
	timeout := p.shorter(policy.DetachTimeout)
	for n := range w.databases() {
		other := w.database(n)
		if other == nil || other.UID == pod.UID || other.Spec.NodeName != pod.Spec.NodeName || other.DeletionTimestamp == nil {
			continue
		}
		// What another process asked for this one may not have seen.
		if p.evicted[other.UID] && w.now.Before(other.DeletionTimestamp.Add(timeout)) {
			w.broken(VolumesInTurn, "pod %s was sent off node %s while pod %s is on its way", pod.Name, pod.Spec.NodeName, other.Name)
		}
	}
	if name := w.leftBehind(pod.Spec.NodeName, before.at, timeout); name != "" {
		w.broken(VolumesInTurn, "pod %s was sent off node %s while %s is still attached to it", pod.Name, pod.Spec.NodeName, name)
	}
}

// shorter is what a timeout that began by others' clocks may be for the process.
func (p *process) shorter(timeout time.Duration) time.Duration { return timeout - max(0, p.skew) }

// inTurn is the policy by which volumes leave the node one after another; nil
// where they need not: in the other dialect, by force, or where the node was
// not ready a moment before the pass that began at since.
func (w *World) inTurn(nodeName string, since time.Time) *drain.Policy {
	m, n := w.store.Lookup(w.tells.machine, client.ObjectKey{Namespace: namespace, Name: nodeName}), w.node(nodeName)
	if m == nil || n == nil || w.users.hurried[string(m.GetUID())] || !nodeReady(n) {
		return nil
	}
	policy := w.tells.policy(m)
	forced := m.GetDeletionTimestamp() != nil && w.now.Sub(m.GetDeletionTimestamp().Time) >= policy.DrainTimeout
	recovered := n.Status.Conditions[0].LastTransitionTime.Add(time.Second + w.is.viewLag + 2*w.is.skew) // by what clock ever
	if !policy.Drain.VolumesOneByOne || forced || !recovered.Before(since) {
		return nil
	}
	return &policy.Drain
}

// leftBehind names a volume that is attached to the node although its pod has
// left, so long before the pass began at since that every cache shows both, and
// not so long ago that it is waited for no more.
func (w *World) leftBehind(nodeName string, since time.Time, timeout time.Duration) string {
	for n := range w.databases() {
		left, gone := w.volumes.left[volumeName(n)+"/"+nodeName]
		a, pod := w.attachment(n), w.database(n)
		if !gone || a == nil || a.Spec.NodeName != nodeName || pod != nil && pod.Spec.NodeName == nodeName {
			continue
		}
		known := left.Add(w.is.viewLag).Before(since) && a.CreationTimestamp.Add(time.Second+w.is.viewLag).Before(since)
		if known && w.now.Sub(left) < timeout && w.watched(a.CreationTimestamp.Time) == w.now.Sub(a.CreationTimestamp.Time) {
			return a.Name
		}
	}
	return ""
}
