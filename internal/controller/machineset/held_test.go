package machineset_test

import (
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
)

// fail makes n machines of the set failed for good.
func (g *guarded[S]) fail(t *testing.T, n int) {
	t.Helper()
	for _, o := range g.machinesOf(t, g.Client)[:n] {
		switch m := o.(type) {
		case *machinev1.Machine:
			m.Status.Phase = ptr.To("Failed")
		case *v1alpha1.Machine:
			m.Status.CurrentStatus.Phase = v1alpha1.MachineFailed
		}
		if err := g.Client.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// lose deletes one machine of the set behind its back.
func (g *guarded[S]) lose(t *testing.T) {
	t.Helper()
	all := g.machinesOf(t, g.Client)
	if err := g.Client.Delete(t.Context(), all[len(all)-1]); err != nil {
		t.Fatal(err)
	}
}

// TestHeldSetGivesUpTheFailed: a set of 10 that its deployment holds has one machine
// less, and 4 failed after that. They go, since an alarm that stops the rollout lasts as
// long as they are there, and nothing comes for them until the set is let go. An API whose sets
// replace nothing keeps them.
func TestHeldSetGivesUpTheFailed(t *testing.T) {
	g := newGuarded(t, gardenerAPI)
	label := func(labels map[string]string) {
		s := g.read(t)
		s.Labels = labels
		if err := g.Client.Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	label(map[string]string{v1alpha1.LabelKeyScaleUpDisabled: "true"})
	g.lose(t)
	g.fail(t, 4)
	g.passes(t)
	g.expect(t, "held", 5, "")
	label(nil)
	g.passes(t)
	g.expect(t, "let go", 10, "")

	o := newGuarded(t, openshiftAPI)
	o.annotate(t, openshift.ScaleUpDisabledAnnotation, "true")
	o.lose(t)
	o.fail(t, 4)
	o.passes(t)
	o.expect(t, "in the other API", 9, "")
}
