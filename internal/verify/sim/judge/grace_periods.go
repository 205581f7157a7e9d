package judge

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// silentPatience is how long a kubelet may be silent before a drain stops waiting for its terminating pods.
const silentPatience = 3 * time.Minute

// gracePeriods judges waits for pods' grace periods.
type gracePeriods struct{ j *Judge }

// judge runs after the faults have stopped and controllers have done all that they can do now. It judges that no drain
// waits for the rest of a pod's grace period while the kubelet of the node is silent: no client would report that the
// pod has ended.
func (g gracePeriods) judge() {
	j := g.j
	for _, m := range j.machines() {
		if m.GetDeletionTimestamp() == nil || m.preDrain || m.drained {
			continue
		}
		for _, i := range j.existing(string(m.GetUID())) {
			if n := j.node(i.NodeName); n != nil && n.UID == i.Node && g.silent(n) {
				g.heldBy(m, n)
			}
		}
	}
}

// silent reports whether the node's kubelet has not reported for longer than silentPatience.
func (g gracePeriods) silent(n *corev1.Node) bool {
	j := g.j
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown && j.watched(c.LastTransitionTime.Time) > silentPatience+j.ViewLag
		}
	}
	return false
}

func (g gracePeriods) heldBy(m machine, n *corev1.Node) {
	j := g.j
	for _, o := range j.All(&corev1.Pod{}) {
		pod := o.(*corev1.Pod)
		if pod.Spec.NodeName != n.Name || daemon(pod) || pod.DeletionTimestamp == nil {
			continue
		}
		if left := pod.DeletionTimestamp.Sub(j.Now()); left > silentPatience {
			j.Broken(NotHeld, "machine %s waits %v more for pod %s although the kubelet of node %s is silent", m.GetName(), left, pod.Name, n.Name)
		}
	}
}
