package machinedeployment_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// stray is a set as the deployment would create it, changed by edit, which no cache shows yet.
func (w *world[D, S]) stray(edit func(S)) S {
	w.t.Helper()
	s := w.lens.Sets().New(w.deployment(), rollout.SetWant{Current: true, Replicas: 2})
	s.SetOwnerReferences(nil)
	edit(s)
	w.must(w.store(w.t.Context(), s))
	return s
}

// read is a set as the server has it.
func (w *world[D, S]) read(s S) S {
	w.t.Helper()
	now := w.lens.Sets().Lens().New()
	w.must(w.Client.Get(w.t.Context(), client.ObjectKeyFromObject(s), now))
	return now
}

func TestAdopt(t *testing.T) { both(t, adopt, adopt) }

// A set that belongs here and has lost its owner is taken over, with its
// machines, and no other is made.
func adopt[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(2)
	s := w.stray(func(S) {})
	w.rest(w.controller())
	ref := metav1.GetControllerOf(w.read(s))
	if ref == nil || ref.UID != w.deployment().GetUID() || ref.Kind != w.lens.Traits().Kind.Kind || !*ref.BlockOwnerDeletion {
		t.Errorf("the set is owned by %v", ref)
	}
	if n := len(w.sets()); n != 1 {
		t.Errorf("%d sets, want the one that was there", n)
	}
	if told := w.recorded(); len(told) == 0 || !strings.HasPrefix(told[0], "Normal Adopted ") {
		t.Errorf("told %q", told)
	}
}

// A deployment that does not exist, or is under deletion without its sets, adopts nothing, whatever the
// cache shows of it.
func TestAdoptAsksFirst(t *testing.T) { both(t, adoptAsksFirst, adoptAsksFirst) }

func adoptAsksFirst[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(2, func(d D) { d.SetFinalizers([]string{metav1.FinalizerOrphanDependents}) })
	s := w.stray(func(S) {})
	w.sync()
	w.must(w.Client.Delete(t.Context(), w.deployment()))
	if res, err := w.reconcile(w.controller()); err != nil || res.RequeueAfter == 0 {
		t.Errorf("again after %s, %v; want to look again shortly", res.RequeueAfter, err)
	}
	if refs := w.read(s).GetOwnerReferences(); len(refs) != 0 {
		t.Errorf("a deployment on its way out adopted the set: %v", refs)
	}
}

func TestRelease(t *testing.T) { both(t, release, release) }

// A set whose labels were changed is let go with its machines, and replaced.
func release[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(2)
	r := w.controller()
	w.rest(r)
	gone := w.sets()[0]
	gone.SetLabels(map[string]string{"pool": "other"})
	w.must(w.Client.Update(t.Context(), gone))
	w.rest(r)
	if refs := w.read(gone).GetOwnerReferences(); len(refs) != 0 {
		t.Errorf("the set is still owned by %v", refs)
	}
	if views := w.views(); len(views) != 1 || views[0].UID == gone.GetUID() || views[0].Replicas != 2 {
		t.Errorf("the deployment has %+v, want another set of 2", views)
	}
}

func TestForeignSets(t *testing.T) { both(t, foreignSets, foreignSets) }

// What another controls, and what the selector does not match, is not touched.
func foreignSets[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(2)
	others := []S{
		w.stray(func(s S) {
			s.SetName("controlled")
			yes := true
			s.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x", Controller: &yes}})
		}),
		w.stray(func(s S) { s.SetName("unmatched"); s.SetLabels(map[string]string{"pool": "other"}) }),
	}
	w.rest(w.controller())
	for _, s := range others {
		if now := w.read(s); now.GetResourceVersion() != s.GetResourceVersion() {
			t.Errorf("set %s was changed: %+v", s.GetName(), now)
		}
	}
	if views := w.views(); len(views) != 1 {
		t.Errorf("the deployment has %d sets, want its own one", len(views))
	}
}

func TestNameCollision(t *testing.T) { both(t, nameCollision, nameCollision) }

// Where the name of the new set is taken by a foreign one, another is found,
// and the foreign one is left alone.
func nameCollision[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(2)
	foreign := w.stray(func(s S) { s.SetLabels(map[string]string{"pool": "other"}) })
	w.rest(w.controller())
	if now := w.read(foreign); now.GetResourceVersion() != foreign.GetResourceVersion() {
		t.Errorf("the foreign set was changed: %+v", now)
	}
	views := w.views()
	if len(views) != 1 || views[0].Name == foreign.GetName() || views[0].Replicas != 2 {
		t.Fatalf("the deployment has %+v, want a set of another name", views)
	}
	if n := a.collisions(w.deployment()); n != 1 {
		t.Errorf("%d collisions recorded, want 1", n)
	}
}

// TestUnclaimedMachines: a restore without owner references leaves machines that the set has
// yet to take over. It has not lost them, and their deployment counts on them.
func TestUnclaimedMachines(t *testing.T) {
	both(t, unclaimedMachines, unclaimedMachines)
}

func unclaimedMachines[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(3)
	r := w.controller()
	w.rest(r)
	for i, m := range w.machines() {
		m.SetOwnerReferences(nil)
		if i == 0 {
			m.SetLabels(map[string]string{"of": "nobody"})
		}
		w.must(w.Client.Update(t.Context(), m))
	}
	w.sync()
	w.pass(r)
	d, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.deployment())
	w.must(err)
	if n, _, _ := unstructured.NestedInt64(d, "status", "availableReplicas"); n != 2 {
		t.Errorf("%d machines count as available, want the 2 that the set may take over", n)
	}
}
