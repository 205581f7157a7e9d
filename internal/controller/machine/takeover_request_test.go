package machine_test

import (
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/runtime/leading"
	"github.com/millwright-dev/millwright/provider"
)

// createdAt is the time of the machine's creation, after the start of the test.
func createdAt(after time.Duration) func(*machinev1.Machine) {
	return func(m *machinev1.Machine) { m.CreationTimestamp = metav1.NewTime(start.Add(after)) }
}

// leads begins the tenure of the process.
func (g *rig[M]) leads() {
	g.Helper()
	if err := g.tenure.Start(g.Context()); err != nil {
		g.Fatal(err)
	}
}

// slowListings is an infrastructure whose listings are 20 s old at most, and a process that took over.
func slowListings[M client.Object](g *rig[M]) *rig[M] {
	g.handover, g.cloud.lag = leading.Handover, 20*time.Second
	return g
}

// requestWithoutReply sends a request whose instance is created and not listed, and returns the instance.
func requestWithoutReply[M client.Object](g *rig[M]) []provider.Instance {
	g.Helper()
	g.cloud.createErr, g.cloud.replyLost = provider.Errorf(provider.Transient, "killed"), true
	g.pass()
	made := g.cloud.instances
	if len(made) != 1 {
		g.Fatalf("%d instances", len(made))
	}
	g.cloud.instances, g.cloud.createErr, g.cloud.replyLost, g.cloud.calls = nil, nil, false, nil
	return made
}

// recordedAfter reconciles the machine until it has recorded an instance, and returns how long that took.
// Unlisted instances are listed after that time.
func recordedAfter[M client.Object](g *rig[M], unlisted []provider.Instance, listed time.Duration) time.Duration {
	g.Helper()
	began := g.clock.Now()
	for range 20 {
		waited := g.clock.Now().Sub(began)
		if len(unlisted) > 0 && waited >= listed {
			g.cloud.instances, unlisted = unlisted, nil
		}
		res := g.pass()
		if g.lens.View(g.read()).Recorded.ProviderID != "" {
			return waited
		}
		g.clock.Step(res.RequeueAfter)
	}
	g.Fatal("no instance was recorded")
	return 0
}

// TestWaitAtTakeover: a process that takes over waits no longer than listings may lag behind the last
// request of its predecessor, and finds an instance soon after it is listed.
func TestWaitAtTakeover(t *testing.T) {
	for name, was := range map[string]struct {
		// arrived: the request of the earlier process created an instance, which is listed then.
		arrived bool
		listed  time.Duration
		// queued is how long after the takeover the machine gets a worker.
		queued, want time.Duration
		creates      int
	}{
		"listed before the takeover":        {arrived: true, want: 0},
		"listed soon":                       {arrived: true, listed: 3 * time.Second, want: 4 * time.Second},
		"listed as late as possible":        {arrived: true, listed: 22 * time.Second, want: 22 * time.Second},
		"never sent":                        {want: 22 * time.Second, creates: 1},
		"never sent, and a short queue":     {queued: 10 * time.Second, want: 12 * time.Second, creates: 1},
		"never sent, and a long queue":      {queued: time.Minute, want: 0, creates: 1},
		"listed meanwhile, in a long queue": {arrived: true, queued: time.Minute, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := slowListings(openshiftRig(t))
			made := requestWithoutReply(g)
			if !was.arrived {
				made = nil
			}
			g.clock.Step(time.Minute)
			g.restart()
			g.leads()
			g.clock.Step(was.queued)
			if waited := recordedAfter(g, made, was.listed); waited != was.want {
				t.Errorf("waited for %v, want %v", waited, was.want)
			}
			if n := g.cloud.count("Create"); n != was.creates || len(g.cloud.instances) != 1 {
				t.Errorf("%d requests, %d instances", n, len(g.cloud.instances))
			}
		})
	}
}

// TestSafetyStatusRemovedAtTakeover: a client removes the status of a set's machine after a request for its second
// choice, and another process takes over. It looks for the instance as long as listings may lag, and requests
// none before.
func TestSafetyStatusRemovedAtTakeover(t *testing.T) {
	t.Run("openshift", func(t *testing.T) {
		statusRemovedAtTakeover(t, openshiftRig, openshiftFinalizer, func(m *machinev1.Machine) { m.Status = machinev1.MachineStatus{} })
	})
	t.Run("gardener", func(t *testing.T) {
		statusRemovedAtTakeover(t, gardenerRig, gardenerFinalizer, func(m *v1alpha1.Machine) { m.Status = v1alpha1.MachineStatus{} })
	})
}

func statusRemovedAtTakeover[M client.Object](t *testing.T, rigged func(*testing.T, ...func(M)) *rig[M], finalizer string, empty func(M)) {
	for name, arrived := range map[string]bool{"the request has arrived": true, "the request was never sent": false} {
		t.Run(name, func(t *testing.T) {
			g := slowListings(rigged(t, bySet[M](finalizer)))
			asked := chooses(g, zones("a", "b"), exhausted(provider.ScopeZone, "a"))
			made, want := requestWithoutReply(g), []string{"a", "b"}
			chooses(g, zones("a", "b"), func(choice string) error { *asked = append(*asked, choice); return nil })
			if !arrived {
				made, want = nil, []string{"a", "b", "a"}
			}
			g.removeStatus(empty)
			g.clock.Step(time.Second)
			g.restart()
			if waited := recordedAfter(g, made, 21*time.Second); waited != 22*time.Second {
				t.Errorf("waited for %v", waited)
			}
			if !slices.Equal(*asked, want) || len(g.cloud.instances) != 1 {
				t.Errorf("asked for %q, want %q; %d instances", *asked, want, len(g.cloud.instances))
			}
		})
	}
}

// removeStatus removes the machine's status, which had a request.
func (g *rig[M]) removeStatus(empty func(M)) {
	g.Helper()
	m := g.read()
	empty(m)
	if err := g.control.WithWatch.Status().Update(g.Context(), m); err != nil {
		g.Fatal(err)
	}
	if v := g.lens.View(g.read()); v.HasOrigin() || len(v.Recorded.Requests) > 0 || !v.HasFinalizer {
		g.Fatalf("the machine has %+v", v.Recorded)
	}
}

// TestStatusRemovedOfTheOnlyChoice: the same, where the class has one choice: the same request is sent at once, and the
// infrastructure recognizes it.
func TestStatusRemovedOfTheOnlyChoice(t *testing.T) {
	g := slowListings(openshiftRig(t, bySet[*machinev1.Machine](openshiftFinalizer)))
	requestWithoutReply(g)
	g.removeStatus(func(m *machinev1.Machine) { m.Status = machinev1.MachineStatus{} })
	g.clock.Step(time.Second)
	g.restart()
	g.pass()
	if n := g.cloud.count("Create"); n != 1 || !slices.Equal(g.cloud.attempts, []int{0, 0}) {
		t.Errorf("%d requests, attempts %v", n, g.cloud.attempts)
	}
}

// TestStatusRemovedAgainAndAgain: each process that takes over waits for the requests of all earlier ones.
func TestStatusRemovedAgainAndAgain(t *testing.T) {
	g := slowListings(openshiftRig(t, bySet[*machinev1.Machine](openshiftFinalizer)))
	asked := chooses(g, zones("a", "b"), func(string) error { return nil })
	requestWithoutReply(g)
	for range 3 {
		g.removeStatus(func(m *machinev1.Machine) { m.Status = machinev1.MachineStatus{} })
		g.restart()
		g.tries(5, 4*time.Second)
	}
	if len(*asked) != 1 {
		t.Errorf("asked for %q within the read lag", *asked)
	}
}

// TestSlowAnswerShowsTheTimeOfItsQuestion: listings lag behind the time at which the infrastructure was
// asked, however long the answer takes.
func TestSlowAnswerShowsTheTimeOfItsQuestion(t *testing.T) {
	g := slowListings(openshiftRig(t))
	made := requestWithoutReply(g)
	g.clock.Step(5 * time.Second)
	g.cloud.before = func(call string) {
		if call == "Find" {
			g.clock.Step(30 * time.Second)
		}
	}
	g.pass()
	if n := g.cloud.count("Create"); n != 0 {
		t.Fatalf("%d requests after an answer that is as old as the first request", n)
	}
	g.cloud.before, g.cloud.instances = nil, made
	g.pass()
	if n := g.cloud.count("Create"); n != 0 || g.lens.View(g.read()).Recorded.ProviderID == "" {
		t.Errorf("%d requests, recorded %+v", n, g.lens.View(g.read()).Recorded)
	}
}

// TestClockSetBack: an API server whose clock is set back does not delay a machine for longer than the read
// lag.
func TestClockSetBack(t *testing.T) {
	g := slowListings(openshiftRig(t, bySet[*machinev1.Machine](openshiftFinalizer)))
	chooses(g, zones("a", "b"), func(string) error { return nil })
	g.restart()
	g.clock.Step(time.Hour)
	g.leads()
	g.clock.SetTime(start)
	if waited := recordedAfter(g, nil, 0); waited != 22*time.Second {
		t.Errorf("waited for %v", waited)
	}
}

// TestLooksWriteNothing: a machine whose instance is looked for again and again is written once.
func TestLooksWriteNothing(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { looksWriteNothing(t, slowListings(openshiftRig(t))) })
	t.Run("gardener", func(t *testing.T) { looksWriteNothing(t, slowListings(gardenerRig(t))) })
}

func looksWriteNothing[M client.Object](t *testing.T, g *rig[M]) {
	for _, restart := range []bool{false, true} {
		requestWithoutReply(g)
		if restart {
			g.restart()
		}
		g.clock.Step(time.Second)
		g.pass()
		g.written()
		looks := g.cloud.count("Find")
		for range 3 {
			g.clock.Step(g.pass().RequeueAfter)
		}
		if writes, n := g.written(), g.cloud.count("Find")-looks; len(writes) > 0 || n != 3 || g.cloud.count("Create") > 0 {
			t.Errorf("restart %v: %q written in %d looks", restart, writes, n)
		}
		g.clock.Step(time.Minute)
	}
}
