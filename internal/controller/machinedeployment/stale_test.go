package machinedeployment_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/machinedeployment"
	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
)

// Whatever the cache hides, whichever replies are lost, whichever client writes in between, and however
// often the controller is restarted: no template has two sets, the requested sizes never exceed replicas
// plus surge, as many machines as required stay available, and in the end all have the last template.
func TestBoundsHold(t *testing.T) {
	both(t, boundsHold, boundsHold)
}

func boundsHold[D, S client.Object](t *testing.T, a api[D, S]) {
	const size, surge = 3, 1
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, a)
		w.declare(size)
		r := w.controller()
		w.rest(r)
		w.fate = func(o client.Object) fate {
			fates := []fate{fine, fine, fine, lost, dropped, rejected, beaten}
			switch _, isSet := o.(S); {
			case isSet && o.GetUID() != "":
				fates = append(fates, delayed)
			case isSet:
				fates = []fate{fine, fine, lost, dropped, delayed, rejected}
			}
			return rapid.SampledFrom(fates).Draw(rt, "fate")
		}
		version := "v1"
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"reconcile", "reconcile", "reconcile", "work", "work", "sync", "sync sets", "sync machines", "sync deployments", "wait", "change", "restart", "land"}).Draw(rt, "step") {
			case "reconcile":
				_, _ = w.reconcile(r) // failures are part of the game
			case "work":
				w.work()
			case "sync":
				w.sync()
			case "sync sets":
				w.sync("sets")
			case "sync machines":
				w.sync("machines", "nodes")
			case "sync deployments":
				w.sync("deployments")
			case "wait":
				d := rapid.SampledFrom([]time.Duration{time.Second, readyourwrites.Patience, 2 * time.Minute}).Draw(rt, "for")
				if d > time.Minute {
					w.land() // no request takes longer
				}
				w.clock.SetTime(w.clock.Now().Add(d))
			case "change":
				version = rapid.SampledFrom([]string{"v1", "v2", "v3"}).Draw(rt, "version")
				w.change(func(d D) { a.template(d, version) })
			case "restart":
				w.land() // what is under way ends with its connection, one way or the other
				r = w.controller()
			case "land":
				w.land()
			}
			w.check(rt, size, surge)
		}
		w.fate = func(client.Object) fate { return fine }
		w.rest(r)
		for _, s := range w.sets() {
			if a.version(s) != version && a.setSize(s) > 0 || a.version(s) == version && a.setSize(s) != size {
				rt.Fatalf("at rest, set %s of %s has %d replicas; %d of %s are wanted", s.GetName(), a.version(s), a.setSize(s), size, version)
			}
		}
	})
}

// check looks at the server, not at what the controller believes.
func (w *world[D, S]) check(rt *rapid.T, size, surge int) {
	total, versions := 0, map[string]string{}
	for _, s := range w.sets() {
		total += w.setSize(s)
		if other := versions[w.version(s)]; other != "" {
			rt.Fatalf("template %s has two sets, %s and %s", w.version(s), other, s.GetName())
		}
		versions[w.version(s)] = s.GetName()
	}
	if total > size+surge {
		rt.Fatalf("the sets are wanted to have %d machines, want at most %d", total, size+surge)
	}
	working := 0
	for _, m := range w.machines() {
		if w.viewMachine(m).Usable && m.GetDeletionTimestamp() == nil {
			working++
		}
	}
	if working < size {
		rt.Fatalf("%d machines at work, want at least %d", working, size)
	}
}

// A cache that shows nothing at all must not make a second set, not even after
// patience has run out, nor after a restart.
func TestBlindCache(t *testing.T) { both(t, blindCache, blindCache) }

func blindCache[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(3)
	w.sync("deployments")
	r := w.controller()
	for i := range 10 {
		if i == 5 {
			r = w.controller()
		}
		if _, err := w.reconcile(r); err != nil {
			t.Fatal(err)
		}
		w.clock.SetTime(w.clock.Now().Add(readyourwrites.Patience + time.Second))
	}
	if n := len(w.sets()); n != 1 {
		t.Errorf("%d sets behind a blind cache, want 1", n)
	}
}

// A creation whose reply is lost happens once, under one name.
func TestLostReply(t *testing.T) { both(t, lostReply, lostReply) }

func lostReply[D, S client.Object](t *testing.T, a api[D, S]) {
	for _, f := range []fate{lost, dropped, delayed} {
		t.Run(string(f), func(t *testing.T) {
			w := newWorld(t, a)
			w.declare(3)
			w.sync()
			r := w.controller()
			w.fate = func(o client.Object) fate {
				if o.GetUID() == "" {
					return f
				}
				return fine
			}
			if _, err := w.reconcile(r); err == nil {
				t.Fatal("a lost reply was taken for success")
			}
			w.fate = func(client.Object) fate { return fine }
			if _, err := w.reconcile(r); err != nil {
				t.Fatal(err)
			}
			w.land()
			w.rest(r)
			if n := len(w.sets()); n != 1 {
				t.Errorf("%d sets after a creation that was %s, want 1", n, f)
			}
			if got := w.collisions(w.deployment()); got != 0 {
				t.Errorf("our own set was taken for a collision %d times", got)
			}
		})
	}
}

// A set that may yet come into being is waited for when the template changes
// meanwhile: its machines would come on top.
func TestLateSet(t *testing.T) { both(t, lateSet, lateSet) }

func lateSet[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(3)
	w.sync()
	r := w.controller()
	w.fate = func(o client.Object) fate {
		if o.GetUID() == "" {
			return delayed
		}
		return fine
	}
	if _, err := w.reconcile(r); err == nil {
		t.Fatal("a lost reply was taken for success")
	}
	w.fate = func(client.Object) fate { return fine }
	w.change(func(d D) { a.template(d, "v2") })
	w.sync()
	res, err := w.reconcile(r)
	if err != nil || res.RequeueAfter == 0 || len(w.sets()) != 0 {
		t.Fatalf("%d sets, again after %s, %v; want to wait for the late one", len(w.sets()), res.RequeueAfter, err)
	}
	w.clock.SetTime(w.clock.Now().Add(time.Minute + time.Second))
	if _, err := w.reconcile(r); err != nil {
		t.Fatal(err)
	}
	if sets := w.sets(); len(sets) != 1 || a.version(sets[0]) != "v2" {
		t.Errorf("%d sets after a minute, want the one of v2", len(sets))
	}
}

// A node that the API server does not let be written holds up nothing and is
// written later, as is one that joined after its set was marked (C21).
func TestNodesAreMarkedLate(t *testing.T) { both(t, nodesAreMarkedLate, nodesAreMarkedLate) }

func nodesAreMarkedLate[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(3)
	r := w.controller()
	w.rest(r)
	old := w.machines()
	refused := "node-" + old[0].GetName()
	w.fate = func(o client.Object) fate {
		if _, ok := o.(*corev1.Node); ok && o.GetName() == refused {
			return rejected
		}
		return fine
	}
	w.change(func(d D) { a.template(d, "v2") })
	w.sync()
	res, err := w.reconcile(r)
	if err != nil || res.RequeueAfter == 0 {
		t.Fatalf("again after %s, %v; want the node to be tried again and nothing to fail", res.RequeueAfter, err)
	}
	if len(w.sets()) != 2 {
		t.Errorf("%d sets: a node held the rollout up", len(w.sets()))
	}
	if n := w.node(refused); len(n.Spec.Taints) != 0 {
		t.Fatalf("node %s has %v although the write was refused", n.Name, n.Spec.Taints)
	}
	for _, m := range old[1:] {
		if n := w.node("node-" + m.GetName()); len(n.Spec.Taints) != 1 || n.Annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] != "true" {
			t.Errorf("node %s has taints %v and annotations %v", n.Name, n.Spec.Taints, n.Annotations)
		}
	}
	w.fate = func(client.Object) fate { return fine }
	w.sync()
	if _, err := w.reconcile(r); err != nil {
		t.Fatal(err)
	}
	if n := w.node(refused); len(n.Spec.Taints) != 1 || n.Spec.Taints[0].Effect != corev1.TaintEffectPreferNoSchedule {
		t.Errorf("node %s has %v", n.Name, n.Spec.Taints)
	}
	w.rest(r)
	for _, m := range w.machines() {
		if n := w.node("node-" + m.GetName()); len(n.Spec.Taints) != 0 || len(n.Annotations) != 0 {
			t.Errorf("after the rollout node %s has %v and %v", n.Name, n.Spec.Taints, n.Annotations)
		}
	}
}

// A conflict with another client's write is no failure: the pass is repeated shortly after.
func TestConflict(t *testing.T) { both(t, conflict, conflict) }

func conflict[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(3)
	r := w.controller()
	w.rest(r)
	w.change(func(d D) { a.size(d, 5) })
	w.sync()
	w.fate = func(o client.Object) fate {
		if metav1.GetControllerOf(o) != nil {
			return beaten
		}
		return fine
	}
	res, err := w.reconcile(r)
	if err != nil || res.RequeueAfter == 0 || res.RequeueAfter > time.Second {
		t.Errorf("again after %s, %v; want shortly and no error", res.RequeueAfter, err)
	}
	w.fate = func(client.Object) fate { return fine }
	w.rest(r)
	if n := len(w.machines()); n != 5 {
		t.Errorf("%d machines, want 5", n)
	}
}

// What the cache does not show yet of the controller's own writes counts, also
// of those before a restart: going back to the old template must not grow its
// set by the room that the new one has just taken.
func TestOwnGrowthIsSeen(t *testing.T) { both(t, ownGrowthIsSeen, ownGrowthIsSeen) }

func ownGrowthIsSeen[D, S client.Object](t *testing.T, a api[D, S]) {
	for name, restart := range map[string]bool{"same process": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, a)
			w.declare(3)
			r := w.controller()
			w.rest(r)
			pass := func(kinds ...string) {
				t.Helper()
				w.sync(kinds...)
				if _, err := w.reconcile(r); err != nil {
					t.Fatal(err)
				}
			}
			w.change(func(d D) { a.template(d, "v2") })
			pass() // v2 begins with 1
			w.work()
			pass() // v1 comes down to 2
			w.work()
			w.work()
			pass() // v2 grows to 2
			sizes := map[string]int{}
			for _, s := range w.sets() {
				sizes[a.version(s)] = w.setSize(s)
			}
			if sizes["v1"] != 2 || sizes["v2"] != 2 {
				t.Fatalf("the sets have sizes %v, want 2 and 2", sizes)
			}
			w.change(func(d D) { a.template(d, "v1") })
			if restart {
				r = w.controller()
			}
			pass("deployments")
			total := 0
			for _, s := range w.sets() {
				total += w.setSize(s)
			}
			if total > 4 || w.conflicts > 0 {
				t.Errorf("the sets are wanted to have %d machines, and %d writes were of an older version; want at most 4, and none", total, w.conflicts)
			}
		})
	}
}

// pausedRollout is one of four machines that was paused after its first new machine.
func pausedRollout[D, S client.Object](t *testing.T, a api[D, S]) (*world[D, S], *machinedeployment.Reconciler[D, S]) {
	t.Helper()
	w := newWorld(t, a)
	w.declare(4)
	r := w.controller()
	w.rest(r)
	w.change(func(d D) { a.template(d, "v2") })
	w.sync()
	w.pass(r)
	w.change(func(d D) { a.pause(d, true) })
	w.work()
	w.sync()
	w.pass(r)
	return w, r
}

// A client that lowers the number marks machines just before. The marked machines are deleted first, even
// if the cache shows the number before the marks.
func TestMarksAreAsNewAsTheNumber(t *testing.T) { both(t, marksAreNew, marksAreNew) }

func marksAreNew[D, S client.Object](t *testing.T, a api[D, S]) {
	w, r := pausedRollout(t, a)
	sizes := map[string]int{}
	for _, s := range w.sets() {
		sizes[a.version(s)] = a.setSize(s)
		if a.version(s) == "v2" {
			w.ask(w.machinesOf(s)...)
		}
	}
	if sizes["v1"] != 4 || sizes["v2"] != 1 {
		t.Fatalf("the rollout begins with sets of %v", sizes)
	}
	w.change(func(d D) { a.size(d, 3) })
	w.sync("deployments")
	w.pass(r)
	for _, s := range w.sets() {
		sizes[a.version(s)] = a.setSize(s)
	}
	if sizes["v1"] != 4 || sizes["v2"] != 0 {
		t.Errorf("sets of %v, want the marked machine of v2 to go", sizes)
	}
}

// A machine that was taken out and put back, and that the cache shows in its state in between, counts once:
// otherwise its set would delete another machine for it, and another set keep one too many.
func TestMachineOfTwoLabelsCountsOnce(t *testing.T) { both(t, countsOnce, countsOnce) }

func countsOnce[D, S client.Object](t *testing.T, a api[D, S]) {
	w, r := pausedRollout(t, a)
	sets := map[string][]client.Object{}
	for _, s := range w.sets() {
		sets[a.version(s)] = w.machinesOf(s)
	}
	lost, back := sets["v1"][0], sets["v1"][1]
	lost.SetFinalizers(nil)
	w.must(w.Client.Update(t.Context(), lost))
	w.must(w.Client.Delete(t.Context(), lost))
	labels := back.GetLabels()
	back.SetLabels(nil)
	w.ask(back, sets["v2"][0])
	w.sync()
	back.SetLabels(labels)
	w.must(w.Client.Update(t.Context(), back))
	w.change(func(d D) { a.size(d, 2) })
	w.sync("deployments")
	w.pass(r)
	if old, v2 := w.sizes(); old != 3 || v2 != 0 {
		t.Errorf("sets of %d and %d, want 3 and 0: one machine of each was marked", old, v2)
	}
}

// ask marks machines to be deleted first, in the annotation of either API.
func (w *world[D, S]) ask(machines ...client.Object) {
	for _, m := range machines {
		m.SetAnnotations(map[string]string{"machine.openshift.io/delete-machine": "yes", "machinepriority.machine.sapcloud.io": "1"})
		w.must(w.Client.Update(w.t.Context(), m))
	}
}

// pass makes one pass that has to succeed.
func (w *world[D, S]) pass(r *machinedeployment.Reconciler[D, S]) {
	w.t.Helper()
	_, err := w.reconcile(r)
	w.must(err)
}
