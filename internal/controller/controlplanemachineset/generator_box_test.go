package controlplanemachineset

import (
	"fmt"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestGeneratedAgain: a generated set whose selector no longer matches the newest machine is deleted and generated again.
func TestGeneratedAgain(t *testing.T) {
	s := newStage(t)
	g := NewGenerator(s.options)
	s.masters("a", "b", "c")
	for range 2 {
		s.must(g.pass(t.Context(), s.request().NamespacedName))
		s.settle(nil)
	}
	first := s.read()
	for _, m := range s.machines() {
		before := m.DeepCopy()
		m.Labels[machinev1beta1.MachineClusterIDLabel] = "c2"
		s.must(s.Patch(t.Context(), &m, client.MergeFrom(before)))
	}
	s.must(g.pass(t.Context(), s.request().NamespacedName)) // deletes it
	s.pass()                                                // removes the finalizer
	s.must(g.pass(t.Context(), s.request().NamespacedName))
	if again := s.read(); again.UID == first.UID || again.Spec.Selector.MatchLabels[machinev1beta1.MachineClusterIDLabel] != "c2" {
		t.Errorf("%s, %v", again.UID, again.Spec.Selector)
	}
}

// TestGenerator: an inactive set follows the machines, an edit does not last, and an activation does.
func TestGenerator(t *testing.T) {
	s := newStage(t)
	g := NewGenerator(s.options)
	generate := func() {
		t.Helper()
		if _, err := g.Reconcile(t.Context(), s.request()); err != nil {
			t.Fatal(err)
		}
	}
	s.masters("a")
	generate()
	if err := s.Get(t.Context(), s.request().NamespacedName, &machinev1.ControlPlaneMachineSet{}); !apierrors.IsNotFound(err) {
		t.Fatalf("one machine is no control plane: %v", err)
	}
	for i, zone := range []string{"b", "c"} {
		m := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: fmt.Sprintf("old-master-%d", i+1), Labels: masterLabels()}}
		m.Spec.ProviderSpec.Value = s.machines()[0].Spec.ProviderSpec.Value.DeepCopy()
		m.Spec.ProviderSpec.Value.Raw = rawSpec("m5", zone)
		s.must(s.Create(t.Context(), m))
	}
	s.live(nil)
	generate()
	first := s.read()
	if first.Spec.State != machinev1.ControlPlaneMachineSetStateInactive || len(*first.Spec.Template.OpenShiftMachineV1Beta1Machine.FailureDomains.AWS) != 3 {
		t.Fatalf("generated %+v", first.Spec)
	}
	s.settle(nil)
	s.want("an inactive set changes nothing", "0 m5 a, 1 m5 b, 2 m5 c")
	generate()
	if again := s.read(); again.Generation != first.Generation {
		t.Errorf("the set was written again without a change")
	}
	s.edit(instance("m6"))
	generate()
	if now := s.read(); now.UID != first.UID || strings.Contains(string(now.Spec.Template.OpenShiftMachineV1Beta1Machine.Spec.ProviderSpec.Value.Raw), "m6") {
		t.Errorf("K14: the edit lasts, or the set was replaced: %s", now.Spec.Template.OpenShiftMachineV1Beta1Machine.Spec.ProviderSpec.Value.Raw)
	}
	s.edit(func(set *machinev1.ControlPlaneMachineSet) {
		instance("m6")(set)
		set.Spec.State = machinev1.ControlPlaneMachineSetStateActive
	})
	generate()
	s.settle(nil)
	s.want("an active set is rolled out", "0 m6 a, 1 m6 b, 2 m6 c")
}
