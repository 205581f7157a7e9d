package machineset_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/expect"
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
				w.clock.SetTime(w.clock.Now().Add(rapid.SampledFrom([]time.Duration{time.Second, expect.Patience}).Draw(rt, "for")))
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
		w.clock.SetTime(w.clock.Now().Add(expect.Patience + time.Second))
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
