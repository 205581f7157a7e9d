package sim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// mayRegister reports whether a kubelet can register: no Node of its name exists, or the Node belonged to an instance that
// does not exist any more.
func (w *World) mayRegister(k *kubelet) bool {
	n := w.node(k.on.Host)
	return n == nil || w.leftBy(n) != nil
}

// leftBy returns the former kubelet of the Node, whose instance does not exist any more; nil if the Node has no such kubelet. A Node with a
// provider ID stays the Node of that instance, whichever kubelet reports to it: here the new kubelet waits until users have
// deleted the Node. If kubelets need certificates, no kubelet gets one for an existing Node. Users delete the Nodes that
// hostile kubelets leave.
func (w *World) leftBy(n *corev1.Node) *kubelet {
	if w.profile.certified || n.DeletionTimestamp != nil || n.Spec.ProviderID != "" {
		return nil
	}
	for _, i := range w.cloud.Machines() {
		if k := w.kubelets[i.ID]; k != nil && k.made == n.UID && !k.hostile && !i.Exists(w.now) {
			return k
		}
	}
	return nil
}

// takeOn has a registering kubelet take over an existing Node of its name, with all its metadata. The kubelet
// reports its own status there and corrects the topology labels. The cloud controller manager sets the provider
// ID.
func (w *World) takeOn(k *kubelet, n *corev1.Node) {
	was := w.leftBy(n)
	w.tracef("kubelet", "%s takes on node %s, which instance %s has left", k.on.Name, n.Name, was.on.ID)
	was.made, k.made, k.joined, k.took = "", n.UID, true, true
	w.edit(n, "", func(o client.Object) { w.place(k, o.(*corev1.Node)) })
	w.edit(w.node(n.Name), "status", func(o client.Object) {
		s := &o.(*corev1.Node).Status
		s.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: k.on.IP}}
		setReady(o.(*corev1.Node), w.readyCondition(corev1.ConditionFalse))
	})
	w.affectByImage(k)
}

// shown is the Node that other clients can attribute to the kubelet. They can attribute a Node that the kubelet took over
// only after the Node shows the provider ID of the kubelet's instance.
func (w *World) shown(k *kubelet) types.UID {
	if !k.took {
		return k.made
	}
	if n := w.nodeOf(k); n != nil && n.Spec.ProviderID == "" {
		return ""
	}
	return k.made
}
