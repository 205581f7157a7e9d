package machinedeployment_test

import (
	"testing"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/machinedeployment"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// eyes are a source of sight under the test's control.
type eyes struct{ state connectivity.State }

func (e *eyes) State() connectivity.State { return e.state }

func TestFrozenDeployment(t *testing.T) { both(t, frozenDeployment, frozenDeployment) }

// Nothing is rolled or scaled while a cluster is silent; it goes on by itself.
func frozenDeployment[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(2)
	w.sync()
	e := &eyes{connectivity.Begin(w.clock.Now(), connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}, connectivity.Control)}
	answers := map[connectivity.Cluster]connectivity.Answer{connectivity.Control: connectivity.Reachable}
	e.state = e.state.After(connectivity.Probe{At: w.clock.Now(), Answers: answers})
	for range 6 {
		w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
		e.state = e.state.After(connectivity.Probe{At: w.clock.Now()})
	}
	r := machinedeployment.New(w.lens, machinedeployment.Options{
		Client: w, Live: w.Client, Nodes: w, LiveNodes: w.Client, Clock: w.clock, Recorder: events.NewFakeRecorder(1000), Connectivity: e,
	})
	res, err := w.reconcile(r)
	if err != nil || res.RequeueAfter != 6*time.Second || len(w.sets()) != 0 || w.writes != 0 {
		t.Errorf("frozen: %+v, %v, %d sets, %d writes", res, err, len(w.sets()), w.writes)
	}
	e.state = e.state.After(connectivity.Probe{At: w.clock.Now(), Answers: answers})
	w.rest(r)
	if len(w.machines()) != 2 {
		t.Errorf("thawed: %d machines, want 2", len(w.machines()))
	}
}

func TestProgressUnseen(t *testing.T) { both(t, progressUnseen, progressUnseen) }

// A rollout that made no progress while the controller could not see is not late.
func progressUnseen[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(2)
	w.sync()
	answers := map[connectivity.Cluster]connectivity.Answer{connectivity.Control: connectivity.Reachable}
	e := &eyes{connectivity.Begin(w.clock.Now(), connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}, connectivity.Control)}
	e.state = e.state.After(connectivity.Probe{At: w.clock.Now(), Answers: answers})
	r := machinedeployment.New(w.lens, machinedeployment.Options{
		Client: w, Live: w.Client, Nodes: w, LiveNodes: w.Client, Clock: w.clock, Recorder: events.NewFakeRecorder(1000), Connectivity: e,
	})
	for range 4 { // its set is there and no machine is
		if _, err := w.reconcile(r); err != nil {
			t.Fatal(err)
		}
		w.sync()
	}
	w.clock.SetTime(w.clock.Now().Add(24 * time.Hour))
	e.state = e.state.After(connectivity.Probe{At: w.clock.Now(), Answers: answers})
	if _, err := w.reconcile(r); err != nil {
		t.Fatal(err)
	}
	w.sync()
	if last := w.facts().Last.Progress; last.Reason == "" || last.Reason == rollout.DeadlineExceeded {
		t.Errorf("after a day unseen: %+v", last)
	}
}
