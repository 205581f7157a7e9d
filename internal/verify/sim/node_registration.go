package sim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// mayRegister reports whether nothing keeps a kubelet from having a Node of its name:
// there is none, or one that an instance has left which is gone.
func (w *World) mayRegister(k *kubelet) bool {
	n := w.node(k.on.Host)
	return n == nil || w.leftBy(n) != nil
}

// leftBy is the kubelet that had the Node, whose instance is gone; nil where there is
// none. A Node that shows a provider ID stays that instance's whoever else reports
// there: a kubelet waits here until it is deleted, as people see to. Where kubelets need
// certificates, nobody gets one for a Node that exists; and what a hostile kubelet has
// left people clear away.
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

// takeOn is that a kubelet finds a Node of its name, as it registers: it goes on with
// that one, with whatever is on it, and says there how it is itself. It corrects the
// labels that say where it is. The provider ID is for the cloud's controller to set.
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

// shown is the Node that is the kubelet's for all to see: one that it took on is not
// before that shows the provider ID of its instance.
func (w *World) shown(k *kubelet) types.UID {
	if !k.took {
		return k.made
	}
	if n := w.nodeOf(k); n != nil && n.Spec.ProviderID == "" {
		return ""
	}
	return k.made
}
