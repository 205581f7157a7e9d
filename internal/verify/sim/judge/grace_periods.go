package judge

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// silentPatience is for how long a kubelet may be silent before the pods that it was asked to end have only a moment left.
const silentPatience = 3 * time.Minute

// gracePeriods are what pods are given to end.
type gracePeriods struct{ j *Judge }

// judge judges, once the faults have stopped and controllers have done all that they can do now, that no drain waits out what a
// pod was given to end where its kubelet is silent: nothing will say that it has ended.
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

// silent reports whether nothing has been heard of the node's kubelet for long.
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
			j.Broken(NotHeld, "machine %s waits %v more for pod %s, and nothing is heard of node %s", m.GetName(), left, pod.Name, n.Name)
		}
	}
}
