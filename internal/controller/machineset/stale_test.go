package machineset_test

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/expectations"
	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/runtime/leading"
)

// Whatever the cache hides, whichever replies are lost, and however often the
// controller is restarted: there are never more machines than were wanted at
// the most, and in the end there are as many as are wanted.
func TestNeverTooMany(t *testing.T) {
	t.Run("machine.openshift.io", func(t *testing.T) { neverTooMany(t, openshiftAPI) })
	t.Run("machine.sapcloud.io", func(t *testing.T) { neverTooMany(t, gardenerAPI) })
}

func neverTooMany[S client.Object](t *testing.T, a api[S]) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(a)
		most := rapid.IntRange(0, 12).Draw(rt, "replicas")
		w.declare(t, most)
		w.fate = func() fate {
			return rapid.SampledFrom([]fate{fine, fine, fine, lost, dropped, delayed, rejected}).Draw(rt, "fate")
		}
		r := w.controller()
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"reconcile", "reconcile", "reconcile", "sync", "sync sets", "sync machines", "wait", "scale", "restart", "land", "bury"}).Draw(rt, "step") {
			case "reconcile":
				_, _ = w.reconcile(t, r) // failures are part of the game
			case "sync":
				w.sync(t, true, true)
			case "sync sets":
				w.sync(t, true, false)
			case "sync machines":
				w.sync(t, false, true)
			case "wait":
				w.clock.SetTime(w.clock.Now().Add(rapid.SampledFrom([]time.Duration{time.Second, readyourwrites.Patience}).Draw(rt, "for")))
			case "scale":
				n := rapid.IntRange(0, 12).Draw(rt, "replicas")
				most = max(most, n)
				w.scale(t, n)
			case "restart":
				w.land(t.Context()) // what is under way ends with its connection, one way or the other
				r = w.controller()
			case "land":
				w.land(t.Context())
			case "bury":
				w.bury(t)
			}
			if n := w.replicas(t); n > most {
				rt.Fatalf("%d machines, never more than %d were wanted", n, most)
			}
		}
		w.fate = func() fate { return fine }
		const final = 5
		w.bury(t) // machines that never go keep a crowded set frozen, and rightly
		w.scale(t, final)
		w.rest(t, r)
		if n := w.replicas(t); n != final {
			rt.Fatalf("at rest with %d machines, want %d", n, final)
		}
	})
}

// A cache that shows nothing at all must not make the set grow with every
// pass, not even after patience has run out.
func TestBlindCache(t *testing.T) {
	w := newWorld(openshiftAPI)
	w.declare(t, 7)
	w.sync(t, true, false)
	r := w.controller()
	for range 10 {
		if _, err := w.reconcile(t, r); err != nil {
			t.Fatal(err)
		}
		w.clock.SetTime(w.clock.Now().Add(readyourwrites.Patience + time.Second))
	}
	if w.created != 7 {
		t.Errorf("%d machines created for 7 replicas behind a blind cache", w.created)
	}
}

// A creation whose reply is lost uses its name again, so that it happens once.
func TestLostReply(t *testing.T) {
	for _, f := range []fate{lost, dropped, delayed} {
		t.Run(string(f), func(t *testing.T) {
			w := newWorld(gardenerAPI)
			w.declare(t, 1)
			w.sync(t, true, true)
			calls := 0
			w.fate = func() fate {
				calls++
				if calls == 1 {
					return f
				}
				return fine
			}
			r := w.controller()
			if _, err := w.reconcile(t, r); err == nil {
				t.Fatal("a lost reply was taken for success")
			}
			if _, err := w.reconcile(t, r); err != nil {
				t.Fatal(err)
			}
			w.land(t.Context())
			if n := len(w.machinesOf(t, w.Client)); n != 1 {
				t.Errorf("%d machines after a creation that was %s, want 1", n, f)
			}
			w.rest(t, r)
			if n := len(w.machinesOf(t, w.Client)); n != 1 || w.created != 1 {
				t.Errorf("%d machines, %d created, want 1", n, w.created)
			}
		})
	}
}

// TestCreationsOfEarlierProcess: a process is killed before the API server has executed its last creation. The next
// process does not know the name, so it creates no machine before that creation has arrived.
func TestCreationsOfEarlierProcess(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { creationsOfEarlierProcess(t, openshiftAPI) })
	t.Run("gardener", func(t *testing.T) { creationsOfEarlierProcess(t, gardenerAPI) })
}

func creationsOfEarlierProcess[S client.Object](t *testing.T, a api[S]) {
	w := newWorld(a)
	w.declare(t, 3)
	w.sync(t, true, true)
	w.fate = func() fate { return delayed }
	if _, err := w.reconcile(t, w.controller()); err == nil || len(w.late) != 1 {
		t.Fatalf("%d creations are on their way: %v", len(w.late), err)
	}
	w.fate, w.handover = func() fate { return fine }, leading.Handover
	r := w.controller()
	for _, after := range []time.Duration{0, time.Second} {
		w.clock.SetTime(w.clock.Now().Add(after))
		res, err := w.reconcile(t, r)
		if left := leading.Handover - after; err != nil || w.created > 0 || res.RequeueAfter <= 0 || res.RequeueAfter > left {
			t.Fatalf("after %v: %d machines created, again after %v: %v", after, w.created, res.RequeueAfter, err)
		}
	}
	w.land(t.Context())
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	if _, err := w.reconcile(t, r); err != nil { // by a cache that does not show the creation yet
		t.Fatal(err)
	}
	w.rest(t, r)
	if n := w.replicas(t); n != 3 || w.created != 3 {
		t.Errorf("%d machines, %d created, want 3", n, w.created)
	}
}

// TestListingDuringHandover: machines that were listed before creations of an earlier process have arrived are listed again
// before the next creation.
func TestListingDuringHandover(t *testing.T) {
	w := newWorld(openshiftAPI)
	w.declare(t, 2)
	w.sync(t, true, true)
	calls := 0
	w.fate = func() fate {
		if calls++; calls > 1 {
			return delayed
		}
		return fine
	}
	if _, err := w.reconcile(t, w.controller()); err == nil || len(w.late) != 1 {
		t.Fatalf("%d creations are on their way: %v", len(w.late), err)
	}
	w.fate, w.handover = func() fate { return fine }, leading.Handover
	w.scale(t, 0)
	w.sync(t, true, true)
	r := w.controller()
	if _, err := w.reconcile(t, r); err != nil || w.replicas(t) != 0 {
		t.Fatalf("%d machines: %v", w.replicas(t), err)
	}
	w.bury(t)
	w.sync(t, true, true)
	w.land(t.Context())
	w.scale(t, 2)
	w.sync(t, true, false)
	w.clock.SetTime(w.clock.Now().Add(leading.Handover))
	if _, err := w.reconcile(t, r); err != nil {
		t.Fatal(err)
	}
	if n := w.replicas(t); n != 2 {
		t.Errorf("%d machines, want 2: a creation of the earlier process has arrived", n)
	}
}

// The surplus is counted on the server: another client may have deleted machines that the cache still
// shows.
func TestSurplusIsCountedLive(t *testing.T) {
	w := newWorld(openshiftAPI)
	w.declare(t, 3)
	r := w.controller()
	w.rest(t, r)
	all := w.machinesOf(t, w.Client)
	if err := w.Client.Delete(t.Context(), all[len(all)-1]); err != nil { // the set would choose the first
		t.Fatal(err)
	}
	w.scale(t, 2)
	w.sync(t, true, false)
	if _, err := w.reconcile(t, r); err != nil {
		t.Fatal(err)
	}
	if n := w.replicas(t); n != 2 {
		t.Errorf("%d machines are left of 2", n)
	}
}

// A deletion without an answer is requested again before another machine is chosen, even if that would be
// the better choice now: the first request may still arrive.
func TestUnansweredDeletionIsRepeated(t *testing.T) {
	w := newWorld(openshiftAPI)
	w.declare(t, 3)
	r := w.controller()
	w.rest(t, r)
	w.scale(t, 2)
	w.sync(t, true, true)
	w.slow = true
	if _, err := w.reconcile(t, r); err == nil || len(w.leaving) != 1 {
		t.Fatalf("%d deletions are on their way: %v", len(w.leaving), err)
	}
	w.slow = false
	for _, m := range w.machinesOf(t, w.Client) {
		if m.GetName() != w.leaving[0].GetName() {
			m.SetAnnotations(map[string]string{openshift.DeleteMachineAnnotation: "true"})
			if err := w.Client.Update(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	w.sync(t, true, true)
	if _, err := w.reconcile(t, r); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Delete(t.Context(), w.leaving[0]); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if n := w.replicas(t); n != 2 {
		t.Errorf("%d machines are left of 2", n)
	}
}

// A deletion without an answer is not asked for again while it would cost a machine that
// is needed since: of two that work and one that has yet to join, one is too many. Once
// that deletion cannot happen any more, the one that is of no use goes.
func TestUnansweredDeletionWaits(t *testing.T) {
	w := newWorld(gardenerAPI)
	w.declare(t, 2)
	r := w.controller()
	w.rest(t, r)
	works := map[string]bool{}
	for _, o := range w.machinesOf(t, w.Client) {
		m := o.(*v1alpha1.Machine)
		works[m.Name], m.Status.CurrentStatus.Phase = true, v1alpha1.MachineRunning
		if err := w.Client.Status().Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	pass := func(replicas int) reconcile.Result {
		t.Helper()
		w.scale(t, replicas)
		w.sync(t, true, true)
		res, err := w.reconcile(t, r)
		if (err != nil) != w.slow {
			t.Fatal(err)
		}
		return res
	}
	w.slow = true
	pass(1)
	w.slow = false
	pass(3)
	res := pass(2)
	if n := w.replicas(t); n != 3 || res.RequeueAfter <= 0 || res.RequeueAfter > expectations.Lingers {
		t.Errorf("before it is known whether %s goes: %d machines, again after %s", w.leaving[0].GetName(), n, res.RequeueAfter)
	}
	w.clock.SetTime(w.clock.Now().Add(expectations.Lingers))
	pass(2)
	for _, m := range w.machinesOf(t, w.Client) {
		if going := m.GetDeletionTimestamp() != nil; going == works[m.GetName()] {
			t.Errorf("machine %s works: %v; goes: %v", m.GetName(), works[m.GetName()], going)
		}
	}
}

// A foreign machine that has the drawn name is not the set's: the set reports that, and draws another name.
func TestNameOfAStranger(t *testing.T) {
	w := newWorld(openshiftAPI)
	w.declare(t, 1)
	w.sync(t, true, true)
	stranger := w.lens.Traits().Machine()
	stranger.SetNamespace(namespace)
	stranger.SetName("set-a0001")
	if err := w.Client.Create(t.Context(), stranger); err != nil {
		t.Fatal(err)
	}
	r := w.controller()
	if _, err := w.reconcile(t, r); err == nil || !strings.Contains(err.Error(), "set-a0001: the name is taken") {
		t.Errorf("got error %v", err)
	}
	if _, err := w.reconcile(t, r); err != nil || w.created != 1 {
		t.Errorf("%d machines made, %v; want 1", w.created, err)
	}
}

// TestDeletedBehindABlindCache: nothing tells when the machines go that the cache has never
// shown, and the set that is being deleted goes with the last of them.
func TestDeletedBehindABlindCache(t *testing.T) {
	w := newWorld(gardenerAPI)
	w.declare(t, 2)
	w.sync(t, true, false)
	r := w.controller()
	pass := func() time.Duration {
		w.sync(t, true, false)
		res, err := w.reconcile(t, r)
		if err != nil {
			t.Fatal(err)
		}
		w.clock.SetTime(w.clock.Now().Add(max(res.RequeueAfter, time.Millisecond)))
		return res.RequeueAfter
	}
	for range 3 {
		pass()
	}
	s := w.lens.New()
	if err := w.Client.Get(t.Context(), w.key(), s); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for pass() > 0 {
		w.bury(t)
	}
	if err := w.Client.Get(t.Context(), w.key(), s); !apierrors.IsNotFound(err) {
		t.Errorf("nobody looks at the set again, which has %d machines: %v", len(w.machinesOf(t, w.Client)), err)
	}
}
