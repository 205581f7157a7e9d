package postmortem_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/provider"
)

// TestKeepsWhatWasKnown: a machine that did not join in time leaves all that
// could be known about it, and no secret.
func TestKeepsWhatWasKnown(t *testing.T) {
	w := gardenerWorld(t)
	i := w.instance("uid-m", "m")
	m := gardenerMachine("m", v1alpha1.MachinePending, 20*time.Minute)
	m.Spec.ProviderID = i.ProviderID
	w.create(m, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "e"}, InvolvedObject: corev1.ObjectReference{UID: "uid-m"},
		Reason: "FailedCreate", Message: "password=" + "hunter2-hunter2", Type: "Warning", LastTimestamp: metav1.NewTime(start.Add(-time.Minute)), Count: 2,
	}, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "other"}, InvolvedObject: corev1.ObjectReference{UID: "uid-x"}, Reason: "Other"})
	w.requests = []postmortem.Request{{Name: "csr-1", Verdict: "Refuse", Reason: "UnexpectedUsages", Message: "usages"}}
	w.seen(m)
	if n := len(w.stored()); n != 0 {
		t.Fatalf("%d records about a machine that is joining, want none", n)
	}
	w.update(m, func(m *v1alpha1.Machine) {
		m.Status.CurrentStatus.Phase = v1alpha1.MachineFailed
		m.Status.LastOperation = v1alpha1.LastOperation{State: v1alpha1.MachineStateFailed, Type: "Create", Description: "Machine m failed to join the cluster in 20 minutes."}
	})

	c, r := w.only()
	if c.Namespace != ns || c.Labels["millwright.dev/evidence"] != "machine" || len(c.OwnerReferences) != 0 ||
		c.Annotations["millwright.dev/evidence-of"] != "machines.machine.sapcloud.io/m" ||
		c.Annotations["millwright.dev/evidence-expires"] != "2026-01-09T03:04:05Z" {
		t.Errorf("stored as %+v, want a marked ConfigMap that nothing owns, for seven days", c.ObjectMeta)
	}
	if raw := c.Data[status.Key]; strings.Contains(raw, password) || strings.Contains(raw, "0123456789abcdef") || strings.Contains(raw, "hunter2") {
		t.Errorf("a secret is kept: %s", raw)
	}
	if r.Cause != postmortem.GivenUp || r.Owner != "MachineSet/set" || r.Phase != "Failed" || r.Summary != "Machine m failed to join the cluster in 20 minutes." {
		t.Errorf("kept as %q of %q in %q: %q", r.Cause, r.Owner, r.Phase, r.Summary)
	}
	if !strings.HasSuffix(r.Console, "kubelet: no route to host\n") || !strings.HasPrefix(r.Console, "boot\n") {
		t.Errorf("the console is %q", r.Console)
	}
	if r.Instance == nil || r.Instance.ID != i.ID || r.Instance.State != string(provider.Pending) {
		t.Errorf("the instance is %+v, want %s", r.Instance, i.ID)
	}
	if len(r.Events) != 1 || r.Events[0].Reason != "FailedCreate" || r.Events[0].Count != 2 {
		t.Errorf("events %+v, want the machine's own", r.Events)
	}
	if !slices.Contains(w.asked, "uid-m") || !slices.Contains(w.asked, "n-m") || len(r.Requests) != 1 || r.Requests[0].Message != "usages" {
		t.Errorf("requests %+v of %v", r.Requests, w.asked)
	}
	var whats []string
	for _, m := range r.Moments {
		whats = append(whats, m.What)
	}
	if want := []string{"created", "phase Failed", "instance created"}; !slices.Equal(slices.Sorted(slices.Values(whats)), slices.Sorted(slices.Values(want))) {
		t.Errorf("moments %v, want %v", whats, want)
	}
	if r.Node != nil || len(r.Gaps) > 0 {
		t.Errorf("node %+v, gaps %v; want none", r.Node, r.Gaps)
	}
}

// TestReplacedLeavesEvidence: of a machine that was replaced because its node was
// deleted stays why, though its node looked healthy to the end.
func TestReplacedLeavesEvidence(t *testing.T) {
	w := gardenerWorld(t)
	m := gardenerMachine("m", v1alpha1.MachineRunning, time.Hour)
	m.Annotations = map[string]string{"millwright.dev/deleted-because": "node n-m was deleted"}
	w.create(m)
	w.seen(m)
	if n := len(w.stored()); n != 0 {
		t.Fatalf("%d records about a machine that is not deleted, want none", n)
	}
	w.delete(m)
	if _, r := w.only(); r.Cause != postmortem.NodeDeleted || r.Summary != "node n-m was deleted" {
		t.Errorf("kept as %q: %q", r.Cause, r.Summary)
	}
}

// TestOnce: the record is taken once, also across deletion and restart.
func TestOnce(t *testing.T) {
	w := gardenerWorld(t)
	m := gardenerMachine("m", v1alpha1.MachineFailed, time.Hour)
	w.create(m)
	w.seen(m)
	first, _ := w.only()
	opened := w.provider.opened
	w.update(m, func(m *v1alpha1.Machine) { m.Annotations = map[string]string{"a": "b"} })
	w.restart()
	w.seen(m)
	w.delete(m)
	again, _ := w.only()
	if again.ResourceVersion != first.ResourceVersion || w.provider.opened != opened {
		t.Errorf("the infrastructure was asked %d times more, the record written at %s and %s", w.provider.opened-opened, first.ResourceVersion, again.ResourceVersion)
	}
	if w.calls["create *v1.ConfigMap"] != 1 {
		t.Errorf("%d attempts to store, want 1", w.calls["create *v1.ConfigMap"])
	}
}

// TestRemedied: a machine that is deleted while its node is unwell leaves the
// node's last conditions, in both APIs.
func TestRemedied(t *testing.T) {
	t.Run(provider.Gardener, func(t *testing.T) {
		w := gardenerWorld(t, aNode("n-m", corev1.ConditionUnknown))
		m := gardenerMachine("m", v1alpha1.MachineRunning, time.Hour)
		w.create(m)
		w.seen(m)
		w.delete(m)
		_, r := w.only()
		remedied(t, r)
	})
	t.Run(provider.OpenShift, func(t *testing.T) {
		w := newWorld[*machinev1.Machine](t, openshift.Machines{}, aNode("n-m", corev1.ConditionUnknown))
		m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: "m", UID: "uid-m", Finalizers: []string{machinev1.MachineFinalizer},
			Labels: map[string]string{openshift.ClusterLabel: ns}, CreationTimestamp: metav1.NewTime(start.Add(-time.Hour)),
		}}
		m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"size":"small","zone":"a"}`)}
		m.Status.Phase, m.Status.NodeRef = ptr.To(machinev1.PhaseRunning), &corev1.ObjectReference{Kind: "Node", Name: "n-m"}
		w.create(m)
		w.seen(m)
		w.delete(m)
		c, r := w.only()
		remedied(t, r)
		if c.Annotations["millwright.dev/evidence-of"] != "machines.machine.openshift.io/m" || r.API != provider.OpenShift {
			t.Errorf("stored as %v of %s", c.Annotations, r.API)
		}
	})
}

func remedied(t *testing.T, r postmortem.Record) {
	t.Helper()
	if r.Cause != postmortem.Unwell || r.Node == nil || r.Node.Conditions[0].Message != "Kubelet stopped posting node status." ||
		r.Summary != "node n-m: Ready is Unknown (KubeletStopped)" {
		t.Errorf("kept as %q, %q, node %+v", r.Cause, r.Summary, r.Node)
	}
}

// TestLeavesNone: what goes in good order leaves nothing, whenever it is looked
// at.
func TestLeavesNone(t *testing.T) {
	for _, test := range []struct {
		name    string
		phase   v1alpha1.MachinePhase
		node    *corev1.Node
		restart bool
		reason  string
	}{
		{"scaled down", v1alpha1.MachineRunning, aNode("n-m", corev1.ConditionTrue), false, "its node is Ready"},
		{"scaled down before a restart", v1alpha1.MachineTerminating, nil, true, "its node was deleted in the course of things"},
		{"just made", v1alpha1.MachinePending, nil, false, "it had no time to join"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := gardenerWorld(t)
			if test.node != nil {
				w.create(test.node)
			}
			m := gardenerMachine("m", test.phase, 0)
			m.CreationTimestamp = metav1.Now() // the fake API server deletes by the wall clock
			w.create(m)
			if !test.restart {
				w.seen(m)
			}
			w.delete(m)
			if test.node != nil {
				if err := w.api.Delete(t.Context(), test.node); err != nil {
					t.Fatal(err)
				}
			}
			w.update(m, func(m *v1alpha1.Machine) { m.Status.CurrentStatus.Phase = v1alpha1.MachineTerminating })
			if n := len(w.stored()); n != 0 {
				t.Errorf("%d records, want none: %s", n, test.reason)
			}
		})
	}
}

// TestGaps: what cannot be read is said, and the rest is kept.
func TestGaps(t *testing.T) {
	lost := errors.New("connection refused")
	for _, test := range []struct {
		name, refuse, want string
		break_             func(w *world[*v1alpha1.Machine])
		has                func(postmortem.Record) bool
	}{
		{name: "events", refuse: "list *v1.EventList", want: "events: connection refused", has: func(r postmortem.Record) bool { return r.Console != "" && r.Node != nil }},
		{name: "node", refuse: "get *v1.Node", want: "connection refused", has: func(r postmortem.Record) bool { return r.Console != "" && r.Node == nil }},
		{name: "class", refuse: "get *v1alpha1.MachineClass", want: "instance: spec.class.name: read machineclass small: connection refused", has: func(r postmortem.Record) bool { return r.Instance == nil && r.Node != nil }},
		{name: "console", want: "console: not allowed", break_: func(w *world[*v1alpha1.Machine]) { w.provider.err = errors.New("not allowed") }, has: func(r postmortem.Record) bool { return r.Instance != nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := gardenerWorld(t, aNode("n-m", corev1.ConditionFalse))
			i := w.instance("uid-m", "m")
			m := gardenerMachine("m", v1alpha1.MachineFailed, time.Hour)
			m.Spec.ProviderID = i.ProviderID
			w.create(m)
			w.refuse = func(call string) error {
				if call == test.refuse {
					return lost
				}
				return nil
			}
			if test.break_ != nil {
				test.break_(w)
			}
			w.seen(m)
			w.refuse = nil
			_, r := w.only()
			if len(r.Gaps) != 1 || !strings.Contains(r.Gaps[0], test.want) {
				t.Errorf("gaps %q, want one: %q", r.Gaps, test.want)
			}
			if !test.has(r) {
				raw, _ := json.Marshal(r)
				t.Errorf("what could be read is not all there: %s", raw)
			}
		})
	}
}

// TestForbidden: without the right to read or write records nothing is tried
// again, and with a passing failure it is.
func TestForbidden(t *testing.T) {
	w := gardenerWorld(t)
	m := gardenerMachine("m", v1alpha1.MachineFailed, time.Hour)
	w.create(m)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "x", errors.New("no"))
	w.refuse = func(call string) error {
		if strings.HasSuffix(call, "ConfigMap") {
			return forbidden
		}
		return nil
	}
	w.seen(m)
	w.seen(m)
	if n := w.calls["get *v1.ConfigMap"]; n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
	w.restart()
	w.refuse = func(call string) error {
		if call == "create *v1.ConfigMap" {
			return errors.New("timeout")
		}
		return nil
	}
	req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(m)}
	if _, err := w.keeper.Reconcile(t.Context(), req); err == nil {
		t.Error("a write that failed is not tried again")
	}
	w.refuse = nil
	if _, err := w.keeper.Reconcile(t.Context(), req); err != nil {
		t.Error(err)
	}
	w.only()
}

// TestSweep: records go when their time is over, and only records.
func TestSweep(t *testing.T) {
	w := gardenerWorld(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "of-somebody", CreationTimestamp: metav1.NewTime(start.Add(-99 * 24 * time.Hour))}})
	w.create(gardenerMachine("a", v1alpha1.MachineFailed, time.Hour), gardenerMachine("b", v1alpha1.MachineFailed, time.Hour))
	w.seen(gardenerMachine("a", v1alpha1.MachineFailed, time.Hour))
	w.clock.Step(6 * 24 * time.Hour)
	w.seen(gardenerMachine("b", v1alpha1.MachineFailed, time.Hour))
	left := func() (names []string) {
		t.Helper()
		if err := w.keeper.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, c := range w.stored() {
			names = append(names, c.Name)
		}
		return names
	}
	a, b := status.StoredName("a", "uid-a"), status.StoredName("b", "uid-b")
	for _, step := range []struct {
		after time.Duration
		want  []string
	}{
		{0, []string{a, b, "of-somebody"}},
		{24*time.Hour - time.Second, []string{a, b, "of-somebody"}},
		{time.Second, []string{b, "of-somebody"}},
		{6 * 24 * time.Hour, []string{"of-somebody"}},
	} {
		w.clock.Step(step.after)
		if got := left(); !slices.Equal(got, step.want) {
			t.Errorf("at %v there are %v, want %v", w.clock.Now().Sub(start), got, step.want)
		}
	}
}

// TestStorm: the cap holds, the beginning of a storm stays.
func TestStorm(t *testing.T) {
	w := gardenerWorld(t)
	w.policy.PerNamespace = 3
	w.restart()
	fail := func(names ...string) {
		t.Helper()
		for _, n := range names {
			m := gardenerMachine(n, v1alpha1.MachineFailed, time.Hour)
			w.create(m)
			w.seen(m)
		}
	}
	has := func(want ...string) {
		t.Helper()
		var got []string
		for _, c := range w.stored() {
			got = append(got, strings.Split(c.Name, "-")[1])
		}
		if !slices.Equal(got, want) {
			t.Errorf("kept are %v, want %v", got, want)
		}
	}
	fail("a", "b", "c", "d", "e")
	has("a", "b", "c")
	w.clock.Step(2 * time.Hour)
	fail("f")
	has("b", "c", "f")
}
