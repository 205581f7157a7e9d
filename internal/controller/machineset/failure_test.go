package machineset_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// told drains the events that were recorded.
func told(r *events.FakeRecorder) (out []string) {
	for {
		select {
		case e := <-r.Events:
			out = append(out, e)
		default:
			return out
		}
	}
}

func (w *world[S]) telling(t *testing.T) (*machineset.Reconciler[S], *events.FakeRecorder) {
	t.Helper()
	recorder := events.NewFakeRecorder(1000)
	n := 0
	return machineset.New(w.lens, machineset.Options{
		Client: w, Live: w.Client, Clock: w.clock, Recorder: recorder,
		Names: func() string {
			n++
			return strings.Repeat("a", n%5) + strings.Repeat("b", 5-n%5) + string(rune('a'+n/5))
		},
		Creates: replicas.Sequential, Deletes: replicas.Sequential,
	}), recorder
}

// An exhausted quota fails one creation, not a hundred; it is reported, and the condition is removed when
// it is over.
func TestRejectedCreation(t *testing.T) {
	w := newWorld(gardenerAPI)
	w.declare(t, 50)
	w.sync(t, true, true)
	calls := 0
	w.fate = func() fate { calls++; return rejected }
	r, recorder := w.telling(t)
	if _, err := w.reconcile(t, r); err == nil {
		t.Error("the failure is swallowed, and so is the back-off")
	}
	if calls != 1 {
		t.Errorf("%d creations tried, want 1", calls)
	}
	if got := told(recorder); len(got) != 1 || !strings.HasPrefix(got[0], "Warning FailedCreate Error: create machine set-") {
		t.Errorf("told %q", got)
	}
	s := w.lens.New()
	if err := w.Client.Get(t.Context(), w.key(), s); err != nil {
		t.Fatal(err)
	}
	if c := s.Status.Conditions; len(c) != 1 || c[0].Reason != v1alpha1.ReasonFailedCreate {
		t.Errorf("conditions %v", c)
	}
	w.fate = func() fate { return fine }
	w.rest(t, r)
	if err := w.Client.Get(t.Context(), w.key(), s); err != nil {
		t.Fatal(err)
	}
	if len(s.Status.Conditions) != 0 || s.Status.Replicas != 50 {
		t.Errorf("at rest with %d replicas and conditions %v", s.Status.Replicas, s.Status.Conditions)
	}
}

// Ten events name a machine each, one more counts the rest.
func TestEventsAreBounded(t *testing.T) {
	w := newWorld(gardenerAPI)
	w.declare(t, 25)
	w.sync(t, true, true)
	r, recorder := w.telling(t)
	if _, err := w.reconcile(t, r); err != nil {
		t.Fatal(err)
	}
	got := told(recorder)
	if len(got) != 11 || !strings.HasPrefix(got[0], "Normal SuccessfulCreate Created Machine: set-") || got[10] != "Normal SuccessfulCreate Created 15 more machines" {
		t.Errorf("told %q", got)
	}
	w.sync(t, true, true)
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	w.resize(t, 28)
	w.sync(t, true, true)
	res, err := w.reconcile(t, r)
	if got := told(recorder); err != nil || len(got) > 0 || res.RequeueAfter <= 0 || res.RequeueAfter > 5*time.Second {
		t.Errorf("%v, told %q, and again after %s", err, got, res.RequeueAfter)
	}
	w.sync(t, true, true)
	w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
	if _, err := w.reconcile(t, r); err != nil {
		t.Fatal(err)
	}
	if got := told(recorder); len(got) != 1 || got[0] != "Normal SuccessfulCreate Created 3 more machines" {
		t.Errorf("told %q", got)
	}
}

// A set whose selector was broken after the fact still takes its machines with
// it, and goes.
func TestDeleteWithBrokenSelector(t *testing.T) {
	w := newWorld(gardenerAPI)
	w.declare(t, 3)
	r := w.controller()
	w.rest(t, r)
	s := w.lens.New()
	if err := w.Client.Get(t.Context(), w.key(), s); err != nil {
		t.Fatal(err)
	}
	s.Spec.Selector = nil
	if err := w.Client.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		w.sync(t, true, true)
		if _, err := w.reconcile(t, r); err != nil {
			t.Fatal(err)
		}
		w.bury(t)
		w.clock.SetTime(w.clock.Now().Add(time.Second))
	}
	if err := w.Client.Get(t.Context(), w.key(), s); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the set is still there with finalizers %v", s.Finalizers)
	}
	if n := len(w.machinesOf(t, w.Client)); n != 0 {
		t.Errorf("%d machines left", n)
	}
}

// A set at fault waits for its author: no machine, no retry, told once.
func TestFaultIsToldOnce(t *testing.T) {
	w := newWorld(openshiftAPI)
	w.declare(t, -2)
	w.sync(t, true, true)
	r, recorder := w.telling(t)
	for range 5 {
		if res, err := w.reconcile(t, r); err != nil || res.RequeueAfter != 0 {
			t.Fatalf("tried again: %v, %v", res, err)
		}
		w.sync(t, true, true)
	}
	if got := told(recorder); len(got) != 1 || got[0] != "Warning ReconcileError spec.replicas: must not be negative, is -2" {
		t.Errorf("told %q", got)
	}
	if w.created != 0 {
		t.Errorf("%d machines made", w.created)
	}
}

// At rest a pass writes nothing and asks for nothing.
func TestRest(t *testing.T) {
	w := newWorld(gardenerAPI)
	w.declare(t, 3)
	r := w.controller()
	w.rest(t, r)
	s := w.lens.New()
	if err := w.Client.Get(t.Context(), w.key(), s); err != nil {
		t.Fatal(err)
	}
	before := s.GetResourceVersion()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.sync(t, true, true)
	if res, err := w.reconcile(t, r); err != nil || res.RequeueAfter != 0 {
		t.Errorf("asks for another pass: %v, %v", res, err)
	}
	if err := w.Client.Get(t.Context(), w.key(), s); err != nil {
		t.Fatal(err)
	}
	if s.GetResourceVersion() != before {
		t.Error("a pass at rest wrote the set")
	}
}
