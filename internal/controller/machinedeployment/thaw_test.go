package machinedeployment_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// A person's wish to thaw is passed on once: a set that has far too many
// machines thaws and freezes again, and is not told another time.
func TestThawOnce(t *testing.T) {
	w := newWorld(t, gardenerAPI)
	w.declare(2)
	r := w.controller()
	w.rest(r)
	w.change(func(d *gardenerDeployment) { d.Annotations[v1alpha1.AnnotationKeyUnfreeze] = "True" })
	freeze := func(wished bool) {
		t.Helper()
		s := w.sets()[0]
		if _, asked := s.Annotations[v1alpha1.AnnotationKeyUnfreeze]; asked != wished {
			t.Fatalf("the set is told: %v, want %v", asked, wished)
		}
		// It thaws and freezes at once.
		delete(s.Annotations, v1alpha1.AnnotationKeyUnfreeze)
		s.Labels[v1alpha1.LabelKeyFreeze] = v1alpha1.LabelValueTrue
		w.must(w.Client.Update(t.Context(), s, &client.UpdateOptions{}))
		w.sync()
	}
	freeze(false)
	for range 3 {
		if _, err := w.reconcile(r); err != nil {
			t.Fatal(err)
		}
		if len(w.sets()) != 1 {
			t.Fatalf("%d sets", len(w.sets()))
		}
		_, asked := w.deployment().Annotations[v1alpha1.AnnotationKeyUnfreeze]
		if asked {
			t.Fatal("the wish is still there")
		}
		w.sync()
	}
	if _, asked := w.sets()[0].Annotations[v1alpha1.AnnotationKeyUnfreeze]; !asked {
		t.Error("the set was not told")
	}
	freeze(true)
	for range 3 {
		if _, err := w.reconcile(r); err != nil {
			t.Fatal(err)
		}
		w.sync()
	}
	freeze(false)
}
