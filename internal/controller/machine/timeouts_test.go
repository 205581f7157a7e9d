package machine_test

import (
	"fmt"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/provider"
)

// silentSet is a set of the API that knows no timeouts: three running machines
// whose nodes fall silent.
func silentSet(t *testing.T, annotations map[string]string) *rig[*machinev1.Machine] {
	t.Helper()
	objects := []client.Object{userData("x")}
	for i := range 3 {
		objects = append(objects, openshiftMachine(held[*machinev1.Machine](openshiftFinalizer), func(m *machinev1.Machine) {
			m.Name, m.UID, m.Annotations = fmt.Sprintf("m-%d", i), types.UID(fmt.Sprintf("uid-%d", i)), annotations
			m.Labels[openshift.SetLabel] = "set"
			m.Spec.ProviderID = ptr.To(fmt.Sprintf("memory:///i-%d", i))
			m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "machine.openshift.io/v1beta1", Kind: "MachineSet", Name: "set", UID: "set-1", Controller: ptr.To(true)}}
			m.Status.Phase, m.Status.NodeRef = ptr.To("Running"), &corev1.ObjectReference{Kind: "Node", Name: fmt.Sprintf("node-%d", i)}
		}))
	}
	g := newRig[*machinev1.Machine](t, openshift.Machines{}, objects...)
	for i := range 3 {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}, Spec: corev1.NodeSpec{ProviderID: fmt.Sprintf("memory:///i-%d", i)}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
		if err := g.target.WithWatch.Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		g.cloud.instances = append(g.cloud.instances, provider.Instance{
			ID: fmt.Sprint(i), UID: fmt.Sprintf("uid-%d", i), ProviderID: fmt.Sprintf("memory:///i-%d", i), State: provider.Running,
		})
	}
	return g
}

// phasesAfter lets time pass by the minute.
func phasesAfter(t *testing.T, g *rig[*machinev1.Machine], minutes int) string {
	t.Helper()
	for range minutes {
		for i := range 3 {
			if _, err := g.try(fmt.Sprintf("m-%d", i)); err != nil {
				t.Fatal(err)
			}
		}
		g.clock.Step(time.Minute)
	}
	var list machinev1.MachineList
	if err := g.control.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range list.Items {
		out = append(out, ptr.Deref(m.Status.Phase, ""))
	}
	return fmt.Sprint(out)
}

// A machine with its own health timeout fails after it, one of a set at a time: failure is final, so the
// next waits until the first is replaced.
func TestHealthTimeoutByAnnotation(t *testing.T) {
	g := silentSet(t, map[string]string{dialect.HealthTimeoutAnnotation: "10m"})
	if got := phasesAfter(t, g, 10); got != "[Running Running Running]" {
		t.Errorf("before the timeout: %s", got)
	}
	if got := phasesAfter(t, g, 60); got != "[Failed Running Running]" {
		t.Errorf("an hour later: %s", got)
	}
	// The nodes of the others come back.
	for i := range 3 {
		n := &corev1.Node{}
		if err := g.target.Get(t.Context(), client.ObjectKey{Name: fmt.Sprintf("node-%d", i)}, n); err != nil {
			t.Fatal(err)
		}
		n.Status.Conditions[0].Status = corev1.ConditionTrue
		if err := g.target.WithWatch.Status().Update(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if got := phasesAfter(t, g, 60); got != "[Failed Running Running]" {
		t.Errorf("the nodes are Ready again: %s", got)
	}
}

// No machine fails, and nothing is written, if no timeout was requested.
func TestNoTimeoutsByDefault(t *testing.T) {
	g := silentSet(t, nil)
	phasesAfter(t, g, 1)
	g.written()
	if got := phasesAfter(t, g, 600); got != "[Running Running Running]" {
		t.Errorf("after ten hours: %s", got)
	}
	if w := g.written(); len(w) > 0 {
		t.Errorf("wrote %v", w)
	}
}

// A machine that does not join within its own timeout is Failed, with the
// reason that this API has for it.
func TestCreationTimeoutByAnnotation(t *testing.T) {
	for timeout, want := range map[string]string{"20m": "Failed", "": "Provisioned"} {
		g := openshiftRig(t, func(m *machinev1.Machine) {
			m.Annotations = map[string]string{dialect.CreationTimeoutAnnotation: timeout}
		})
		g.pass()
		g.clock.Step(19 * time.Minute)
		g.pass()
		if got := ptr.Deref(g.read().Status.Phase, ""); got != "Provisioned" {
			t.Errorf("%q, before: %s", timeout, got)
		}
		g.clock.Step(2 * time.Minute)
		g.pass()
		m := g.read()
		if got := ptr.Deref(m.Status.Phase, ""); got != want || (want == "Failed") != (ptr.Deref(m.Status.ErrorReason, "") == machinev1.JoinClusterTimeoutMachineError) {
			t.Errorf("%q, after: %s, %q", timeout, got, ptr.Deref(m.Status.ErrorReason, ""))
		}
	}
}
