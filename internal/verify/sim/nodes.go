package sim

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
)

// unknownAfter is how long the cluster waits for a silent kubelet.
const unknownAfter = 40 * time.Second

// kubelet is the agent on an instance.
type kubelet struct {
	on     *cloud.Machine
	joined bool
	// made is the UID of the node that the kubelet created or took over.
	made types.UID
	took bool
	// never: it will not join. stalled is the end of its silence, seen the time of its last report.
	never   bool
	decided bool
	stalled time.Time
	seen    time.Time
	// failure is its present failure.
	failure nodeFailure
	// hostile: an attacker controls it.
	hostile bool
	// certificate is its certificate, in worlds in which kubelets need one.
	certificate certificate
}

func (w *World) kubelet(i *cloud.Machine) *kubelet {
	k := w.kubelets[i.ID]
	if k == nil {
		k = &kubelet{on: i}
		w.kubelets[i.ID] = k
	}
	if w.alive(k) {
		k.seen = w.now
	}
	return k
}

func (w *World) alive(k *kubelet) bool {
	return k.on.Runs(w.now) && !w.now.Before(k.stalled) && !w.severed() && !w.mute(k)
}

// stepNode is one action of a kubelet, or of the cluster, on a node.
func (w *World) stepNode() {
	if i, ok := pick(w, w.cloud.Existing("")); ok && w.kubelet(i).joined && w.chance(10) && w.faulty(nodeStalls) {
		w.kubelet(i).stalled = w.now.Add(time.Duration(w.between(10, 1500)) * time.Second)
		w.tracef("kubelet", "%s falls silent", i.Name)
		return
	}
	if do, ok := pick(w, w.nodeActions()); ok {
		do()
	}
}

// nodeActions are all possible actions on nodes.
func (w *World) nodeActions() (out []func()) {
	out = slices.Concat(w.agentActions(), w.hostileNodeCleanups(), w.repairActions(), w.restartActions(), w.requestActions())
	for _, i := range w.cloud.Machines() {
		k := w.kubelet(i)
		n := w.nodeOf(k)
		switch {
		case !k.joined && w.alive(k) && !k.never && w.mayRegister(k):
			out = append(out, w.joinActions(k)...)
		case n != nil && w.alive(k) && ready(n) != w.readyStatus(k):
			out = append(out, func() { w.report(n, w.readyStatus(k)) })
		case n != nil && !w.alive(k) && ready(n) != corev1.ConditionUnknown && !w.now.Before(k.seen.Add(unknownAfter)):
			out = append(out, func() { w.report(n, corev1.ConditionUnknown) })
		case n != nil && n.DeletionTimestamp == nil && !i.Exists(w.now) && ready(n) == corev1.ConditionUnknown && cloudController{w}.deletes(i, n):
			out = append(out, func() {
				w.tracef("cloud controller", "deletes node %s, whose instance does not exist", n.Name)
				w.must("delete a node", w.target.Delete(n, client.DeleteOptions{}))
			})
		case n != nil && w.alive(k) && slices.ContainsFunc(n.Spec.Taints, critical):
			out = append(out, func() {
				w.tracef("resource manager", "node %s has its critical components", n.Name)
				w.edit(n, "", func(o client.Object) {
					spec := &o.(*corev1.Node).Spec
					spec.Taints = slices.DeleteFunc(spec.Taints, critical)
				})
			})
		case n != nil && n.Spec.ProviderID == "" && w.alive(k):
			out = append(out, func() {
				w.edit(n, "", func(o client.Object) { o.(*corev1.Node).Spec.ProviderID = w.spelled(i) })
			})
		}
	}
	return out
}

// critical reports the taint of a node that was updated in place. The node has it until its critical components run again.
func critical(t corev1.Taint) bool { return t.Key == v1alpha1.TaintKeyCriticalComponentsNotReady }

// known reports whether a machine has recorded the instance.
func (w *World) known(i *cloud.Machine) bool {
	m := w.machineOf(w.uidOf(i))
	return m != nil && w.of(m).view(m).Recorded.ProviderID == i.ProviderID()
}

// cloudController is the cloud controller manager. It leaves nodes to the machine controllers as long as these know them.
type cloudController struct{ w *World }

// deletes reports whether the node n of an instance that does not exist is deleted now: no machine will delete it, or a new instance
// needs its name to join.
func (c cloudController) deletes(i *cloud.Machine, n *corev1.Node) bool {
	w := c.w
	if !w.known(i) && (!marked(n) || w.lost(i) || w.judge.Hurried(w.uidOf(i))) {
		return true
	}
	return slices.ContainsFunc(w.cloud.Existing(""), func(i *cloud.Machine) bool {
		k := w.kubelet(i)
		return i.Host == n.Name && w.alive(k) && !k.joined && !k.never && !w.mayRegister(k)
	})
}

// lost reports whether the machine of i was lost, or was deleted after a restore from a backup: the restored machine may not
// have known i, or may have had no finalizer.
func (w *World) lost(i *cloud.Machine) bool {
	back := w.profile.recreates || w.backups.restored > 0
	return !w.losses.since[w.uidOf(i)].IsZero() || back && w.machineOf(w.uidOf(i)) == nil
}

// marked reports whether a machine has marked the node as its own. A foreign finalizer is no such mark.
func marked(n *corev1.Node) bool {
	ours := func(f string) bool { return f != foreign }
	return slices.ContainsFunc(n.Finalizers, ours) || n.Annotations[node.MachineAnnotation] != "" || n.Labels[node.MachineNameLabel] != ""
}

// nodeOf returns the node that the kubelet registered, or nil if that does not exist.
func (w *World) nodeOf(k *kubelet) *corev1.Node {
	n := w.node(k.on.Host)
	if !k.joined || n == nil || n.UID != k.made {
		return nil
	}
	return n
}

// nodeTimes are the times at which nodes change without an action.
func (w *World) nodeTimes() (out []time.Time) {
	for _, i := range w.cloud.Machines() {
		k := w.kubelet(i)
		n := w.nodeOf(k)
		if n == nil {
			out = append(out, k.certificate.again)
			continue
		}
		out = append(out, k.stalled, k.failure.next(w.now))
		if !w.alive(k) && ready(n) != corev1.ConditionUnknown {
			out = append(out, k.seen.Add(unknownAfter))
		}
	}
	return out
}

// join registers the node, if the kubelet gets that far.
func (w *World) join(k *kubelet) {
	if !k.decided {
		k.decided, k.never = true, w.faulty(neverJoins) || hazardEffects{w}.unfit(k) || w.profile.permanent == joinless && w.profile.affects(k.on.Name)
		if k.never {
			w.tracef("kubelet", "%s will never join", k.on.Name)
			return
		}
	}
	if k.made == "" && !w.profile.certified && !w.tokenValid(k) {
		k.never = true
		return
	}
	if n := w.node(k.on.Host); n != nil {
		w.takeOn(k, n)
		return
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.on.Host}}
	if !w.profile.ccm {
		n.Spec.ProviderID = w.spelled(k.on)
	}
	w.place(k, n)
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: k.on.IP}}
	n.Status.Conditions = []corev1.NodeCondition{w.readyCondition(corev1.ConditionFalse)}
	w.falseRegistration(k, n)
	made, err := w.target.Create(n)
	w.must("join", err)
	k.joined, k.made, k.took = true, made.GetUID(), false
	w.affectByImage(k)
	w.tracef("kubelet", "%s joins", k.on.Name)
	w.daemon(k.on.Host)
}

// tokenValid reports whether the API server accepts the bootstrap token in the instance's user data.
func (w *World) tokenValid(k *kubelet) bool {
	token, ok := strings.CutPrefix(string(k.on.UserData), "token=")
	if !ok {
		return true
	}
	id, secret, _ := strings.Cut(token, ".")
	s, _ := w.target.Lookup(&corev1.Secret{}, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + id}).(*corev1.Secret)
	if s == nil {
		if !k.certificate.revoked {
			w.judge.TokenGone(w.instance(k.on), id)
		}
		return false
	}
	expires, err := time.Parse(time.RFC3339, string(s.Data["expiration"]))
	return err == nil && string(s.Data["token-secret"]) == secret && w.now.Before(expires)
}

func (w *World) report(n *corev1.Node, status corev1.ConditionStatus) {
	w.tracef("cluster", "node %s: Ready=%s", n.Name, status)
	w.edit(n, "status", func(o client.Object) {
		setReady(o.(*corev1.Node), w.readyCondition(status))
	})
}

// setReady keeps all other conditions, as kubelets and the node lifecycle controller do.
func setReady(n *corev1.Node, c corev1.NodeCondition) {
	others := slices.DeleteFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	n.Status.Conditions = append(others, c)
}

func (w *World) readyCondition(status corev1.ConditionStatus) corev1.NodeCondition {
	now := metav1.NewTime(w.now.Truncate(time.Second))
	return corev1.NodeCondition{Type: corev1.NodeReady, Status: status, Reason: "Simulated", LastHeartbeatTime: now, LastTransitionTime: now}
}

func ready(n *corev1.Node) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}

func nodeReady(n *corev1.Node) bool { return n != nil && ready(n) == corev1.ConditionTrue }

// daemon creates a pod of a DaemonSet on the node.
func (w *World) daemon(nodeName string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: appSpace, GenerateName: "daemon-",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "daemon", UID: "daemon", Controller: ptr.To(true)}},
	}}
	pod.Spec.NodeName = nodeName
	_, err := w.target.Create(pod)
	w.must("start daemon", err)
}
