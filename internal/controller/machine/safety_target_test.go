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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/provider"
)

// identity is the UID of the namespace by which the cluster is known.
func (r *recording) identity(t *testing.T) string {
	t.Helper()
	var ns corev1.Namespace
	if err := r.WithWatch.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, &ns); err != nil {
		t.Fatal(err)
	}
	return string(ns.UID)
}

// exchanged lets another, empty cluster answer in place of the target.
func (g *rig[M]) exchanged() (old *recording) {
	old, g.target = g.target, newRecording(g.T)
	g.restart()
	g.cloud.calls = nil
	g.told()
	return old
}

// TestSafetyTargetSwappedIsTold: a machine that is frozen says so on its object and by one
// event, and goes on when a person names the cluster in which it is, or the old one is back.
func TestSafetyTargetSwappedIsTold(t *testing.T) {
	t.Run("openshift", func(t *testing.T) {
		swappedIsTold(t, openshiftRig(t), func(m *machinev1.Machine) string { return said(m, "NodeExists") })
	})
	t.Run("gardener", func(t *testing.T) {
		swappedIsTold(t, gardenerRig(t), func(m *v1alpha1.Machine) string { return m.Status.LastOperation.Description })
	})
}

func swappedIsTold[M client.Object](t *testing.T, g *rig[M], says func(M) string) {
	g.settle()
	was := g.target.identity(t)
	old := g.exchanged()
	g.tries(3, 20*time.Second)
	is := g.target.identity(t)
	if text := says(g.read()); !strings.Contains(text, was) || !strings.Contains(text, is) {
		t.Errorf("the object says %q: neither which cluster was joined nor which answers", text)
	}
	if told := g.toldOf("TargetClusterReplaced"); len(told) != 1 {
		t.Errorf("told %q", told)
	}
	swapped := g.target
	g.target = old
	g.restart()
	g.clock.Step(time.Minute)
	g.tries(3, 20*time.Second)
	if v := g.lens.View(g.read()); v.Stage != "Running" || strings.Contains(says(g.read()), is) {
		t.Errorf("the cluster is back: %s, %q", v.Stage, says(g.read()))
	}
	g.target = swapped
	g.restart()
	g.tries(2, 20*time.Second)
	g.change(func(m M) { m.SetAnnotations(map[string]string{millwright.TargetCluster: is}) })
	g.delete()
	g.tries(8, 20*time.Second)
	if !g.gone() {
		t.Errorf("a person named the cluster, and the deletion waits: %q", says(g.read()))
	}
}

// TestSafetyUnjoinedInSwappedTarget: a machine that has not joined yet does not run out of
// time in a cluster that none of the others joined.
func TestSafetyUnjoinedInSwappedTarget(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	other := gardenerMachine(func(m *v1alpha1.Machine) { m.Name, m.UID, m.Finalizers = "m-2", "uid-2", []string{gardenerFinalizer} })
	g.others(other)
	g.cloud.next = provider.Instance{ID: "i-2", ProviderID: "memory:///i-2", NodeName: "node-2", State: provider.Running, Created: start}
	g.exchanged()
	for range 30 {
		_, _ = g.try("m-2")
		g.clock.Step(time.Minute)
	}
	var m v1alpha1.Machine
	if err := g.control.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "m-2"}, &m); err != nil || m.Status.CurrentStatus.Phase == v1alpha1.MachineFailed {
		t.Errorf("phase %s (%v): it was given up for what another cluster does not say", m.Status.CurrentStatus.Phase, err)
	}
}

// fleet are further machines with nodes, which have joined.
func fleetOf(g *rig[*v1alpha1.Machine], n int) {
	for k := range n {
		name := fmt.Sprintf("m-%d", 10+k)
		m := gardenerMachine(func(m *v1alpha1.Machine) {
			m.Name, m.UID, m.Finalizers = name, types.UID("uid-"+name), []string{gardenerFinalizer}
			m.Spec.ProviderID = "memory:///i-" + name
			m.Labels["node"] = name
			m.Status.CurrentStatus.Phase = v1alpha1.MachineRunning
		})
		g.others(m)
		g.cloud.instances = append(g.cloud.instances, provider.Instance{ID: "i-" + name, ProviderID: "memory:///i-" + name, UID: "uid-" + name, Name: name, State: provider.Running, NodeName: name})
		if err := g.target.WithWatch.Create(g.Context(), readyNode(name, "memory:///i-"+name)); err != nil {
			g.Fatal(err)
		}
		if _, err := g.try(name); err != nil {
			g.Fatal(err)
		}
	}
}

// nodesVanish takes all nodes away, whatever holds them: nothing is seen to delete them.
func (g *rig[M]) nodesVanish() {
	g.Helper()
	var list corev1.NodeList
	if err := g.target.WithWatch.List(g.Context(), &list); err != nil {
		g.Fatal(err)
	}
	for i := range list.Items {
		held := list.Items[i].DeepCopy()
		list.Items[i].Finalizers = nil
		if err := g.target.WithWatch.Patch(g.Context(), &list.Items[i], client.MergeFrom(held)); err != nil {
			g.Fatal(err)
		}
		if err := g.target.WithWatch.Delete(g.Context(), &list.Items[i]); err != nil {
			g.Fatal(err)
		}
	}
}

// TestSafetyRestoredTarget: the target's etcd came back from before its nodes, and keeps its
// identity. Machines are unhealthy, and neither replaced nor ended: not by a deletion either.
func TestSafetyRestoredTarget(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		t.Run(fmt.Sprintf("deleted %v", deleted), func(t *testing.T) {
			g := gardenerRig(t)
			g.settle()
			fleetOf(g, 5)
			g.nodesVanish()
			g.restart()
			g.cloud.calls = nil
			if deleted {
				g.delete()
			}
			g.tries(40, time.Minute)
			m := g.read()
			if g.cloud.count("Delete") > 0 || !deleted && (m.DeletionTimestamp != nil || m.Status.CurrentStatus.Phase != v1alpha1.MachineUnknown) {
				t.Errorf("phase %s, %d instances were asked to go", m.Status.CurrentStatus.Phase, g.cloud.count("Delete"))
			}
			if text := m.Status.LastOperation.Description; !strings.Contains(text, "0 of the 5 nodes") {
				t.Errorf("it says %q", text)
			}
			g.change(func(m *v1alpha1.Machine) { m.Labels["force-deletion"] = "True" })
			if !deleted {
				g.delete()
			}
			if g.tries(4, time.Minute); !g.gone() {
				t.Errorf("a person forced the deletion: %q", g.read().Status.LastOperation.Description)
			}
		})
	}
}

// TestSafetyWatchedDeletion: a node that a watch saw deleted replaces its machine; one that a
// new listing lacks does not.
func TestSafetyWatchedDeletion(t *testing.T) {
	for _, watched := range []bool{true, false} {
		g := gardenerRig(t)
		g.settle()
		n := g.node()
		g.nodesVanish()
		if watched {
			g.nodes.Deletions.Note(n)
		}
		g.tries(2, time.Second)
		if leaves := g.gone() || g.read().DeletionTimestamp != nil; leaves != watched {
			t.Errorf("watched %v: the machine leaves %v", watched, leaves)
		}
	}
}

// TestSafetyWebhookDoesNotFind: a webhook that stands before evictions does not find an object
// of its own. The pod is there.
func TestSafetyWebhookDoesNotFind(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { webhookDoesNotFind(t, openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { webhookDoesNotFind(t, gardenerRig(t)) })
}

func webhookDoesNotFind[M client.Object](t *testing.T, g *rig[M]) {
	g.settle()
	g.podOn("node-1", "db-0")
	g.target.refuse = func(w string) error {
		if strings.Contains(w, "eviction") {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "reservations"}, "x")
		}
		return nil
	}
	g.cloud.calls = nil
	g.delete()
	g.tries(6, 10*time.Second)
	g.summary("a webhook does not find")
	if slices.Contains(g.cloud.calls, "Delete") {
		t.Error("the instance was ended under a pod")
	}
}

// TestSafetyRenamedNodeWhileDenied: the infrastructure foretold another name, and denies its answers when the node joins. The machine does
// not take the node: it would let go of it with the next answer, and leave its finalizer there.
func TestSafetyRenamedNodeWhileDenied(t *testing.T) {
	g := gardenerRig(t)
	g.cloud.next.NodeName = "node-1"
	g.tries(2, time.Second)
	g.cloud.findErr = provider.Errorf(provider.Denied, "not authorized")
	if err := g.target.WithWatch.Create(t.Context(), readyNode("custom-1", "memory:///i-1")); err != nil {
		t.Fatal(err)
	}
	g.tries(3, 10*time.Second)
	var n corev1.Node
	if err := g.target.Get(t.Context(), client.ObjectKey{Name: "custom-1"}, &n); err != nil {
		t.Fatal(err)
	}
	if len(n.Finalizers) > 0 || g.lens.View(g.read()).HadNode() {
		t.Errorf("the machine took the node: finalizers %q, %+v", n.Finalizers, g.lens.View(g.read()).Recorded)
	}
}
