package sim

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodeDeletionProfile is a world in which all nodes go at once, as when the cluster that machines
// join is set up anew, and come back when the kubelets are restarted.
type nodeDeletionProfile struct {
	// clears: that happens often. No seed draws it: seeds mean what they meant, and
	// settings have it.
	deletesAllNodes bool
}

// deleteAllNodes deletes all nodes, or brings back those of kubelets that have none.
func (w *World) deleteAllNodes() {
	if w.reregisterNodes() {
		return
	}
	for _, n := range objects(w, &corev1.Node{}) {
		w.must("delete a node", w.target.Delete(n, client.DeleteOptions{}))
	}
	w.does("deletes all nodes")
}

// reregisterNodes lets the kubelets join anew whose nodes are gone; false: there is none.
func (w *World) reregisterNodes() (some bool) {
	if !w.profile.deletesAllNodes && w.profile.hazard != restoredTarget {
		return false
	}
	for _, i := range w.cloud.Existing("") {
		if k := w.kubelet(i); k.joined && w.node(i.Host) == nil {
			k.joined, some = false, true
			w.tracef("kubelet", "%s is restarted", i.Name)
		}
	}
	return some
}
