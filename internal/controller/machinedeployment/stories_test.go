package machinedeployment_test

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

func TestPause(t *testing.T) { both(t, pause, pause) }

// A paused deployment follows its replicas and nothing else. Resumed, it rolls.
func pause[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(2)
	r := w.controller()
	w.rest(r)
	w.change(func(d D) { a.pause(d, true); a.template(d, "v2"); a.size(d, 3) })
	w.rest(r)
	if views := w.views(); len(views) != 1 || views[0].Replicas != 3 || views[0].Current {
		t.Errorf("paused with %+v, want the old set of 3", views)
	}
	if got := w.facts().Last.Progress; got.Status != rollout.Unknown || got.Reason != rollout.IsPaused {
		t.Errorf("recorded %+v", got)
	}
	w.change(func(d D) { a.pause(d, false) })
	w.rest(r)
	if got := w.facts().Last.Progress; got.Reason != rollout.SetAvailable {
		t.Errorf("resumed, recorded %+v", got)
	}
	for _, v := range w.views() {
		if v.Current != (v.Replicas == 3) {
			t.Errorf("resumed, and set %s (current: %v) has %d", v.Name, v.Current, v.Replicas)
		}
	}
}

func TestRollback(t *testing.T) { both(t, rollback, rollback) }

// Back to the revision before, by the request that is cleared with the act.
func rollback[D, S client.Object](t *testing.T, a api[D, S]) {
	cases := map[string]struct {
		reason   string
		revision int64
		event    string
		version  string
	}{
		"the one before": {"0 is the revision before the present", 0, "Normal " + a.lens.Traits().Events.RolledBack, "v1"},
		"by number":      {"the set of that revision is there", 1, "Normal " + a.lens.Traits().Events.RolledBack, "v1"},
		"the present":    {"there is nothing to change", 2, "Warning " + a.lens.Traits().Events.TemplateUnchanged, "v2"},
		"unknown":        {"no set has it", 7, "Warning " + a.lens.Traits().Events.RevisionNotFound, "v2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, a)
			w.declare(2)
			r := w.controller()
			w.rest(r)
			w.change(func(d D) { a.template(d, "v2") })
			w.rest(r)
			w.recorded()
			w.change(func(d D) { a.rollBack(d, tc.revision) })
			w.rest(r)
			if told := w.recorded(); len(told) == 0 || !strings.HasPrefix(told[0], tc.event+" ") {
				t.Errorf("%s: told %q, want %s first", tc.reason, told, tc.event)
			}
			if w.facts().RollbackTo != nil {
				t.Errorf("%s: the request is still there", tc.reason)
			}
			for _, s := range w.sets() {
				if want := a.version(s) == tc.version; want != (a.setSize(s) == 2) {
					t.Errorf("%s: set of %s has %d machines; want %s to have them", tc.reason, a.version(s), a.setSize(s), tc.version)
				}
			}
		})
	}
}

func TestHistory(t *testing.T) { both(t, history, history) }

// Of the emptied sets only as many are kept as are wanted, the newest.
func history[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(1, func(d D) { a.history(d, 1) })
	r := w.controller()
	for _, v := range []string{"v1", "v2", "v3", "v4"} {
		w.change(func(d D) { a.template(d, v) })
		w.rest(r)
	}
	kept := map[string]bool{}
	for _, s := range w.sets() {
		kept[a.version(s)] = true
	}
	if len(kept) != 2 || !kept["v3"] || !kept["v4"] {
		t.Errorf("kept %v, want v3 and v4", kept)
	}
}

// TestPruneMeansWhatWasSeen: if a user scales an empty set up before its deletion arrives, the set is not
// deleted.
func TestPruneMeansWhatWasSeen(t *testing.T) { both(t, pruneMeans, pruneMeans) }

func pruneMeans[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(1, func(d D) { a.history(d, 0) })
	r := w.controller()
	for _, v := range []string{"v1", "v2"} {
		w.change(func(d D) { a.template(d, v) })
		w.rest(r)
	}
	if len(w.meant) == 0 {
		t.Fatal("no set was deleted")
	}
	for _, m := range w.meant {
		if m == nil || m.UID == nil || m.ResourceVersion == nil {
			t.Errorf("a set was deleted whatever it is by now: %+v", m)
		}
	}
}

// TestHandedOverIsReleased: a machine that was handed over to a set loses its
// shield when the set has seen how many it is to have.
func TestHandedOverIsReleased(t *testing.T) {
	w := newWorld(t, gardenerAPI)
	w.declare(1)
	r := w.controller()
	w.rest(r)
	m := w.machines()[0]
	before := m.DeepCopyObject().(client.Object)
	labels := m.GetLabels()
	labels[v1alpha1.LabelKeyNodeUpdateResult] = v1alpha1.LabelValueNodeUpdateSuccessful
	m.SetLabels(labels)
	w.must(w.Client.Patch(t.Context(), m, client.MergeFrom(before)))
	if !w.viewMachine(w.machines()[0]).Moved {
		t.Fatal("the machine is not shielded")
	}
	w.rest(r)
	if w.viewMachine(w.machines()[0]).Moved {
		t.Error("the machine is shielded still")
	}
}

// TestVictimsAreMarked: a machine that an autoscaler names is marked before its
// set gets a smaller number, so that the set chooses no other.
func TestVictimsAreMarked(t *testing.T) {
	w := newWorld(t, gardenerAPI)
	w.declare(2)
	r := w.controller()
	w.rest(r)
	named := w.machines()[1]
	w.change(func(d *v1alpha1.MachineDeployment) {
		d.Spec.Replicas = 1
		dialect.SetAnnotation(d, v1alpha1.AnnotationKeyTriggerDeletion, named.GetName()+"~"+w.clock.Now().Format(time.RFC3339))
	})
	w.sync()
	if _, err := w.reconcile(r); err != nil {
		t.Fatal(err)
	}
	for _, m := range w.machines() {
		if asked, want := w.viewMachine(m).Asked, m.GetName() == named.GetName(); asked != want {
			t.Errorf("machine %s is asked to go: %t, want %t", m.GetName(), asked, want)
		}
	}
}

func TestReplicasDuringARollout(t *testing.T) {
	both(t, replicasDuringARollout, replicasDuringARollout)
}

// The wanted number may change in the middle of a rollout, which ends all the
// same.
func replicasDuringARollout[D, S client.Object](t *testing.T, a api[D, S]) {
	for name, to := range map[string]int{"up": 9, "down": 2, "to nothing": 0} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, a)
			w.declare(5)
			r := w.controller()
			w.rest(r)
			w.change(func(d D) { a.template(d, "v2") })
			for range 5 {
				w.work()
				w.sync()
				if _, err := w.reconcile(r); err != nil {
					t.Fatal(err)
				}
			}
			w.change(func(d D) { a.size(d, to) })
			w.rest(r)
			for _, v := range w.views() {
				want := 0
				if v.Current {
					want = to
				}
				if v.Replicas != want {
					t.Errorf("set %s (current: %v) has %d, want %d", v.Name, v.Current, v.Replicas, want)
				}
			}
		})
	}
}

// A deployment of machine.sapcloud.io takes its sets with it, also one that
// was broken after the fact, and leaves them where they are to survive.
func TestDelete(t *testing.T) {
	a := gardenerAPI
	cases := map[string]struct {
		reason string
		orphan bool
		broken bool
	}{
		"plain":  {"the sets go first", false, false},
		"broken": {"the selector says nothing any more", false, true},
		"orphan": {"the garbage collector frees the sets, then lets go", true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, a)
			w.declare(2)
			r := w.controller()
			w.rest(r)
			w.change(func(d *gardenerDeployment) {
				if tc.broken {
					d.Spec.Selector = nil
				}
				if tc.orphan {
					d.Finalizers = append(d.Finalizers, metav1.FinalizerOrphanDependents)
				}
			})
			w.must(w.Client.Delete(t.Context(), w.deployment()))
			for range 8 {
				w.work()
				w.sync()
				if _, err := w.reconcile(r); err != nil {
					t.Fatal(err)
				}
			}
			if tc.orphan {
				if sets := w.sets(); len(sets) != 1 || sets[0].DeletionTimestamp != nil {
					t.Fatalf("%s: %d sets before the garbage collector came", tc.reason, len(sets))
				}
				w.collect()
				// The cache still shows the set as owned.
				w.sync("deployments")
				if _, err := w.reconcile(r); err != nil {
					t.Fatal(err)
				}
			}
			err := w.Client.Get(t.Context(), key, w.lens.New())
			if !apierrors.IsNotFound(err) {
				t.Errorf("%s: the deployment is still there with finalizers %v (%v)", tc.reason, w.deployment().Finalizers, err)
			}
			want := 0
			if tc.orphan {
				want = 1
			}
			if n := len(w.sets()); n != want {
				t.Errorf("%s: %d sets left, want %d", tc.reason, n, want)
			}
		})
	}
}

// collect is the garbage collector's part in a deletion that orphans.
func (w *world[D, S]) collect() {
	for _, s := range w.sets() {
		s.SetOwnerReferences(nil)
		w.must(w.Client.Update(w.t.Context(), s))
	}
	d := w.deployment()
	kept := d.GetFinalizers()[:0]
	for _, f := range d.GetFinalizers() {
		if f != metav1.FinalizerOrphanDependents {
			kept = append(kept, f)
		}
	}
	d.SetFinalizers(kept)
	w.must(w.Client.Update(w.t.Context(), d))
}

// A deployment without a finalizer of ours leaves its sets to the garbage
// collector.
func TestDeleteWithoutFinalizer(t *testing.T) {
	w := newWorld(t, openshiftAPI)
	w.declare(2, func(d *openshiftDeployment) { d.Finalizers = []string{metav1.FinalizerDeleteDependents} })
	r := w.controller()
	w.rest(r)
	w.must(w.Client.Delete(t.Context(), w.deployment()))
	w.writes = 0
	w.sync()
	if res, err := w.reconcile(r); err != nil || res.RequeueAfter != 0 || w.writes != 0 {
		t.Errorf("%d writes, %v, %v; want nothing", w.writes, res, err)
	}
	if n := len(w.sets()); n != 1 {
		t.Errorf("%d sets, want the one", n)
	}
}
