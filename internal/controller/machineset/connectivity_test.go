package machineset_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// eyes are a source of sight under the test's control.
type eyes struct{ state connectivity.State }

func (e *eyes) State() connectivity.State { return e.state }

func (e *eyes) look(at time.Time, target connectivity.Answer) {
	e.state = e.state.After(connectivity.Probe{At: at, Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Control: connectivity.Reachable, connectivity.Target: target}})
}

func (w *world[S]) watched() (*machineset.Reconciler[S], *eyes) {
	e := &eyes{connectivity.Begin(w.clock.Now(), connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}, connectivity.Control, connectivity.Target)}
	e.look(w.clock.Now(), connectivity.Reachable)
	return machineset.New(w.lens, machineset.Options{
		Client: w, Live: w.Client, Clock: w.clock, Recorder: events.NewFakeRecorder(1000), Connectivity: e,
		Creates: replicas.Sequential, Deletes: replicas.Sequential,
	}), e
}

// pass lets some time pass, in which the target cluster answers or not.
func (w *world[S]) pass(e *eyes, d time.Duration, target connectivity.Answer) {
	for end := w.clock.Now().Add(d); w.clock.Now().Before(end); {
		w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
		e.look(w.clock.Now(), target)
	}
}

// TestFrozenSet: nothing is made while a cluster is silent, and all is made by
// itself when it answers again.
func TestFrozenSet(t *testing.T) {
	w := newWorld(openshiftAPI)
	w.declare(t, 3)
	w.sync(t, true, true)
	r, e := w.watched()
	w.pass(e, 36*time.Second, connectivity.Unreachable)
	if res, err := w.reconcile(t, r); err != nil || res.RequeueAfter != 6*time.Second || w.created != 0 {
		t.Errorf("frozen: %+v, %v, %d machines made", res, err, w.created)
	}
	e.look(w.clock.Now(), connectivity.Reachable)
	w.rest(t, r)
	if w.created != 3 {
		t.Errorf("thawed: %d machines made, want 3", w.created)
	}
}

// TestPreservedThroughAnOutage: a failed machine whose preservation ended unseen
// is not replaced before sight has been back for a while.
func TestPreservedThroughAnOutage(t *testing.T) {
	w := newWorld(gardenerAPI)
	w.declare(t, 1)
	w.sync(t, true, true)
	r, e := w.watched()
	w.rest(t, r)
	m := w.machinesOf(t, w.Client)[0].(*v1alpha1.Machine)
	m.Status.CurrentStatus = v1alpha1.CurrentStatus{Phase: v1alpha1.MachineFailed, PreserveExpiryTime: &metav1.Time{Time: w.clock.Now().Add(time.Hour)}}
	if err := w.Client.Status().Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	there := func() bool {
		t.Helper()
		for range 3 {
			w.sync(t, true, true)
			if _, err := w.reconcile(t, r); err != nil {
				t.Fatal(err)
			}
		}
		for _, o := range w.machinesOf(t, w.Client) {
			if client.ObjectKeyFromObject(o) == client.ObjectKeyFromObject(m) && o.GetDeletionTimestamp() == nil {
				return true
			}
		}
		return false
	}
	w.pass(e, 2*time.Hour, connectivity.Unreachable)
	e.look(w.clock.Now(), connectivity.Reachable)
	if !there() {
		t.Error("its time came unseen, and it was replaced at once")
	}
	w.pass(e, connectivity.Settle, connectivity.Reachable)
	if there() {
		t.Error("sight is back, its time is over, and it is still there")
	}
}
