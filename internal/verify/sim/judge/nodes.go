package judge

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// The marks by which a node names its machine.
const (
	machineMark  = "machine.openshift.io/machine"
	machineLabel = "node.gardener.cloud/machine-name"
)

// instanceOfNode is the instance whose kubelet made the node; false: nobody knows.
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

// hostile reports whether a hostile kubelet made the node. What that says of itself
// may cost its own machine its place, but no other anything.
func (j *Judge) hostile(n *corev1.Node) bool {
	i, made := j.instanceOfNode(n)
	return made && i.Hostile
}

// disowned reports whether the node says that it is of another machine than that of i.
func disowned(n *corev1.Node, i Instance) bool {
	key, label := n.Annotations[machineMark], n.Labels[machineLabel]
	return key != "" && key != i.Namespace+"/"+i.Name || label != "" && label != i.Name || n.Spec.ProviderID == ""
}

// keepsUnneededFinalizer reports whether a finalizer is on the node that only machines of another
// API than its own know, one of which had taken it by its name.
func keepsUnneededFinalizer(n *corev1.Node, all []machine) bool {
	return slices.Contains(n.Finalizers, v1alpha1.FinalizerNode) && !slices.ContainsFunc(all, func(m machine) bool {
		another := m.provider != "" && n.Spec.ProviderID != "" && !sameID(m.provider, n.Spec.ProviderID)
		return heals(m) && m.node == n.Name && !another
	})
}

// distinguishable reports whether anybody who looks after m could know that the node of i is not
// m's: one listing shows i beside m's own instance, and these are foretold other names. No
// listing shows i once it has gone: then only the name that is foretold for m's own can tell.
func (j *Judge) distinguishable(m machine, i Instance) bool {
	if !i.Foretold && !i.Exists(j.Now()) {
		return false
	}
	return !slices.ContainsFunc(j.existing(string(m.GetUID())), func(own Instance) bool { return own.Place != i.Place || own.NodeName == i.NodeName })
}

// judgeOwnNode judges that a machine runs on the node that its own instance made,
// whatever other nodes say of themselves. A name may have been foretold while another
// node still has it: only a machine that runs has taken the node for its own.
func (j *Judge) judgeOwnNode(old, now machine) {
	n := j.node(now.node)
	if !now.running || old.running && old.node == now.node || n == nil {
		return
	}
	if i, made := j.instanceOfNode(n); made && i.UID != string(now.GetUID()) && i.Hostile && j.distinguishable(now, i) {
		j.Broken(OwnNode, "machine %s runs on node %s, which instance %s of %s made", now.GetName(), n.Name, i.ID, i.Name)
	}
}

// mostBytes is how large an object of ours may become: twice what forty conditions, a
// hundred addresses and the words of an infrastructure come to.
const mostBytes = 100 << 10

// judgeSize judges that what is written to an object of ours has bounds.
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
