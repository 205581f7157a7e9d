package sim

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodeDeletionProfile is a world in which all nodes are deleted at once, as when the target cluster is set up again. They
// return when the kubelets restart.
type nodeDeletionProfile struct {
	// deletesAllNodes: that happens often. Only settings have it. Seeds do not draw it, so that their worlds do not change.
	deletesAllNodes bool
}

// deleteAllNodes deletes all nodes, or restarts the kubelets that have none.
func (w *World) deleteAllNodes() {
	if w.reregisterNodes() {
		return
	}
	for _, n := range objects(w, &corev1.Node{}) {
		w.must("delete a node", w.target.Delete(n, client.DeleteOptions{}))
	}
	w.does("deletes all nodes")
}

// reregisterNodes restarts the kubelets whose nodes do not exist, and reports whether there were such kubelets.
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
