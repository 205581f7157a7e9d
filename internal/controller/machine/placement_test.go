package machine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/runtime/leading"
	"github.com/millwright-dev/millwright/provider"
)

// zones are choices by name and zone.
func zones(names ...string) (out []provider.Choice) {
	for _, n := range names {
		out = append(out, provider.Choice{Name: n, Zone: n, Type: "large"})
	}
	return out
}

// chooses lets the cloud of g have the choices; what is asked for is noted.
func chooses[M client.Object](g *rig[M], choices []provider.Choice, answers func(choice string) error) *[]string {
	asked := &[]string{}
	g.cloud.traits.Choices = choices
	g.cloud.answers = func(choice string) error {
		*asked = append(*asked, choice)
		return answers(choice)
	}
	return asked
}

func exhausted(s provider.Scope, names ...string) func(string) error {
	return func(choice string) error {
		if len(names) > 0 && !slices.Contains(names, choice) {
			return nil
		}
		return provider.ExhaustedIn(s, "no room for %s", choice)
	}
}

// TestNextChoice: an exhausted choice is passed over within the pass, without an event.
func TestNextChoice(t *testing.T) {
	g := openshiftRig(t)
	asked := chooses(g, zones("a", "b", "c"), exhausted(provider.ScopeType, "a"))
	g.pass()
	if !slices.Equal(*asked, []string{"a", "b"}) || len(g.cloud.instances) != 1 {
		t.Errorf("asked for %q, %d instances", *asked, len(g.cloud.instances))
	}
	if m := g.read(); ptr.Deref(m.Spec.ProviderID, "") == "" || m.Status.ErrorReason != nil {
		t.Errorf("provider ID %v, error %v", m.Spec.ProviderID, m.Status.ErrorReason)
	}
	for _, e := range g.told() {
		if strings.Contains(e, "no room") {
			t.Errorf("an instance was made, and people hear: %s", e)
		}
	}
}

// TestOtherChoice: a process that takes over does not know what was exhausted, and infrastructures know a token in one zone only. Before it asks in the
// first zone it waits until what the process before asked for in another one would be listed.
func TestOtherChoice(t *testing.T) {
	g := openshiftRig(t)
	g.handover, g.cloud.lag = leading.Handover, 20*time.Second
	asked := chooses(g, zones("a", "b"), exhausted(provider.ScopeZone, "a"))
	g.cloud.replyLost, g.cloud.createErr = true, provider.Errorf(provider.Transient, "killed")
	g.pass()
	made := g.cloud.instances
	if !slices.Equal(*asked, []string{"a", "b"}) || len(made) != 1 {
		t.Fatalf("asked for %q, %d instances", *asked, len(made))
	}
	g.cloud.instances, g.cloud.createErr = nil, nil // it is not listed yet
	chooses(g, zones("a", "b"), func(choice string) error { *asked = append(*asked, choice); return nil })
	g.clock.Step(time.Second)
	g.restart()
	if res := g.pass(); res.RequeueAfter != 2*time.Second || len(*asked) != 2 {
		t.Errorf("asked for %q, looked at again after %v", *asked, res.RequeueAfter)
	}
	g.cloud.instances = made
	g.clock.Step(20 * time.Second)
	g.pass()
	if len(*asked) != 2 || len(g.cloud.instances) != 1 || ptr.Deref(g.read().Spec.ProviderID, "") == "" {
		t.Errorf("asked for %q, %d instances, provider ID %v", *asked, len(g.cloud.instances), g.read().Spec.ProviderID)
	}
}

// TestSafetyAskOfEarlierProcess: a process is killed after it has gone on to the second choice. The one that takes over looks for the instance as long
// as listings may run behind, and then repeats what was asked for last, as the same attempt, although the first choice has room by then.
func TestSafetyAskOfEarlierProcess(t *testing.T) {
	g := openshiftRig(t)
	g.handover, g.cloud.lag = leading.Handover, 20*time.Second
	asked := chooses(g, zones("a", "b"), func(choice string) error {
		if choice == "a" {
			return provider.ExhaustedIn(provider.ScopeZone, "no room")
		}
		return provider.Errorf(provider.Transient, "killed")
	})
	g.pass()
	asks := g.lens.View(g.read()).Recorded.Requests
	if len(asks) != 2 || asks[0].Closed != provider.Exhausted || asks.Open() == nil || asks.Open().Choice != "b" || asks.Open().Attempt != 1 {
		t.Fatalf("the machine keeps %+v", asks)
	}
	chooses(g, zones("a", "b"), func(choice string) error { *asked = append(*asked, choice); return nil })
	g.restart()
	g.pass()
	g.clock.Step(21 * time.Second)
	g.pass()
	if len(*asked) != 2 {
		t.Fatalf("asked for %q before it would be listed", *asked)
	}
	g.clock.Step(time.Second)
	g.pass()
	if !slices.Equal(*asked, []string{"a", "b", "b"}) || !slices.Equal(g.cloud.attempts, []int{0, 1, 1}) || len(g.cloud.instances) != 1 {
		t.Errorf("asked for %q, attempts %v, %d instances", *asked, g.cloud.attempts, len(g.cloud.instances))
	}
}

// TestSafetyTokenOfEarlierProcess: a process that takes over does not know the token that the process before used last, where the infrastructure
// refuses one for good that it refused once. Before it asks it waits until what may have been made with that token would be listed.
func TestSafetyTokenOfEarlierProcess(t *testing.T) {
	g := gardenerRig(t)
	g.handover, g.cloud.lag = leading.Handover, 20*time.Second
	g.cloud.replyLost, g.cloud.createErr = true, provider.Errorf(provider.Transient, "killed")
	if _, err := g.try("m-1"); err != nil {
		t.Log(err)
	}
	made := g.cloud.instances
	if len(made) != 1 || g.lens.View(g.read()).Recorded.Provisioned {
		t.Fatalf("%d instances", len(made))
	}
	g.cloud.instances, g.cloud.createErr, g.cloud.calls = nil, nil, nil // it is not listed yet
	g.clock.Step(time.Second)
	g.restart()
	if g.tries(3, 5*time.Second); slices.Contains(g.cloud.calls, "Create") {
		t.Errorf("asked again before the first instance can be listed: %q", g.cloud.calls)
	}
	g.cloud.instances = made
	g.clock.Step(20 * time.Second)
	g.tries(2, time.Second)
	if slices.Contains(g.cloud.calls, "Create") || g.lens.View(g.read()).Recorded.ProviderID == "" {
		t.Errorf("calls %q, provider ID %q", g.cloud.calls, g.lens.View(g.read()).Recorded.ProviderID)
	}
}

// TestOtherChoiceIsOver: what an original may have asked for is not waited for longer than that, and a machine that was made since not at all.
func TestOtherChoiceIsOver(t *testing.T) {
	g := openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer))
	g.handover, g.cloud.lag = leading.Handover, 20*time.Second
	asked := chooses(g, zones("a", "b"), func(string) error { return nil })
	g.clock.Step(time.Minute)
	g.restart()
	g.pass()
	g.clock.Step(21 * time.Second)
	g.pass()
	nth(g, 2)
	if !slices.Equal(*asked, []string{"a"}) {
		t.Errorf("asked for %q: the younger machine alone is to be made", *asked)
	}
	g.clock.Step(time.Second)
	g.pass()
	if !slices.Equal(*asked, []string{"a", "a"}) {
		t.Errorf("asked for %q", *asked)
	}
}

// TestOtherChoiceOfNobody: an instance that was not requested yet is created at once, however old the machine
// is. A machine whose finalizer was removed by hand was requested. That is unknown for a machine that an
// original managed, and for a set's machine that existed at the takeover: a client may have removed its status.
func TestOtherChoiceOfNobody(t *testing.T) {
	says := func(origin string) func(*machinev1.Machine) {
		return func(m *machinev1.Machine) { dialect.SetAnnotation(m, dialect.OriginAnnotation, origin) }
	}
	for name, was := range map[string]struct {
		edits []func(*machinev1.Machine)
		want  int
	}{
		"made while no process ran": {nil, 1},
		"made by a set":             {[]func(*machinev1.Machine){bySet[*machinev1.Machine](openshiftFinalizer)}, 0},
		"made by a set since":       {[]func(*machinev1.Machine){bySet[*machinev1.Machine](openshiftFinalizer), createdAt(63 * time.Second)}, 1},
		"held by an original":       {[]func(*machinev1.Machine){held[*machinev1.Machine](openshiftFinalizer)}, 0},
		"asked for":                 {[]func(*machinev1.Machine){held[*machinev1.Machine](openshiftFinalizer), says(`{"cluster":"blue"}`)}, 0},
		"let go by hand":            {[]func(*machinev1.Machine){says(`{"cluster":"blue"}`)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := openshiftRig(t, was.edits...)
			g.handover, g.cloud.lag = leading.Handover, 20*time.Second
			asked := chooses(g, zones("a", "b"), func(string) error { return nil })
			g.clock.Step(time.Minute)
			g.restart()
			if g.pass(); len(*asked) != was.want {
				t.Errorf("asked for %q at once", *asked)
			}
			g.clock.Step(time.Second)
			if g.pass(); len(*asked) != was.want {
				t.Errorf("asked for %q a second later", *asked)
			}
		})
	}
}

// TestAccountExhausted: no zone is tried if the account has no quota; each choice is reported once, and the
// infrastructure is asked again when that may help.
func TestAccountExhausted(t *testing.T) {
	g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer))
	asked := chooses(g, zones("a", "b", "c"), exhausted(provider.ScopeAccount))
	if res := g.pass(); res.RequeueAfter != 10*time.Minute {
		t.Errorf("looked at again after %v, want 10m", res.RequeueAfter)
	}
	if !slices.Equal(*asked, []string{"a"}) {
		t.Errorf("asked for %q", *asked)
	}
	op := g.read().Status.LastOperation
	if want := "message = [none of 3 choices has capacity: a, b, c (no room for a)]"; op.ErrorCode != "ResourceExhausted" || !strings.Contains(op.Description, want) {
		t.Errorf("%s: %s", op.ErrorCode, op.Description)
	}
	g.clock.Step(9 * time.Minute)
	g.pass()
	if len(*asked) != 1 {
		t.Errorf("asked for %q within the pause", *asked)
	}
	g.cloud.answers = nil
	g.clock.Step(time.Minute)
	g.pass()
	if len(g.cloud.instances) != 1 {
		t.Error("no instance was made although there is room by now")
	}
}

// TestOthersKnow: what one machine finds exhausted no other asks for, in the account that the infrastructure names, or by credentials;
// a new process asks once.
func TestOthersKnow(t *testing.T) {
	for name, tells := range map[string]bool{"account": true, "credentials": false} {
		t.Run(name, func(t *testing.T) {
			g := openshiftRig(t)
			asked := chooses(g, zones("a", "b"), exhausted(provider.ScopeZone, "a"))
			if tells {
				g.cloud.account = "4711"
			}
			g.pass()
			wants := func(n int, want ...string) {
				t.Helper()
				if nth(g, n); !slices.Equal(*asked, want) || len(g.cloud.instances) != n {
					t.Errorf("asked for %q, want %q; %d instances", *asked, want, len(g.cloud.instances))
				}
			}
			wants(2, "a", "b", "b")
			g.restart()
			wants(3, "a", "b", "b", "a", "b")
		})
	}
}

// nth makes the nth machine, and lets it ask for its instance.
func nth(g *rig[*machinev1.Machine], n int) {
	g.Helper()
	m := openshiftMachine(func(m *machinev1.Machine) {
		m.Name, m.UID = fmt.Sprintf("m-%d", n), types.UID(fmt.Sprintf("uid-%d", n))
		m.CreationTimestamp = metav1.NewTime(g.clock.Now())
	})
	if err := g.control.WithWatch.Create(g.Context(), m); err != nil {
		g.Fatal(err)
	}
	i := &g.cloud.next
	i.ID, i.ProviderID, i.NodeName = fmt.Sprintf("i-%d", n), fmt.Sprintf("memory:///i-%d", n), fmt.Sprintf("node-%d", n)
	if _, err := g.try(m.Name); err != nil {
		g.Fatal(err)
	}
}

// TestGivenUpIsAShortage: if an instance was accepted and failed for lack of capacity, no other machine
// requests that choice, neither at once nor after the pause of a refusal; once one runs, all machines
// request it again.
func TestGivenUpIsAShortage(t *testing.T) {
	g := openshiftRig(t)
	asked := chooses(g, zones("a", "b"), func(string) error { return nil })
	acceptedThenFailed(g.cloud, func() { g.pass() }, provider.Stopped, provider.ExhaustedIn(provider.ScopeZone, "no room"))
	wants := func(reason string, n int, want ...string) {
		t.Helper()
		if nth(g, n); !slices.Equal(*asked, want) {
			t.Errorf("%s: asked for %q, want %q", reason, *asked, want)
		}
	}
	g.cloud.next.State = provider.Running
	wants("no room in a", 2, "a", "b")
	g.clock.Step(20 * time.Minute)
	g.pass() // the first one is there still, and says so again
	wants("another try would cost another machine", 3, "a", "b", "b")
	g.clock.Step(40 * time.Minute)
	g.cloud.next.State = provider.Pending
	wants("an hour later", 4, "a", "b", "b", "a")
	wants("nobody knows yet what comes of that", 5, "a", "b", "b", "a", "b")
	g.cloud.instances[3].State, g.cloud.instances[4].State = provider.Running, provider.Running
	if _, err := g.try("m-4"); err != nil {
		t.Fatal(err)
	}
	wants("there is room in a again", 6, "a", "b", "b", "a", "b", "a")
	g.pass()
	wants("what was given up long ago says nothing new", 7, "a", "b", "b", "a", "b", "a", "a")
}

// TestGivenUpBeforeARestart: a new process does not know the requests of its predecessor. The instance says
// where it is, and the earliest time at which it may have failed, if its machine has failed by then.
// Otherwise a process that often crashes requests the same choice for each machine that replaces one
// (world 100202056).
func TestGivenUpBeforeARestart(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		zone    string
		created time.Time
		failed  bool
		deleted bool
		want    string
	}{
		"it says where":              {"another zone is asked", "a", start, false, false, "b"},
		"it says only where":         {"its machine has not failed yet, so it is news", "a", time.Time{}, false, false, "b"},
		"it does not say":            {"it may be in either", "", start, false, false, "a"},
		"its machine has failed":     {"that is within the hour", "a", start, true, false, "b"},
		"its machine is deleted":     {"that is within the hour", "a", start, true, true, "b"},
		"it is old":                  {"that is old news", "a", start.Add(-40 * time.Minute), true, false, "a"},
		"it is old, and goes":        {"that is old news", "a", start.Add(-40 * time.Minute), true, true, "a"},
		"it does not say since when": {"that may be old news", "a", time.Time{}, true, false, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			g := openshiftRig(t)
			asked := chooses(g, zones("a", "b"), func(string) error { return nil })
			g.cloud.next.State, g.cloud.next.Zone, g.cloud.next.Created = provider.Pending, tc.zone, tc.created
			g.pass()
			g.cloud.instances[0].State, g.cloud.instances[0].Fault = provider.Stopped, errNoCapacity
			if tc.failed {
				g.pass()
			}
			if tc.deleted {
				g.delete()
				g.cloud.deletions = 5
				g.pass() // asks the instance to go
				if stage := ptr.Deref(g.read().Status.Phase, ""); stage != machinev1.PhaseDeleting {
					t.Fatalf("the deleted machine is %s", stage)
				}
			}
			g.clock.Step(20 * time.Minute)
			g.restart()
			g.pass()
			if nth(g, 2); (*asked)[1] != tc.want {
				t.Errorf("%s: asked for %q", tc.reason, *asked)
			}
		})
	}
}

// TestReplacedElsewhere: the machine that replaces one whose instance failed does not request the same
// choice, although its API gives a creation longer than a shortage lasts.
func TestReplacedElsewhere(t *testing.T) {
	g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer))
	asked := chooses(g, zones("a", "b"), func(string) error { return nil })
	acceptedThenFailed(g.cloud, func() { g.pass() }, provider.Terminated, errNoCapacity)
	g.clock.Step(21 * time.Minute)
	g.pass()
	if phase := g.read().Status.CurrentStatus.Phase; phase != v1alpha1.MachineFailed {
		t.Fatalf("%s after its time to be created", phase)
	}
	g.delete()
	g.pass()
	next := gardenerMachine(func(m *v1alpha1.Machine) { m.Name, m.UID = "m-2", "uid-2" })
	if err := g.control.WithWatch.Create(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first adds the finalizer
		if _, err := g.try("m-2"); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(*asked, []string{"a", "b"}) {
		t.Errorf("asked for %q", *asked)
	}
}

// TestNoOtherChoiceForALostReply: it is looked for until listings have caught up, and then the same choice is asked for again,
// although a better one is worth a try by then.
func TestNoOtherChoiceForALostReply(t *testing.T) {
	g := openshiftRig(t)
	g.cloud.lag = 2 * time.Minute
	lost := errors.New("connection reset")
	asked := chooses(g, zones("a", "b"), func(choice string) error {
		if choice == "a" {
			return provider.ExhaustedIn(provider.ScopeType, "no room")
		}
		return lost
	})
	g.pass()
	for range 3 {
		g.clock.Step(30 * time.Second)
		g.pass()
	}
	if !slices.Equal(*asked, []string{"a", "b"}) {
		t.Fatalf("asked for %q while the instance may not be listed yet", *asked)
	}
	lost = nil
	g.clock.Step(30 * time.Second)
	g.pass()
	if !slices.Equal(*asked, []string{"a", "b", "b"}) || len(g.cloud.instances) != 1 {
		t.Errorf("asked for %q, %d instances", *asked, len(g.cloud.instances))
	}
}

// TestRestoreForgetsNoOrder: world 100200121 of machine.sapcloud.io. The API server goes back to before the reply was lost. The
// infrastructure does not, and the same choice is asked for again.
func TestRestoreForgetsNoOrder(t *testing.T) {
	g := openshiftRig(t)
	answer := errors.New("connection reset")
	asked := chooses(g, zones("a", "b"), func(choice string) error {
		if choice == "a" {
			return answer
		}
		return nil
	})
	g.pass()
	answer = provider.ExhaustedIn(provider.ScopeType, "no room")
	nth(g, 2) // finds out that there is no room
	g.r.Client = &versions{g.control, "1"}
	g.r.Live = g.r.Client
	before := len(*asked)
	for n := 0; n < 20 && len(*asked) == before; n++ {
		g.clock.Step(2 * time.Second)
		if _, err := g.try("m-1"); err != nil {
			t.Log(err)
		}
	}
	if len(*asked) == before || (*asked)[before] != "a" {
		t.Errorf("asked for %q, of which the first %d before the API server went back", *asked, before)
	}
}

// TestManyChoices: a pass asks for a few, and the next one goes on.
func TestManyChoices(t *testing.T) {
	g := openshiftRig(t)
	var names []string
	for n := range 7 {
		names = append(names, fmt.Sprintf("zone-%d", n))
	}
	asked := chooses(g, zones(names...), exhausted(provider.ScopeType))
	if res := g.pass(); res.RequeueAfter != 500*time.Millisecond || len(*asked) != 5 {
		t.Errorf("%d were asked for in one pass, the next is after %v", len(*asked), res.RequeueAfter)
	}
	g.clock.Step(500 * time.Millisecond)
	if res := g.pass(); res.RequeueAfter != time.Minute-500*time.Millisecond || !slices.Equal(*asked, names) {
		t.Errorf("asked for %q, the next after %v", *asked, res.RequeueAfter)
	}
}
