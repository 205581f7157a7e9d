package nodelink

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/provider"
)

const one, two = "sim:///a/1", "sim:///a/2"

// TestLink: steps 2 to 8 of section 5 for a node that joins, and nothing after that.
func TestLink(t *testing.T) {
	n := nodeNamed("w", one)
	n.Labels, n.Annotations = map[string]string{"pool": "old", "own": "1"}, map[string]string{"own": "1"}
	n.Spec.Taints = []corev1.Taint{{Key: "own", Effect: corev1.TaintEffectNoExecute}}
	readied(n, corev1.ConditionTrue, start)
	w := newWorld(t, machine("a", one), n)
	w.pass("the node joins", "w", 2)

	m, n := w.machine("a"), w.node("w")
	if diff := cmp.Diff(&corev1.ObjectReference{Kind: "Node", Name: "w", UID: "uid-w"}, m.Status.NodeRef); diff != "" {
		t.Errorf("step 6, nodeRef (-want +got)\n%s", diff)
	}
	if got := m.Status.LastUpdated; got == nil || !got.Time.Equal(w.clock.Now()) {
		t.Errorf("step 6, lastUpdated: %v, now %v", got, w.clock.Now())
	}
	if *m.Status.Phase != machinev1.PhaseProvisioned {
		t.Errorf("phase %s: that is the machine controller's", *m.Status.Phase)
	}
	if diff := cmp.Diff(map[string]string{"pool": "a", "own": "1"}, n.Labels); diff != "" {
		t.Errorf("step 7, labels (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"machine.openshift.io/machine": "ns/a", "note": "x", "own": "1"}, n.Annotations); diff != "" {
		t.Errorf("step 7, annotations (-want +got)\n%s", diff)
	}
	if len(n.Spec.Taints) != 2 || n.Spec.Taints[1].Key != "dedicated" {
		t.Errorf("step 7, taints %v", n.Spec.Taints)
	}
	w.pass("nothing changed", "w", 0)
	w.restart()
	w.pass("nor for a new process", "w", 0)
	if told := w.told(); told != nil {
		t.Errorf("people were told %q", told)
	}
}

// TestBesideOthers: what Millwright's machine controller or the original has written already is not written
// again.
func TestBesideOthers(t *testing.T) {
	m := machine("a", one, func(m *machinev1.Machine) {
		m.Status.NodeRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "w", UID: "uid-w"}
		m.Status.LastUpdated = ptr.To(metav1.NewTime(start.Add(time.Second)))
	})
	n := nodeNamed("w", one)
	n.Labels, n.Annotations = map[string]string{"pool": "a"}, map[string]string{"machine.openshift.io/machine": "ns/a", "note": "x"}
	n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "other", Effect: corev1.TaintEffectNoSchedule}}
	readied(n, corev1.ConditionTrue, start)
	w := newWorld(t, m, n)
	w.pass("all is written, the taint with another value", "w", 0)

	edit(w, w.node("w"), func(n *corev1.Node) { readied(n, corev1.ConditionFalse, w.clock.Now()) })
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	edit(w, w.machine("a"), func(m *machinev1.Machine) { m.Status.LastUpdated = ptr.To(metav1.NewTime(w.clock.Now())) })
	w.pass("the original told of the node's readiness", "w", 0)

	edit(w, w.node("w"), func(n *corev1.Node) { readied(n, corev1.ConditionTrue, w.clock.Now().Add(time.Minute)) })
	w.pass("step 6: nobody told of it", "w", 1)
	if got := w.machine("a").Status.LastUpdated; !got.Time.Equal(w.clock.Now()) {
		t.Errorf("lastUpdated %v, now %v", got, w.clock.Now())
	}
	w.pass("step 5: once", "w", 0)
	edit(w, w.node("w"), func(n *corev1.Node) { readied(n, corev1.ConditionFalse, start.Add(-time.Hour)) })
	w.pass("step 6: by a clock that is behind", "w", 1)
}

// TestOvertaken: if another client links a machine during a pass over its node, the machine keeps that
// link.
func TestOvertaken(t *testing.T) {
	w := newWorld(t, machine("a", one), nodeNamed("w", one))
	w.before = func() {
		edit(w, w.machine("a"), func(m *machinev1.Machine) {
			m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: "w2", UID: "uid-w2"}
		})
	}
	if got := w.pass("the record is older than the look", "w", 1).RequeueAfter; got != conflictDelay {
		t.Errorf("it is looked at again after %v", got)
	}
	if ref := w.machine("a").Status.NodeRef; ref.Name != "w2" {
		t.Errorf("nodeRef %v", ref)
	}
}

// TestRivals: whose the other nodes are that look like a machine's is looked for, too.
func TestRivals(t *testing.T) {
	withIP := func(ip string) func(*machinev1.Machine) {
		return func(m *machinev1.Machine) {
			m.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ip}}
		}
	}
	b := machine("b", "", withIP("10.0.0.2"), func(m *machinev1.Machine) {
		m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: "w2", UID: "uid-w2"}
	})
	w := newWorld(t, machine("a", "", withIP("10.0.0.1")), b, nodeNamed("w", "", "10.0.0.1"), nodeNamed("w2", "", "10.0.0.1"))
	w.pass("the other node of that address is another machine's", "w", 2)
	if ref := w.machine("a").Status.NodeRef; ref == nil || ref.Name != "w" {
		t.Errorf("nodeRef %v", ref)
	}
}

// TestAdditive: a label that the machine drops stays on the node, and one that another client removes is
// restored.
func TestAdditive(t *testing.T) {
	w := newWorld(t, machine("a", one), nodeNamed("w", one))
	w.pass("the node joins", "w", 2)
	edit(w, w.machine("a"), func(m *machinev1.Machine) {
		m.Spec.ObjectMeta = machinev1.ObjectMeta{Labels: map[string]string{"more": "1"}}
		m.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "b", Effect: corev1.TaintEffectNoSchedule}, {Key: "new", Effect: corev1.TaintEffectNoExecute}}
	})
	w.pass("the machine asks for something else", "w", 1)
	n := w.node("w")
	if n.Labels["pool"] != "a" || n.Labels["more"] != "1" || n.Annotations["note"] != "x" {
		t.Errorf("labels %v, annotations %v: they are additive", n.Labels, n.Annotations)
	}
	if len(n.Spec.Taints) != 2 || n.Spec.Taints[0].Value != "a" {
		t.Errorf("taints %v: they are additive, and a value stays", n.Spec.Taints)
	}
	edit(w, n, func(n *corev1.Node) { delete(n.Labels, "more"); delete(n.Annotations, "machine.openshift.io/machine") })
	w.pass("somebody took the label and the mark off", "w", 1)
	if n = w.node("w"); n.Labels["more"] != "1" || n.Annotations["machine.openshift.io/machine"] != "ns/a" {
		t.Errorf("labels %v, annotations %v", n.Labels, n.Annotations)
	}
}

// TestC12: the defects of the original's memory.
func TestC12(t *testing.T) {
	w := newWorld(t, machine("a", one), nodeNamed("w", one))
	w.pass("the node joins", "w", 2)
	w.must(w.Delete(t.Context(), w.node("w")))
	w.pass("step 1: it is gone, and the record stays", "w", 0)
	if n := len(w.r.memories); n != 0 {
		t.Errorf("step 1: %d nodes are remembered", n)
	}
	if ref := w.machine("a").Status.NodeRef; ref == nil || ref.UID != "uid-w" {
		t.Errorf("nodeRef %v of a node that is gone", ref)
	}
	again := nodeNamed("w", one)
	again.UID = "uid-again"
	w.must(w.Create(t.Context(), again))
	w.pass("a node of the same name joins", "w", 2)
	if ref := w.machine("a").Status.NodeRef; ref.UID != "uid-again" {
		t.Errorf("nodeRef has UID %s", ref.UID)
	}
	m := w.machine("a")
	m.Status.NodeRef = nil
	w.must(w.Status().Update(t.Context(), m))
	w.pass("the machine was restored without its status", "w", 1)
	if ref := w.machine("a").Status.NodeRef; ref == nil {
		t.Error("it has no nodeRef")
	}
}

func TestDeletions(t *testing.T) {
	leaving := nodeNamed("w", one)
	leaving.Finalizers, leaving.DeletionTimestamp = []string{"x/y"}, ptr.To(metav1.NewTime(start))
	w := newWorld(t, machine("a", one), leaving, nodeNamed("w2", two), machine("b", two, func(m *machinev1.Machine) {
		m.Finalizers, m.DeletionTimestamp = []string{machinev1.MachineFinalizer}, ptr.To(metav1.NewTime(start))
	}))
	w.pass("step 4: the node is being deleted", "w", 0)
	w.pass("a foreign machine controller drains, and deletes, by the reference", "w2", 2)
	if ref := w.machine("b").Status.NodeRef; ref == nil || ref.Name != "w2" {
		t.Errorf("nodeRef %v", ref)
	}
	w.pass("there is no such node", "w3", 0)
}

// TestForger: a node that claims the recorded fields of a machine which has a node gets nothing, even if
// the cache does not show the machine's node yet. One event reports it.
func TestForger(t *testing.T) {
	linked := machine("a", one, func(m *machinev1.Machine) {
		m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: "w", UID: "uid-w"}
	})
	w := newWorld(t, linked, nodeNamed("w", one), nodeNamed("forger", one))
	w.hidden["w"] = true
	if got := w.pass("the cache does not show the node", "forger", 0).RequeueAfter; got != refusedAgain {
		t.Errorf("it is looked at again after %v", got)
	}
	w.hidden["w"] = false
	w.pass("now it does", "forger", 0)
	told := w.told()
	if len(told) != 1 || !strings.Contains(told[0], "Warning NodeNotLinked node forger is not linked: machine ns/a has node w, which is there") {
		t.Errorf("people were told %q", told)
	}
	if ref := w.machine("a").Status.NodeRef; ref.Name != "w" {
		t.Errorf("nodeRef %v", ref)
	}
	w.must(w.Delete(t.Context(), w.node("forger")))
	again := nodeNamed("forger", one)
	again.UID = "uid-again"
	w.must(w.Create(t.Context(), again))
	w.pass("another node of the forger's name", "forger", 0)
	if told := w.told(); len(told) != 1 {
		t.Errorf("people were told %q of another node", told)
	}
	w.must(w.Delete(t.Context(), w.node("w")))
	w.pass("the machine's node is gone for good", "forger", 2)
	if ref := w.machine("a").Status.NodeRef; ref.Name != "forger" {
		t.Errorf("nodeRef %v", ref)
	}
}

func TestFailures(t *testing.T) {
	w := newWorld(t, machine("a", one), nodeNamed("w", one))
	w.fail = apierrors.NewConflict(machinev1.Resource("machines"), "a", errors.New("it changed"))
	if got := w.pass("somebody else wrote into the machine", "w", 1).RequeueAfter; got != conflictDelay {
		t.Errorf("it is looked at again after %v", got)
	}
	if n := w.node("w"); len(n.Annotations) > 0 {
		t.Errorf("the node is marked before the machine knows of it: %v", n.Annotations)
	}
	w.fail = apierrors.NewNotFound(machinev1.Resource("machines"), "a")
	w.pass("the machine has gone meanwhile", "w", 1)
	w.pass("and then not", "w", 2)

	edit(w, w.machine("a"), func(m *machinev1.Machine) { m.Spec.ObjectMeta.Labels = map[string]string{"pool": "not a label"} })
	for range 2 {
		w.fail = apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Node").GroupKind(), "w", nil)
		if _, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "w"}}); !apierrors.IsInvalid(err) {
			t.Errorf("the node takes no such label: %v", err)
		}
	}
	if told := w.told(); len(told) != 1 || !strings.Contains(told[0], "Warning NodeNotUpdated bring node w in step with machine ns/a: ") {
		t.Errorf("people were told %q", told)
	}
}

func TestChangeOf(t *testing.T) {
	for _, c := range []struct {
		reason string
		change func(*corev1.Node)
		want   Change
	}{
		{"a resync", func(*corev1.Node) {}, Unrelated},
		{"W11: a heartbeat", func(n *corev1.Node) {
			n.ResourceVersion, n.Status.Conditions[0].LastHeartbeatTime = "2", metav1.NewTime(start.Add(time.Hour))
		}, Unrelated},
		{"W11: another condition", func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue})
		}, Unrelated},
		{"W11: images and volumes", func(n *corev1.Node) { n.Status.VolumesInUse = []corev1.UniqueVolumeName{"v"} }, Unrelated},
		{"it is cordoned", func(n *corev1.Node) { n.Spec.Unschedulable = true }, Unrelated},
		{"not ready in another way", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, Unrelated},
		{"it became ready", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionTrue }, Readied},
		{"a label", func(n *corev1.Node) { n.Labels = map[string]string{"a": "b"} }, Worn},
		{"an annotation", func(n *corev1.Node) { n.Annotations = map[string]string{"a": "b"} }, Worn},
		{"a taint", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "a"}} }, Worn},
		{"the provider ID", func(n *corev1.Node) { n.Spec.ProviderID = two }, Another},
		{"an address", func(n *corev1.Node) { n.Status.Addresses = nil }, Another},
		{"it is another node of the name", func(n *corev1.Node) { n.UID = "x" }, Another},
		{"it is on its way out", func(n *corev1.Node) { n.DeletionTimestamp = ptr.To(metav1.NewTime(start)) }, Another},
	} {
		before := nodeNamed("w", one, "10.0.0.1")
		readied(before, corev1.ConditionFalse, start)
		after := before.DeepCopy()
		c.change(after)
		if got := ChangeOf(before, after); got != c.want {
			t.Errorf("%s: %d, want %d", c.reason, got, c.want)
		}
	}
	if ChangeOf(nil, nodeNamed("w", one)) != Another || ChangeOf(nodeNamed("w", one), nil) != Another {
		t.Error("that a node comes or goes is unrelated")
	}
}

func TestWakes(t *testing.T) {
	a := machine("a", one, func(m *machinev1.Machine) {
		m.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeInternalIP, Address: "10.0.0.2"}}
	})
	linked := a.DeepCopy()
	linked.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: "old", UID: "uid-old"}
	w := newWorld(t, linked, nodeNamed("w", one), nodeNamed("w2", "", "10.0.0.2"), nodeNamed("old", ""), nodeNamed("far", two, "10.0.0.9"))
	changedMachine := func(change func(*machinev1.Machine)) *machinev1.Machine {
		m := linked.DeepCopy()
		change(m)
		return m
	}
	all := []string{"old", "w", "w2"}
	worn := nodeNamed("w", one)
	worn.Labels = map[string]string{"a": "b"}
	for _, c := range []struct {
		reason        string
		before, after client.Object
		want          []string
		delay         time.Duration
	}{
		{"a machine that is new: by node, provider ID and every internal IP", nil, linked, all, 0},
		{"one that is gone leaves its node to others", linked, nil, all, 0},
		{"its phase concerns no node", linked, changedMachine(func(m *machinev1.Machine) { m.Status.Phase = ptr.To("Running") }), nil, 0},
		{"nor does a resync", linked, linked, nil, 0},
		{"what its node is to carry does", linked, changedMachine(func(m *machinev1.Machine) { m.Spec.Taints = nil }), all, 0},
		{"and an address", linked, changedMachine(func(m *machinev1.Machine) { m.Status.Addresses = m.Status.Addresses[:1] }), all, 0},
		{"a machine that has a node by now: it competes no more", nil, machine("c", "", func(m *machinev1.Machine) {
			m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: "w2", UID: "uid-w2"}
		}), all, 0},
		{"so does a lost reference: those that it leads to by now", linked, a, all, 0},
		{"and a stamp: whoever wrote it told of the node", linked, changedMachine(func(m *machinev1.Machine) {
			m.Status.LastUpdated = ptr.To(metav1.NewTime(start))
		}), all, 0},
		{"a node that is new, and those that it competes with", nil, nodeNamed("w", one), all, 0},
		{"one that is gone", nodeNamed("gone", "", "10.0.0.1"), nil, []string{"gone", "old", "w", "w2"}, 0},
		{"one that has nothing to do with machines", nil, nodeNamed("far", two, "10.0.0.9"), []string{"far"}, 0},
		{"what a node wears is gathered", nodeNamed("w", one), worn, []string{"w"}, wornPause},
		{"a heartbeat concerns nobody", nodeNamed("w", one), nodeNamed("w", one), nil, 0},
	} {
		var got []string
		for _, r := range w.r.Wakes(t.Context(), c.before, c.after) {
			got = append(got, r.Name)
			if r.After != c.delay {
				t.Errorf("%s: after %v", c.reason, r.After)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	if _, err := New(gardener.Machines{}, Options{}); err == nil || !strings.Contains(err.Error(), "machines of "+provider.Gardener) {
		t.Errorf("machines that do not record their node: %v", err)
	}
	api, _ := apis.Of(provider.OpenShift)
	lease := api.LinkLease()
	if lease != "cluster-api-provider-nodelink-leader" || api.LeadsMachines(lease) || !api.LeadsMachines(strings.Replace(lease, "nodelink", "sim", 1)) {
		t.Errorf("the lease %s is that of a machine controller, or not the original's", lease)
	}
}
