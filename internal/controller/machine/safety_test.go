package machine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/provider"
)

func readyNode(name, id string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name), CreationTimestamp: metav1.NewTime(start.Add(time.Second))}}
	n.Spec.ProviderID = id
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

func (g *rig[M]) podOn(node, name string, edits ...func(*corev1.Pod)) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name, UID: types.UID("pod-" + name)}}
	p.Spec.NodeName = node
	p.Status.Phase = corev1.PodRunning
	for _, e := range edits {
		e(p)
	}
	if err := g.target.WithWatch.Create(g.Context(), p); err != nil {
		g.Fatal(err)
	}
}

func (g *rig[M]) evictions() int {
	return len(slices.DeleteFunc(slices.Clone(g.target.writes), func(w string) bool { return !strings.Contains(w, "eviction") && !strings.Contains(w, "delete Pod") }))
}

func (g *rig[M]) tries(n int, step time.Duration) {
	for range n {
		if _, err := g.try("m-1"); err != nil {
			g.Log("pass:", err)
		}
		g.clock.Step(step)
	}
}

func (g *rig[M]) summary(what string) {
	var pods corev1.PodList
	var nodes corev1.NodeList
	_ = g.target.List(g.Context(), &pods)
	_ = g.target.List(g.Context(), &nodes)
	g.Logf("%s: released=%v instances %q nodes %d pods %d target writes %q calls %q events %q", what, g.gone(), g.there(), len(nodes.Items), len(pods.Items), g.target.writes, g.cloud.calls, g.told())
}

// The infrastructure foretells node-1, the kubelet registers as "custom-1"
// (hostname override), with the instance's provider ID.
func renamed[M client.Object](t *testing.T, g *rig[M], foretold string, addresses []corev1.NodeAddress) {
	g.cloud.next.NodeName = foretold
	if addresses != nil {
		g.cloud.next.Addresses = addresses
	}
	g.tries(2, time.Second)
	n := readyNode("custom-1", "memory:///i-1")
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	if err := g.target.WithWatch.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	g.podOn("custom-1", "web-0")
	g.tries(3, 10*time.Second)
	v := g.lens.View(g.read())
	t.Logf("alive: node %q stage %v", v.Recorded.NodeName, v.Stage)
	g.target.writes, g.cloud.calls = nil, nil
	g.delete()
	g.tries(6, 5*time.Second)
	g.summary("after deletion")
	if g.evictions() == 0 && slices.Contains(g.cloud.calls, "Delete") {
		t.Errorf("instance terminated with an undrained Ready node of its provider ID and address")
	}
}

func TestSafetyRenamedNode(t *testing.T) {
	for _, tt := range []struct {
		name, foretold string
		a              []corev1.NodeAddress
	}{
		{"foretold otherwise", "node-1", nil},
		{"not foretold, other hostname", "", []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeHostName, Address: "node-1"}}},
		{"not foretold", "", nil},
	} {
		t.Run("openshift/"+tt.name, func(t *testing.T) { renamed(t, openshiftRig(t), tt.foretold, tt.a) })
		t.Run("gardener/"+tt.name, func(t *testing.T) { renamed(t, gardenerRig(t), tt.foretold, tt.a) })
	}
}

// The kubeconfig of the cluster that machines join leads to another, healthy and empty cluster.
func swapped[M client.Object](t *testing.T, g *rig[M], deleted bool) {
	g.settle()
	g.pod("web-0", false)
	old := g.target
	g.target = newRecording(t)
	g.restart()
	g.cloud.calls = nil
	if deleted {
		g.delete()
	}
	for range 10 {
		if _, err := g.try("m-1"); err != nil {
			t.Log("pass:", err)
		}
		g.clock.Step(20 * time.Second)
	}
	leaving := g.gone() || g.read().GetDeletionTimestamp() != nil
	var pods corev1.PodList
	_ = old.List(t.Context(), &pods)
	g.summary("target swapped")
	t.Logf("leaving=%v pods in the real cluster %d", leaving, len(pods.Items))
	if slices.Contains(g.cloud.calls, "Delete") {
		t.Errorf("instance terminated, nobody drained: pods %d", len(pods.Items))
	} else if !deleted && leaving {
		t.Errorf("machine deleted because another cluster has no such node")
	}
}

func TestSafetyTargetSwapped(t *testing.T) {
	t.Run("openshift/alive", func(t *testing.T) { swapped(t, openshiftRig(t), false) })
	t.Run("openshift/deleted", func(t *testing.T) { swapped(t, openshiftRig(t), true) })
	t.Run("gardener/alive", func(t *testing.T) { swapped(t, gardenerRig(t), false) })
	t.Run("gardener/deleted", func(t *testing.T) { swapped(t, gardenerRig(t), true) })
}

// Delete was accepted, and the instance is still there; then the credentials are those of another account.
func secretUnderDelete[M client.Object](t *testing.T, g *rig[M], state provider.State) {
	g.settle()
	g.cloud.deletions = 100
	g.delete()
	g.tries(2, 5*time.Second)
	real := slices.Clone(g.cloud.instances)
	for i := range real {
		real[i].State = state
	}
	g.cloud.instances = nil
	g.cloud.deletions = 0
	g.tries(10, 10*time.Second)
	g.summary("account exchanged under Delete")
	if g.gone() {
		t.Errorf("released while the real account has %s %s, node of it Ready", real[0].ID, real[0].State)
	}
}

func TestSafetySecretUnderDelete(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { secretUnderDelete(t, openshiftRig(t), provider.Running) })
	t.Run("gardener", func(t *testing.T) { secretUnderDelete(t, gardenerRig(t), provider.Running) })
}

// A foreign controller strips our annotations, after the reply to Create was lost; then the label changes.
func TestSafetyStrippedOrigin(t *testing.T) {
	for _, how := range []string{"annotations", "annotations and finalizers", "nothing"} {
		t.Run(how, func(t *testing.T) {
			k := openshiftKubemark(t)
			k.lose = 1
			k.passes(1)
			k.change(func(m *machinev1.Machine) {
				if how != "nothing" {
					m.Annotations = nil
				}
				if strings.Contains(how, "finalizers") {
					m.Finalizers = nil
				}
			})
			k.relabel("green")
			k.restarted()
			k.passes(8)
			b, gr := len(k.existing("blue")), len(k.existing("green"))
			t.Logf("blue %d green %d", b, gr)
			if b+gr > 1 {
				t.Errorf("TWO instances of one UID: blue %d, green %d", b, gr)
			}
			m := k.read()
			t.Logf("phase %v annotations %v", m.Status.Phase, m.Annotations)
			_ = k.control.Delete(t.Context(), m)
			k.passes(60)
			b, gr = len(k.existing("blue")), len(k.existing("green"))
			t.Logf("after deletion: gone %v blue %d green %d", k.gone(), b, gr)
			if k.gone() && b+gr > 0 {
				t.Errorf("LEAK: blue %d, green %d", b, gr)
			}
		})
	}
}

// A running machine loses its annotations on every pass, then its label, then it is deleted.
func TestSafetyStrippedRunning(t *testing.T) {
	k := openshiftKubemark(t)
	k.passes(4)
	k.relabel("green")
	for range 5 {
		k.change(func(m *machinev1.Machine) { m.Annotations = nil })
		k.passes(1)
	}
	m := k.read()
	t.Logf("phase %v, blue %d green %d, annotations %v", *m.Status.Phase, len(k.existing("blue")), len(k.existing("green")), m.Annotations)
	if n := len(k.existing("blue")) + len(k.existing("green")); n != 1 {
		t.Errorf("%d instances", n)
	}
	_ = k.control.Delete(t.Context(), m)
	for range 40 {
		if k.gone() {
			break
		}
		k.change(func(m *machinev1.Machine) { m.Annotations = nil })
		k.passes(1)
	}
	t.Logf("gone %v, blue %d green %d", k.gone(), len(k.existing("blue")), len(k.existing("green")))
	if k.gone() && len(k.existing("blue"))+len(k.existing("green")) > 0 {
		t.Errorf("LEAK")
	}
}

// The finalizer is taken off between its write and Create.
func TestSafetyFinalizerStrippedBeforeCreate(t *testing.T) {
	g := openshiftRig(t)
	g.cloud.before = func(call string) {
		if call != "Create" {
			return
		}
		g.change(func(m *machinev1.Machine) { m.Finalizers = nil })
	}
	g.tries(1, time.Second)
	m := g.read()
	t.Logf("after create: finalizers %v, instances %q", m.Finalizers, g.there())
	g.cloud.before = nil
	g.tries(2, time.Second)
	m = g.read()
	t.Logf("later: finalizers %v", m.Finalizers)
	if len(m.Finalizers) == 0 {
		t.Errorf("no finalizer on a machine with an instance")
	}
}

// A person deletes the Node object while it is drained; a budget still holds its pod.
func nodeDeletedInDrain[M client.Object](t *testing.T, g *rig[M]) {
	g.settle()
	g.podOn("node-1", "db-0")
	g.target.refuse = func(w string) error {
		if strings.Contains(w, "eviction") {
			return apierrors.NewTooManyRequests("budget", 10)
		}
		return nil
	}
	g.delete()
	g.tries(3, 5*time.Second)
	g.cloud.calls = nil
	n := &corev1.Node{}
	if err := g.target.WithWatch.Get(t.Context(), client.ObjectKey{Name: "node-1"}, n); err != nil {
		t.Fatal(err)
	}
	t.Logf("node finalizers %v", n.Finalizers)
	_ = g.target.WithWatch.Delete(t.Context(), n)
	g.tries(4, 5*time.Second)
	g.summary("node deleted in drain")
	if slices.Contains(g.cloud.calls, "Delete") {
		t.Errorf("instance terminated: the budget's pod was never let go")
	}
}

func TestSafetyNodeDeletedInDrain(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { nodeDeletedInDrain(t, openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { nodeDeletedInDrain(t, gardenerRig(t)) })
}

// Drained=True from before the deletion.
func TestSafetyRestoredDrained(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	g.podOn("node-1", "web-0")
	g.change(func(m *machinev1.Machine) {
		m.Spec.LifecycleHooks.PreDrain = []machinev1.LifecycleHook{{Name: "backup", Owner: "me"}}
	})
	for _, at := range []time.Time{start.Add(-24 * time.Hour), start.Add(240 * time.Hour)} {
		m := g.read()
		m.Status.Conditions = slices.DeleteFunc(m.Status.Conditions, func(c machinev1.Condition) bool { return c.Type == machinev1.MachineDrained })
		m.Status.Conditions = append(m.Status.Conditions, machinev1.Condition{Type: machinev1.MachineDrained, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)})
		if err := g.control.WithWatch.Status().Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	g.clock.Step(time.Hour)
	g.delete()
	g.tries(4, 5*time.Second)
	g.summary("restored drained")
	if slices.Contains(g.cloud.calls, "Delete") {
		t.Errorf("hook and drain skipped by a stored condition (one from the future)")
	}
}

// The target's etcd went back, the node object is not there any more, its kubelet runs. A fleet of 20.
func TestSafetyNodesVanish(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	for k := range 20 {
		name := fmt.Sprintf("m-%d", 10+k)
		m := gardenerMachine(func(m *v1alpha1.Machine) {
			m.Name, m.UID, m.Finalizers = name, types.UID("uid-"+name), []string{gardenerFinalizer}
			m.Spec.ProviderID = "memory:///i-" + name
			m.Labels["node"] = name
			m.Status.CurrentStatus.Phase = v1alpha1.MachineRunning
		})
		g.others(m)
		g.cloud.instances = append(g.cloud.instances, provider.Instance{ID: "i-" + name, ProviderID: "memory:///i-" + name, UID: "uid-" + name, Name: name, State: provider.Running, NodeName: name})
		if err := g.target.WithWatch.Create(t.Context(), readyNode(name, "memory:///i-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	for k := range 20 {
		_, _ = g.try(fmt.Sprintf("m-%d", 10+k))
	}
	g.target = newRecording(t)
	g.restart()
	for range 2 {
		for k := range 20 {
			_, _ = g.try(fmt.Sprintf("m-%d", 10+k))
		}
		g.clock.Step(10 * time.Second)
	}
	var list v1alpha1.MachineList
	_ = g.control.WithWatch.List(t.Context(), &list)
	leaving := 0
	for _, m := range list.Items {
		if m.DeletionTimestamp != nil {
			leaving++
		}
	}
	t.Logf("10 s after: machines left %d of 21, leaving %d; instances left %d; Delete calls %d", len(list.Items), leaving, len(g.cloud.instances), g.cloud.count("Delete"))
	if leaving > 3 || len(list.Items) < 18 {
		t.Errorf("an empty node list replaced the fleet at once")
	}
}

// One `kubectl replace` of a running machine by its manifest in git, where the cluster label was edited:
// annotations, finalizers and spec.providerID go, the label changes, status stays.
func TestSafetyReplacedManifest(t *testing.T) {
	for _, relabel := range []bool{false, true} {
		for _, status := range []bool{true, false} {
			t.Run("", func(t *testing.T) {
				k := openshiftKubemark(t)
				k.passes(4)
				k.change(func(m *machinev1.Machine) {
					m.Annotations, m.Finalizers, m.Spec.ProviderID = nil, nil, nil
					if relabel {
						m.Labels[clusterLabel] = "green"
					}
				})
				if !status { // a backup tool that restores no status
					m := k.read()
					m.Status = machinev1.MachineStatus{}
					if err := k.control.WithWatch.Status().Update(t.Context(), m); err != nil {
						t.Fatal(err)
					}
				}
				k.passes(4)
				k.passes(4)
				m := k.read()
				phase, msg := "", ""
				if m.Status.Phase != nil {
					phase = *m.Status.Phase
				}
				if m.Status.ErrorMessage != nil {
					msg = *m.Status.ErrorMessage
				}
				b, gr := len(k.existing("blue")), len(k.existing("green"))
				t.Logf("relabel=%v status=%v: phase %s %q, blue %d green %d, annotations %v", relabel, status, phase, msg, b, gr, m.Annotations)
				if b+gr > 1 {
					t.Errorf("TWO instances of one UID: blue %d, green %d", b, gr)
				}
				_ = k.control.Delete(t.Context(), m)
				k.passes(60)
				b, gr = len(k.existing("blue")), len(k.existing("green"))
				t.Logf("deleted: gone %v, blue %d green %d", k.gone(), b, gr)
				if k.gone() && b+gr > 0 {
					t.Errorf("LEAK: blue %d, green %d", b, gr)
				}
			})
		}
	}
}

// The same for Gardener: the class is exchanged for one of another cluster tag or region, annotations stripped, reply lost.
func TestSafetyStrippedGardener(t *testing.T) {
	k := gardenerKubemark(t)
	k.lose = 1
	k.passes(1)
	k.change(func(m *v1alpha1.Machine) { m.Annotations = nil })
	k.restarted()
	k.passes(8)
	t.Logf("instances %d, annotations %v", len(k.existing(ns)), k.read().Annotations)
	if len(k.existing(ns)) != 1 {
		t.Errorf("want one instance")
	}
}

// The same with a provider that tells its account: held?
func TestSafetySecretUnderDeleteWithAccount(t *testing.T) {
	k := openshiftKubemark(t)
	k.passes(4)
	k.joins()
	n := &corev1.Node{}
	_ = k.target.WithWatch.Get(t.Context(), client.ObjectKey{Name: "node-1"}, n)
	first := k.account
	k.delete()
	k.passes(1)
	k.account = newAccount(t, k.rig)
	k.passes(40)
	k.account = first
	t.Logf("gone %v, instances in the first account %d", k.gone(), len(k.existing("blue")))
	if k.gone() && len(k.existing("blue")) > 0 {
		t.Errorf("LEAK")
	}
}

// Credentials of another account: an empty answer against a Ready node.
func auditWrongAccount[M client.Object](t *testing.T, g *rig[M]) {
	g.settle()
	g.podOn("node-1", "web-0")
	g.cloud.instances = nil
	g.clock.Step(time.Minute)
	g.tries(2, time.Second)
	g.delete()
	g.target.writes = nil
	g.tries(8, 30*time.Second)
	g.summary("D2")
	if g.gone() || slices.Contains(g.target.writes, "delete Node") {
		t.Errorf("D2 is back")
	}
}

func TestSafetyAuditD2(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { auditWrongAccount(t, openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { auditWrongAccount(t, gardenerRig(t)) })
}

// A node of a machine of the same name that was there before.
func auditSameName[M client.Object](t *testing.T, g *rig[M], mark func(*corev1.Node), showsID bool) {
	g.cloud.instances = []provider.Instance{made("i-0", "uid-0", time.Hour)}
	n := readyNode("node-1", "memory:///i-0")
	if !showsID {
		n.Spec.ProviderID = ""
	}
	n.CreationTimestamp = metav1.NewTime(start.Add(-time.Hour))
	mark(n)
	if err := g.target.WithWatch.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	g.podOn("node-1", "web-0")
	g.tries(3, 5*time.Second)
	g.delete()
	g.target.writes = nil
	g.tries(20, 10*time.Second)
	g.summary("D3")
	if slices.Contains(g.target.writes, "delete Node") {
		t.Errorf("D3 is back: node of a namesake was deleted")
	}
	if len(g.there()) == 0 {
		t.Errorf("the namesake's instance was removed")
	}
}

func TestSafetyAuditD3(t *testing.T) {
	for _, showsID := range []bool{true, false} {
		t.Run("openshift", func(t *testing.T) {
			auditSameName(t, openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer)), func(n *corev1.Node) {
				n.Annotations = map[string]string{"machine.openshift.io/machine": ns + "/m-1"}
			}, showsID)
		})
		t.Run("gardener", func(t *testing.T) {
			auditSameName(t, gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer)), func(n *corev1.Node) {
				n.Labels = map[string]string{"node.gardener.cloud/machine-name": "m-1"}
			}, showsID)
		})
	}
}
