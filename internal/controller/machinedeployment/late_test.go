package machinedeployment_test

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/machinedeployment"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

func TestLateSize(t *testing.T) { both(t, lateSize, lateSize) }

// A size without an answer may still be written to a set. When something else is wanted
// meanwhile, that is waited for: the machines of that size would come on top, or be
// missed.
func lateSize[D, S client.Object](t *testing.T, a api[D, S]) {
	tests := map[string]struct {
		reason string
		// set is the template of the one whose size is late, to the one that is
		// wanted meanwhile.
		set, to  string
		recreate bool
		touched  bool
		waits    bool
	}{
		"growth from nothing":        {"old machines are gone, and two sets would have all that are wanted", "v2", "v3", true, false, true},
		"growth, another template":   {"the set may yet grow", "v2", "v3", false, false, true},
		"growth, back":               {"the set may yet grow", "v2", "v1", false, false, true},
		"less, back":                 {"the set may yet give up a machine", "v1", "v1", false, false, true},
		"growth, the same":           {"the set is told so again", "v2", "v2", false, false, false},
		"less, the same":             {"the set is told so again", "v1", "v2", false, false, false},
		"growth, and somebody wrote": {"the size is for a version that is past", "v2", "v3", false, true, false},
		"less, and somebody wrote":   {"the size is for a version that is past", "v1", "v1", false, true, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, a)
			r := w.controller()
			w.declare(3, func(d D) {
				if tc.recreate {
					a.recreate(d)
				}
			})
			w.delaySize(r, tc.set)
			for _, s := range w.sets() {
				if tc.touched && a.version(s) == tc.set {
					w.touch(s)
				}
			}
			w.change(func(d D) { a.template(d, tc.to) })
			w.sync()
			before := w.writes
			w.pass(r)
			if waits := w.writes == before; waits != tc.waits {
				t.Errorf("%s: waits %v", tc.reason, waits)
			}
			w.land()
			old, v2 := w.sizes()
			if n := old + v2; n > 4 || n < 3 && !tc.recreate {
				t.Errorf("%s: the sets are to have %d machines, want 3 or 4", tc.reason, n)
			}
			w.rest(r)
			if n := len(w.machines()); n != 3 {
				t.Errorf("%s: %d machines in the end", tc.reason, n)
			}
		})
	}
}

func TestLateSizeIsNotWaitedForForEver(t *testing.T) { both(t, lateSizeEnds, lateSizeEnds) }

// A write that has not happened when the API server aborts the request does not happen later.
func lateSizeEnds[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	r := w.controller()
	w.declare(3)
	w.delaySize(r, "v2")
	w.late = nil
	w.change(func(d D) { a.template(d, "v3") })
	w.sync()
	res, err := w.reconcile(r)
	if err != nil || res.RequeueAfter <= 0 || res.RequeueAfter > time.Minute || len(w.sets()) != 2 {
		t.Fatalf("%d sets, again after %s, %v; want to wait for the late size", len(w.sets()), res.RequeueAfter, err)
	}
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.pass(r)
	if n := len(w.sets()); n != 3 {
		t.Errorf("%d sets after a minute, want one of v3 beside the others", n)
	}
}

func TestLateSetUnderATakenName(t *testing.T) {
	both(t, lateSetUnderATakenName, lateSetUnderATakenName)
}

// The name of a set whose creation got no answer is taken by one that is going, or by one of
// others. Once that has gone the creation may happen after all: no other set is made before it
// cannot any more.
func lateSetUnderATakenName[D, S client.Object](t *testing.T, a api[D, S]) {
	for name, c := range map[string]struct{ lands, foreign, owned bool }{
		"it happens": {true, false, false}, "it does not": {false, false, false},
		"of others, it happens": {true, true, false}, "of others, it does not": {false, true, false},
		"of an earlier creation, it happens": {true, false, true}, "of an earlier creation, it does not": {false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, a)
			r := w.controller()
			w.declare(3)
			w.fate = func(o client.Object) fate {
				if o.GetUID() == "" {
					return delayed
				}
				return fine
			}
			w.sync()
			_, err := w.reconcile(r)
			if err == nil || len(w.late) == 0 {
				t.Fatalf("no creation is on its way: %v", err)
			}
			w.fate = func(client.Object) fate { return fine }
			other := w.stray(func(s S) {
				s.SetFinalizers([]string{"example.com/slow"})
				if c.foreign {
					s.SetLabels(map[string]string{"pool": "other"})
				}
				if c.owned {
					s.SetOwnerReferences(w.lens.Sets().New(w.deployment(), rollout.SetWant{Current: true}).GetOwnerReferences())
				}
			})
			if !c.foreign {
				w.must(w.Client.Delete(t.Context(), other))
			}
			for range 3 {
				w.pass(r)
				w.sync()
			}
			if c.foreign {
				w.must(w.Client.Delete(t.Context(), w.read(other)))
			}
			now := w.read(other)
			now.SetFinalizers(nil)
			w.must(w.Client.Update(t.Context(), now))
			if !c.lands {
				w.late = nil
			}
			w.land()
			if sets := len(w.sets()); sets > 1 {
				t.Errorf("%d sets of one template", sets)
			}
			if !c.lands {
				w.clock.SetTime(w.clock.Now().Add(time.Minute))
			}
			w.rest(r)
			if sets, n := len(w.sets()), len(w.machines()); sets != 1 || n != 3 {
				t.Errorf("%d sets with %d machines, want one with 3", sets, n)
			}
		})
	}
}

// delaySize begins a rollout to v2, up to where the set of the template gets another
// size, which does not arrive yet.
func (w *world[D, S]) delaySize(r *machinedeployment.Reconciler[D, S], set string) {
	w.t.Helper()
	w.rest(r)
	w.change(func(d D) { w.template(d, "v2") })
	w.fate = func(o client.Object) fate {
		if s, is := o.(S); is && w.version(s) == set && s.GetUID() != "" && w.setSize(s) != w.sizeOf(s) {
			return delayed
		}
		return fine
	}
	for range 20 {
		w.sync()
		if _, err := w.reconcile(r); err != nil {
			w.fate = func(client.Object) fate { return fine }
			return
		}
		w.work()
	}
	w.t.Fatal("the set gets no other size")
}

// sizeOf is the size that the set has on the server.
func (w *world[D, S]) sizeOf(s S) int {
	now := w.lens.Sets().Lens().New()
	w.must(w.Client.Get(w.t.Context(), client.ObjectKeyFromObject(s), now))
	return w.setSize(now)
}

func TestGoingSetIsReplaced(t *testing.T) { both(t, goingSetIsReplaced, goingSetIsReplaced) }

// Another client deletes the set, and a foreign finalizer keeps it. Its name is not waited for: a set with
// another name has the machines meanwhile.
func goingSetIsReplaced[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	r := w.controller()
	w.declare(3)
	w.rest(r)
	going := w.sets()[0]
	going.SetFinalizers(append(going.GetFinalizers(), "example.com/slow"))
	w.must(w.Client.Update(t.Context(), going))
	w.must(w.Client.Delete(t.Context(), going))
	for range 20 {
		w.sync()
		w.pass(r)
		w.clock.SetTime(w.clock.Now().Add(time.Second))
	}
	sets := w.sets()
	if len(sets) != 2 {
		t.Fatalf("%d sets, want the one that goes and another", len(sets))
	}
	for _, s := range sets {
		if s.GetUID() != going.GetUID() && w.setSize(s) != 1 {
			t.Errorf("the new set has %d machines, want the one that may be there beside the three that go", w.setSize(s))
		}
	}
}

func TestDeletedDeploymentMakesNoSet(t *testing.T) {
	both(t, deletedDeploymentMakesNoSet, deletedDeploymentMakesNoSet)
}

// A user deletes a deployment and its set at once, and the cache shows only the deletion of the set.
func deletedDeploymentMakesNoSet[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	r := w.controller()
	w.declare(3)
	w.rest(r)
	w.sync()
	w.must(w.Client.Delete(t.Context(), w.deployment()))
	for _, s := range w.sets() {
		s.SetFinalizers(nil)
		w.must(w.Client.Update(t.Context(), s))
		w.must(client.IgnoreNotFound(w.Client.Delete(t.Context(), s)))
	}
	w.sync("sets")
	if res, err := w.reconcile(r); err != nil || res.RequeueAfter == 0 {
		t.Errorf("looks again after %v, %v", res.RequeueAfter, err)
	}
	if n := len(w.sets()); n != 0 {
		t.Errorf("%d sets are made for a deployment that was deleted", n)
	}
}
