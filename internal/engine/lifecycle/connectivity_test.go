package lifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// watching is the state of a process with a successful probe at each of the times before now, and no other.
func watching(ago ...time.Duration) worldEdit {
	return func(w *lifecycle.World) {
		w.Connectivity = connectivity.Begin(now.Add(-ago[0]), connectivity.Policy{Timeout: 30 * time.Second, Interval: 10 * time.Second}, connectivity.Control)
		for _, a := range ago {
			w.Connectivity = w.Connectivity.After(connectivity.Probe{At: now.Add(-a), Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Control: connectivity.Reachable}})
		}
	}
}

// steadily is the state of a process that has been connected for so long.
func steadily(since time.Duration) worldEdit {
	var ago []time.Duration
	for a := since; a > 0; a -= 10 * time.Second {
		ago = append(ago, a)
	}
	return watching(append(ago, 0)...)
}

// cutOff is the state of a process that was connected for so long, up to its last probe, which failed.
func cutOff(since time.Duration) worldEdit {
	return func(w *lifecycle.World) {
		steadily(since)(w)
		w.Connectivity = w.Connectivity.After(connectivity.Probe{At: now})
	}
}

// TestTimersStandStill: every timeout with a bad end counts watched time only (C26). Each machine is far
// beyond its timeout by the clock, and within it by watched time; the same machine is judged with a
// connection all along.
func TestTimersStandStill(t *testing.T) {
	silent := node(corev1.ConditionUnknown)
	silent.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-time.Hour))
	updating := func(mark inplace.Mark) worldEdit {
		return func(w *lifecycle.World) {
			w.Node.Update = inplace.Node{Request: inplace.RequestSelected, Mark: mark, Since: now.Add(-3 * time.Hour)}
		}
	}
	forever := func(m *lifecycle.Machine) { m.Deleted = now.Add(-3 * time.Hour) }
	long := 4 * time.Hour
	for _, c := range []struct {
		name string
		m    lifecycle.Machine
		w    []worldEdit
		bad  func(lifecycle.Decision) bool
	}{
		{"creation", fresh(aged(long)), []worldEdit{failedAt(lifecycle.Create, errTransient, time.Minute, 9)}, failing},
		{"joining", machine(aged(long)), []worldEdit{having(instance(provider.Running))}, failing},
		{"health", machine(stage(lifecycle.StageLost, long)), []worldEdit{runningOn(silent)}, failing},
		{"update", machine(stage(lifecycle.StageUpdating, long)), []worldEdit{runningOn(node(corev1.ConditionTrue)), updating(inplace.MarkReady)}, func(d lifecycle.Decision) bool { return d.Reason == lifecycle.ReasonUpdateTimeout }},
		{"failed update", machine(stage(lifecycle.StageUpdateFailed, long)), []worldEdit{runningOn(node(corev1.ConditionTrue)), updating(inplace.MarkReady)}, failing},
		{"drain", leaving(forever), []worldEdit{runningOn(node(corev1.ConditionTrue))}, forcing},
		{"drain of a silent node", leaving(), []worldEdit{runningOn(silent)}, forcing},
		{"drain for an update", machine(stage(lifecycle.StageRunning, long)), []worldEdit{runningOn(node(corev1.ConditionTrue)), updating(inplace.MarkSelected)}, forcing},
	} {
		for sees, edit := range map[string]worldEdit{"watched": steadily(long), "just begun": watching(0), "after an outage": watching(long, long-time.Second, 0), "in an outage": cutOff(long)} {
			w := world(append(c.w, edit)...)
			if d := lifecycle.Decide(now, c.m, w, brisk); c.bad(d) != (sees == "watched") {
				t.Errorf("%s, %s: %s (%s), force %v: %s", c.name, sees, d.Step, d.Reason, d.Force, d.Message)
			}
		}
	}
}

// TestNearlyOver: a timer with next to nothing left may stand still until the next probe of the clusters. It
// does not schedule a pass every few milliseconds until then.
func TestNearlyOver(t *testing.T) {
	silent := node(corev1.ConditionUnknown)
	underway := func(w *lifecycle.World) {
		w.Node.Update = inplace.Node{Request: inplace.RequestSelected, Mark: inplace.MarkReady}
	}
	nearly := func(timeout time.Duration) time.Duration { return timeout - 2*time.Millisecond }
	for name, c := range map[string]struct {
		m lifecycle.Machine
		w worldEdit
	}{
		"joining":   {machine(aged(nearly(brisk.Join.Timeout))), having(instance(provider.Running))},
		"health":    {machine(stage(lifecycle.StageLost, nearly(brisk.Health.Timeout))), runningOn(silent)},
		"update":    {machine(stage(lifecycle.StageUpdating, nearly(brisk.Update.Timeout))), underway},
		"coming up": {machine(stage(lifecycle.StageUpdated, nearly(brisk.Health.Timeout))), runningOn(silent)},
	} {
		d := lifecycle.Decide(now, c.m, world(runningOn(silent), c.w), brisk)
		if d.Step != lifecycle.Await || d.After < time.Second || d.After > 2*time.Second {
			t.Errorf("%s: %s (%s), again after %s", name, d.Step, d.Reason, d.After)
		}
	}
}

func failing(d lifecycle.Decision) bool { return d.Step == lifecycle.Fail }
func forcing(d lifecycle.Decision) bool { return d.Step == lifecycle.Drain && d.Force }

// TestNobodyIsJudgedUnseen: for any facts, a process that has just connected fails no machine because of a
// timeout.
func TestNobodyIsJudgedUnseen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		watching(0)(&f.w)
		d := lifecycle.Decide(now, f.m, f.w, f.p)
		switch d.Reason {
		case lifecycle.ReasonCreateTimeout, lifecycle.ReasonJoinTimeout, lifecycle.ReasonHealthTimeout, lifecycle.ReasonUpdateTimeout, lifecycle.ReasonFailureWithheld:
			t.Fatalf("%s (%s)", d.Step, d.Reason)
		}
		if d.Step == lifecycle.Drain && d.Force && !f.m.Deletion.Force && !f.m.ForceDrain {
			t.Fatalf("forced: %s", d.Reason)
		}
	})
}

// TestKeptThroughAnOutage: a deadline that passed without a connection counts some time after the
// reconnection; meanwhile its owner sees the machine recover.
func TestKeptThroughAnOutage(t *testing.T) {
	p := brisk
	p.Preserve.Supported, p.Preserve.Timeout = true, 96*time.Hour
	m := machine(stage(lifecycle.StageFailed, 2*time.Hour))
	m.Preservation = lifecycle.Preservation{Own: lifecycle.WishNow, Until: now.Add(-time.Minute)}
	w := world(runningOn(node(corev1.ConditionFalse)), watching(time.Hour, time.Hour-time.Second, 0))
	w.Preserving.Drain = &drain.Decision{Done: true}
	if k := lifecycle.Preserve(now, m, w, p); !k.Machine.Preserve || k.After != connectivity.Settle {
		t.Errorf("back just now: %+v", k)
	}
	steadily(2 * time.Minute)(&w)
	m.Preservation.Until = now.Add(-time.Hour)
	if k := lifecycle.Preserve(now, m, w, p); k.Machine.Preserve || !k.Node.End {
		t.Errorf("back for two minutes: %+v", k)
	}
}

// TestKeepDrainIsNotForcedUnseen: the timeout for the pods of a kept machine counts watched time, too.
func TestKeepDrainIsNotForcedUnseen(t *testing.T) {
	p := brisk
	p.Preserve.Supported, p.Preserve.Timeout = true, 96*time.Hour
	m := machine(stage(lifecycle.StageFailed, 4*time.Hour))
	m.Preservation = lifecycle.Preservation{Own: lifecycle.WishNow, Until: now.Add(time.Hour)}
	for sees, edit := range map[string]worldEdit{"watched": steadily(4 * time.Hour), "just begun": watching(0)} {
		w := world(runningOn(node(corev1.ConditionFalse)), edit)
		w.Node.Preservation = lifecycle.NodePreservation{Fenced: true, FencedSince: now.Add(-3 * time.Hour), Condition: lifecycle.PreserveDraining}
		if k := lifecycle.Preserve(now, m, w, p); k.Node.Drain == lifecycle.DrainNone || (k.Node.Drain == lifecycle.DrainForced) != (sees == "watched") {
			t.Errorf("%s: drain %q", sees, k.Node.Drain)
		}
	}
}

// TestThawed is section 5.3 of the Gardener notes, "up while frozen".
func TestThawed(t *testing.T) {
	thaw := watching(time.Hour, time.Hour-time.Second, time.Minute) // frozen for an hour, back since a minute
	silent := node(corev1.ConditionUnknown)
	reset := lifecycle.Decision{
		Step: lifecycle.Await, Reason: lifecycle.ReasonReconnected, Stage: lifecycle.StageRunning, After: 30 * time.Second,
		Message: "the API server was unreachable for too long to know whether the node is healthy",
	}
	lost := machine(stage(lifecycle.StageLost, 2*time.Hour))
	check(t, []row{
		{
			name: "gardener 5.3: Unknown before the freeze", reason: "every Unknown machine is set Running when the API server is back",
			policy: brisk, m: lost, w: world(runningOn(silent), thaw), want: reset,
		},
		{
			name: "gardener 5.3: Unknown in the freeze", reason: "it makes no difference when",
			policy: brisk, m: machine(stage(lifecycle.StageLost, 2*time.Minute)), w: world(runningOn(silent), thaw), want: reset,
		},
		{
			name: "gardener 5.3: although its node is missing from the cache", reason: "that says little so soon",
			policy: brisk, m: lost, w: world(having(instance(provider.Running)), thaw), want: reset,
		},
		{
			name: "gardener 5.3: Unknown after it", reason: "its time began anew",
			policy: brisk, m: machine(stage(lifecycle.StageLost, time.Minute)), w: world(runningOn(silent), thaw),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnhealthy, Stage: lifecycle.StageLost, After: 10 * time.Minute,
				Message: "Ready is Unknown (Test)",
			},
		},
		{
			name: "gardener 5.3: Unknown again in the second of the thaw", reason: "objects keep whole seconds: this one is told apart from one of before, lest it be reset twice",
			policy: brisk, m: machine(stage(lifecycle.StageLost, time.Minute)), w: world(runningOn(silent), watching(time.Hour, time.Hour-time.Second, time.Minute-100*time.Millisecond)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnhealthy, Stage: lifecycle.StageLost, After: 10 * time.Minute,
				Message: "Ready is Unknown (Test)",
			},
		},
		{
			name: "gardener 5.3: Running stays", reason: "nothing has to be reset",
			policy: brisk, m: machine(stage(lifecycle.StageRunning, 2*time.Hour)), w: world(runningOn(node(corev1.ConditionTrue)), thaw),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning},
		},
		{
			name: "gardener 5.3: an outage below the timeout", reason: "nothing froze, and nothing is reset; the timer stood still",
			policy: brisk, m: machine(stage(lifecycle.StageLost, time.Minute)), w: world(runningOn(silent), watching(time.Minute, 0)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnhealthy, Stage: lifecycle.StageLost, After: 10 * time.Minute,
				Message: "Ready is Unknown (Test)",
			},
		},
		{
			name: "gardener 5.3: Failed stays", reason: "only Unknown machines are reset",
			policy: brisk, m: machine(stage(lifecycle.StageFailed, 2*time.Hour)), w: world(runningOn(silent), thaw),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonFailed, Stage: lifecycle.StageFailed},
		},
	})
}
