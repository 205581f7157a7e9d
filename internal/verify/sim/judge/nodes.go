package judge

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// The annotation and label by which a node names its machine.
const (
	machineMark  = "machine.openshift.io/machine"
	machineLabel = "node.gardener.cloud/machine-name"
)

// instanceOfNode returns the instance whose kubelet registered the node; false: it is unknown.
func (j *Judge) instanceOfNode(n *corev1.Node) (Instance, bool) {
	if n == nil {
		return Instance{}, false
	}
	all := j.Instances()
	i := slices.IndexFunc(all, func(i Instance) bool { return i.Node == n.UID })
	if i < 0 {
		return Instance{}, false
	}
	return all[i], true
}

// hostile reports whether a hostile kubelet registered the node. False statements in the node may harm the kubelet's own
// machine, but no other machine.
func (j *Judge) hostile(n *corev1.Node) bool {
	i, made := j.instanceOfNode(n)
	return made && i.Hostile
}

// disowned reports whether the node names another machine than that of i.
func disowned(n *corev1.Node, i Instance) bool {
	key, label := n.Annotations[machineMark], n.Labels[machineLabel]
	return key != "" && key != i.Namespace+"/"+i.Name || label != "" && label != i.Name || n.Spec.ProviderID == ""
}

// keepsUnneededFinalizer reports whether the node has a finalizer of the other API, because a machine of that API had
// matched the node by name.
func keepsUnneededFinalizer(n *corev1.Node, all []machine) bool {
	return slices.Contains(n.Finalizers, v1alpha1.FinalizerNode) && !slices.ContainsFunc(all, func(m machine) bool {
		another := m.provider != "" && n.Spec.ProviderID != "" && !sameID(m.provider, n.Spec.ProviderID)
		return heals(m) && m.node == n.Name && !another
	})
}

// distinguishable reports whether a controller of m can know that the node of i does not belong to m: one listing shows
// both i and m's own instance, and the cloud predicts different node names for them. No listing shows a terminated
// instance i: then only the predicted name of m's own instance shows the difference.
func (j *Judge) distinguishable(m machine, i Instance) bool {
	if !i.Foretold && !i.Exists(j.Now()) {
		return false
	}
	return !slices.ContainsFunc(j.existing(string(m.GetUID())), func(own Instance) bool { return own.Place != i.Place || own.NodeName == i.NodeName })
}

// judgeOwnNode judges that a machine runs on the node of its own instance, whatever other nodes state. A machine that does
// not run may still have the predicted name, which may belong to another node.
func (j *Judge) judgeOwnNode(old, now machine) {
	n := j.node(now.node)
	if !now.running || old.running && old.node == now.node || n == nil {
		return
	}
	if i, made := j.instanceOfNode(n); made && i.UID != string(now.GetUID()) && i.Hostile && j.distinguishable(now, i) {
		j.Broken(OwnNode, "machine %s runs on node %s, which instance %s of %s made", now.GetName(), n.Name, i.ID, i.Name)
	}
}

// mostBytes bounds the size of our objects: twice the size of forty conditions, a hundred addresses and the messages of a
// cloud.
const mostBytes = 100 << 10

// judgeSize judges that writes to our objects are bounded.
func (j *Judge) judgeSize(o client.Object) {
	if !j.Hostile || o == nil {
		return
	}
	ours := j.of(o, func(a API) client.Object { return a.Deployment }) || j.asCheck(o) != nil
	if !ours && !j.isMachine(o) && !j.isSet(o) {
		return
	}
	if raw, err := json.Marshal(o); err != nil || len(raw) > mostBytes {
		j.Broken(Bounded, "%T %s has %d bytes (%v)", o, o.GetName(), len(raw), err)
	}
}
