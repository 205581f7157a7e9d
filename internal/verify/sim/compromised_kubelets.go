package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
)

// compromisedProfile says what compromised kubelets do. Most worlds have no such kubelet.
type compromisedProfile struct {
	// hostile: an attacker controls some kubelets and writes to their Nodes what NodeRestriction allows. unrestricted:
	// NodeRestriction is off, and the attacker also deletes the Node, creates it again under the same name, and changes its
	// taints.
	hostile, unrestricted bool
	// unforetold: no controller knows the name of a node before it has joined.
	unforetold bool
}

// compromisedSource is the source of random numbers of this profile alone.
const compromisedSource = widerSource + 0x7e11

func (t *compromisedProfile) draw(r *rand.Rand) {
	t.hostile, t.unrestricted, t.unforetold = r.IntN(4) == 0, r.IntN(3) == 0, r.IntN(3) == 0
}

// maxHostile bounds the compromised kubelets: the rest of the world must make progress.
const maxHostile = 2

// compromiseActions are the attacker's actions.
func (w *World) compromiseActions() []func() {
	if !w.profile.hostile {
		return nil
	}
	return []func(){w.compromiseKubelet, w.compromiseKubelet, w.writeFalseNode, w.writeFalseNode, w.writeFalseNode}
}

func (w *World) hostileKubelets() (out []*kubelet) {
	for _, i := range w.cloud.Existing("") {
		if k := w.kubelet(i); k.hostile {
			out = append(out, k)
		}
	}
	return out
}

// compromiseKubelet gives the attacker the kubelet of a machine, before or after it has joined.
func (w *World) compromiseKubelet() {
	if len(w.hostileKubelets()) >= maxHostile {
		return
	}
	var fit []*kubelet
	for _, i := range w.cloud.Existing("") {
		if k := w.kubelet(i); w.machineOf(w.uidOf(i)) != nil && !k.never && !k.hostile {
			fit = append(fit, k)
		}
	}
	if k, ok := pick(w, fit); ok {
		k.hostile = true
		w.tracef("intruder", "TAKES OVER the kubelet of %s, joined %v", k.on.Name, k.joined)
	}
}

// writeFalseNode has a hostile kubelet write to its Node.
func (w *World) writeFalseNode() {
	k, ok := pick(w, w.hostileKubelets())
	if !ok {
		return
	}
	n := w.nodeOf(k)
	if n == nil || !w.alive(k) {
		return
	}
	if w.profile.unrestricted && w.chance(20) {
		w.recreateNode(k, n)
		return
	}
	writes, part := w.falseMetadata(k), ""
	if w.chance(50) {
		writes, part = w.falseStatus(k), "status"
	}
	falseWrite, _ := pick(w, writes)
	w.edit(n, part, func(o client.Object) { falseWrite.apply(o.(*corev1.Node)) })
	w.tracef("intruder", "on %s: %s", n.Name, falseWrite.what)
}

// falseWrite is one false statement in a Node.
type falseWrite struct {
	what  string
	apply func(*corev1.Node)
}

// otherInstance returns an instance of another machine than that of k, or k's own instance if there is no other.
func (w *World) otherInstance(k *kubelet) *cloud.Machine {
	var fit []*cloud.Machine
	for _, i := range w.cloud.Existing("") {
		if i.UID != k.on.UID && i.UID != "" && !w.kubelet(i).hostile {
			fit = append(fit, i)
		}
	}
	if i, ok := pick(w, fit); ok {
		return i
	}
	return k.on
}

// falseMetadata returns false statements in a Node's metadata and spec.
func (w *World) falseMetadata(k *kubelet) []falseWrite {
	v, n := w.otherInstance(k), w.between(1, 9)
	annotate := func(key, value string) falseWrite {
		return falseWrite{fmt.Sprintf("annotation %s=%.40s", key, value), func(o *corev1.Node) { metav1.SetMetaDataAnnotation(&o.ObjectMeta, key, value) }}
	}
	label := func(key, value string) falseWrite {
		return falseWrite{fmt.Sprintf("label %s=%s", key, value), func(o *corev1.Node) { metav1.SetMetaDataLabel(&o.ObjectMeta, key, value) }}
	}
	all := []falseWrite{
		annotate(node.MachineAnnotation, namespace+"/"+v.Name),
		label(node.MachineNameLabel, v.Name),
		label(corev1.LabelHostname, v.Host),
		label(corev1.LabelTopologyZone, zones[n%len(zones)]),
		annotate(v1alpha1.AnnotationKeyLastAppliedNodeTemplate, `{"metadata":{"labels":{"kubernetes.io/os":"x","pool":"a"}},"spec":{"taints":[{"key":"pool","effect":"NoSchedule"}]}}`),
		annotate(v1alpha1.AnnotationKeyLastAppliedNodeTemplate, strings.Repeat("[", 1000)),
		annotate(v1alpha1.AnnotationKeyLastAppliedVirtualCapacity, `{"cpu":"1e999999999"}`),
		annotate(v1alpha1.AnnotationKeyNotManaged, v1alpha1.AnnotationValueNotManaged),
		annotate("millwright.dev/"+fmt.Sprint(n), strings.Repeat("much ", 20_000)),
		annotate("kubernetes.io/description", strings.Repeat("much ", 20_000)),
		{"no finalizers", func(o *corev1.Node) { o.Finalizers = nil }},
		{"a finalizer of its own", func(o *corev1.Node) {
			if o.DeletionTimestamp == nil && !slices.Contains(o.Finalizers, hostileFinalizer) {
				o.Finalizers = append(o.Finalizers, hostileFinalizer)
			}
		}},
		{"cordoned, or not", func(o *corev1.Node) { o.Spec.Unschedulable = !o.Spec.Unschedulable }},
		{"none of our marks", func(o *corev1.Node) {
			delete(o.Annotations, node.MachineAnnotation)
			delete(o.Labels, node.MachineNameLabel)
		}},
		{"five hundred labels", func(o *corev1.Node) {
			labels := maps.Clone(o.Labels)
			for i := range 500 {
				metav1.SetMetaDataLabel(&o.ObjectMeta, fmt.Sprintf("l%d", i), "v")
			}
			maps.Copy(o.Labels, labels)
		}},
	}
	if forged := w.spelled(v); w.nodeOf(k).Spec.ProviderID == "" {
		all = append(all, falseWrite{"provider ID " + forged, func(o *corev1.Node) { o.Spec.ProviderID = forged }})
	}
	if w.profile.unrestricted {
		all = append(all, falseWrite{"other taints", func(o *corev1.Node) {
			o.Spec.Taints = []corev1.Taint{{Key: "mine", Effect: corev1.TaintEffectNoExecute}}
		}})
	}
	return all
}

// hostileFinalizer keeps a Node until a user removes it.
const hostileFinalizer = "intruder/keep"

// falseStatus returns false statements in a Node's status.
func (w *World) falseStatus(k *kubelet) []falseWrite {
	v, n := w.otherInstance(k), w.between(1, 9)
	condition := func(t corev1.NodeConditionType, s corev1.ConditionStatus, message string) falseWrite {
		return falseWrite{fmt.Sprintf("condition %s=%s of %d bytes", t, s, len(message)), func(o *corev1.Node) {
			at := metav1.NewTime(w.now.Truncate(time.Second))
			o.Status.Conditions = slices.DeleteFunc(slices.Clone(o.Status.Conditions), func(c corev1.NodeCondition) bool { return c.Type == t })
			o.Status.Conditions = append(o.Status.Conditions, corev1.NodeCondition{
				Type: t, Status: s, Reason: "Lies", Message: message, LastHeartbeatTime: at, LastTransitionTime: at,
			})
		}}
	}
	return []falseWrite{
		{"addresses of " + v.Name, func(o *corev1.Node) {
			o.Status.Addresses = []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: v.IP}, {Type: corev1.NodeHostName, Address: v.Host}, {Type: corev1.NodeInternalDNS, Address: v.Host},
			}
		}},
		{"no addresses", func(o *corev1.Node) { o.Status.Addresses = nil }},
		{"three hundred conditions", func(o *corev1.Node) {
			for i := range 300 { // each with its own words
				c := condition(corev1.NodeConditionType(fmt.Sprintf("X%d", i)), corev1.ConditionFalse, "some words without a limit")
				c.apply(o)
			}
		}},
		condition(corev1.NodeReady, corev1.ConditionFalse, strings.Repeat("much ", 50_000)),
		condition("KernelDeadlock", corev1.ConditionTrue, strings.Repeat("much ", 50_000)),
		condition(corev1.NodeDiskPressure, corev1.ConditionTrue, "full"),
		condition(v1alpha1.NodeTerminating, corev1.ConditionTrue, "going"),
		condition(v1alpha1.NodePreserved, corev1.ConditionTrue, "kept"),
		{"another boot", func(o *corev1.Node) { o.Status.NodeInfo.BootID = fmt.Sprintf("boot-%d", n) }},
		{"endless capacity", func(o *corev1.Node) {
			o.Status.Capacity = corev1.ResourceList{"pods": resource.MustParse("1e999"), corev1.ResourceCPU: resource.MustParse("100000")}
		}},
	}
}

// falseRegistration puts false statements into the Node that a hostile kubelet registers.
func (w *World) falseRegistration(k *kubelet, n *corev1.Node) {
	if !k.hostile {
		return
	}
	v := w.otherInstance(k)
	if w.chance(50) {
		n.Spec.ProviderID, _ = pick(w, []string{w.spelled(v), v.ProviderID(), ""})
	}
	if w.chance(50) {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, node.MachineAnnotation, namespace+"/"+v.Name)
		metav1.SetMetaDataLabel(&n.ObjectMeta, node.MachineNameLabel, v.Name)
	}
	if w.chance(50) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: v.IP}}
	}
	n.Spec.Taints = []corev1.Taint{{Key: "mine", Effect: corev1.TaintEffectNoSchedule}}
	w.tracef("intruder", "%s joins with provider ID %q, marks %v, addresses %v", k.on.Name, n.Spec.ProviderID, n.Annotations, n.Status.Addresses)
}

// recreateNode deletes the Node of k and creates another under its name.
func (w *World) recreateNode(k *kubelet, n *corev1.Node) {
	w.edit(n, "", func(o client.Object) { o.SetFinalizers(nil) })
	if o := w.node(n.Name); o != nil {
		w.must("delete a node", w.target.Delete(o, client.DeleteOptions{}))
	}
	w.tracef("intruder", "on %s: deletes the node", n.Name)
	k.joined = false
	if w.chance(70) {
		w.join(k)
	}
}

// deleteHostileMachines has users detect the hostile kubelets and delete their machines.
func (w *World) deleteHostileMachines() {
	for _, k := range w.hostileKubelets() {
		if m := w.machineOf(w.uidOf(k.on)); m != nil && m.GetDeletionTimestamp() == nil {
			w.deleteObject(m)
			w.does("deletes machine %s, whose kubelet is hostile", m.GetName())
		}
	}
}

// hostileNodeCleanups has users delete the Nodes of hostile kubelets. No controller can tell which machine such a
// Node belonged to.
func (w *World) hostileNodeCleanups() (out []func()) {
	if !w.profile.hostile {
		return nil
	}
	for _, i := range w.cloud.Machines() {
		k := w.kubelet(i)
		n := w.node(i.Host)
		if !k.hostile || n == nil || n.UID != k.made || i.Exists(w.now) || w.machineOf(w.uidOf(i)) != nil {
			continue
		}
		out = append(out, func() {
			w.does("clears away node %s of a hostile kubelet", n.Name)
			w.edit(n, "", func(o client.Object) { o.SetFinalizers(nil) })
			if o := w.node(n.Name); o != nil {
				w.must("delete a node", w.target.Delete(o, client.DeleteOptions{}))
			}
		})
	}
	return out
}
