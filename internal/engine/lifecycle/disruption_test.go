package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// governed is a cluster with disruption budgets that were not asked yet.
func governed(w *lifecycle.World) { w.Disruption = lifecycle.Disruption{Governed: true} }

func permitted(w *lifecycle.World) {
	w.Disruption = lifecycle.Disruption{Governed: true, Asked: true, Permitted: true}
}

const full = "machine disruption budget a, which permits 1 disruption at a time: the machine waits for its turn"

func refused(w *lifecycle.World) {
	w.Disruption = lifecycle.Disruption{Governed: true, Asked: true, Message: full, After: time.Minute}
}

// startedAt says that a step of the deletion began so long ago.
func startedAt(s lifecycle.DeletionStep, ago time.Duration) machineEdit {
	return func(m *lifecycle.Machine) {
		m.Deletion.Started = append(m.Deletion.Started, lifecycle.StartedStep{Step: s, At: now.Add(-ago)})
	}
}

func forcedDeletion(m *lifecycle.Machine) { m.Deletion.Force = true }
func undrained(m *lifecycle.Machine)      { m.Deletion.SkipDrain = true }

func hadNode(m *lifecycle.Machine) { m.Recorded.Joined = lifecycle.Joined{Node: "node-1"} }

func TestBudgetsBeforeTheDrain(t *testing.T) {
	busy, gone := runningOn(node(corev1.ConditionTrue)), func(w *lifecycle.World) { w.Instances.Own = nil }
	waits := waiting(lifecycle.ReasonDisruptionBudget, full, time.Minute)
	asks := waiting(lifecycle.ReasonDisruptionBudget, "", lifecycle.FirstDelay)
	drains, terminates := out(lifecycle.Drain, lifecycle.ReasonDeleting), out(lifecycle.Terminate, lifecycle.ReasonDeleting)
	check(t, []row{
		{name: "asks", reason: "the budgets decide before the cordon", policy: patient, m: leaving(), w: world(busy, governed), want: asks},
		{name: "refused", reason: "the drain waits", policy: patient, m: leaving(), w: world(busy, refused), want: waits},
		{name: "permitted", reason: "the drain begins", policy: patient, m: leaving(), w: world(busy, permitted), want: drains},
		{name: "no budgets", reason: "nothing changes", policy: patient, m: leaving(), w: world(busy), want: drains},
		{name: "hook", reason: "a permit is not taken while the deletion waits for a hook", policy: patient, m: leaving(func(m *lifecycle.Machine) { m.Deletion.PreDrain = etcdHook }), w: world(busy, governed), want: lifecycle.Decision{
			Step: lifecycle.Settled, Reason: lifecycle.ReasonDrainBlockedHook, Stage: lifecycle.StageDeleting,
			Message: "waiting for the owners of the pre-drain hooks: EtcdQuorumOperator (etcd-operator)",
		}},
		{name: "forced", reason: "a user has decided about this machine", policy: patient, m: leaving(forcedDeletion), w: world(busy, refused), want: forced(drains)},
		{name: "without a drain", reason: "the termination is the disruption", policy: patient, m: leaving(undrained), w: world(busy, refused), want: waits},
		{name: "without a drain, and the node is unknown", reason: "the node has joined", policy: patient, m: leaving(undrained, hadNode), w: world(busy, nodeBlind, refused), want: waits},
		{name: "never joined", reason: "nothing is disrupted", policy: patient, m: leaving(), w: world(having(instance(provider.Running)), refused), want: terminates},
		{name: "the instance does not exist", reason: "nothing is left to disrupt", policy: patient, m: leaving(), w: world(joined(node(corev1.ConditionUnknown)), gone, refused), want: terminates},
		{name: "the instance is stopping", reason: "it is disrupted already", policy: patient, m: leaving(), w: world(runningOn(node(corev1.ConditionTrue)), having(instance(provider.Stopping)), refused), want: terminates},
		{name: "begun", reason: "a drain that began before the budget is completed", policy: patient, m: leaving(startedAt(lifecycle.DeletionDrain, time.Minute)), w: world(runningOn(cordoned()), refused), want: drains},
		{name: "not begun", reason: "the record of a drain is also that of an unreadable node", policy: patient, m: leaving(startedAt(lifecycle.DeletionDrain, time.Minute)), w: world(busy, refused), want: waits},
		{name: "no nodes", reason: "machines without nodes are not counted", policy: targetless(patient), m: leaving(), w: world(having(instance(provider.Running)), refused), want: terminates},
	})
}

// TestUnreadableNodeIsNoDrain: otherwise the record of a drain would stand for a permit, after the node can be read again and has the cordon
// of a user.
func TestUnreadableNodeIsNoDrain(t *testing.T) {
	drains := []lifecycle.StartedStep{{Step: lifecycle.DeletionDrain, At: now}}
	for _, c := range []struct {
		reason string
		edit   func(*lifecycle.World)
		want   []lifecycle.StartedStep
	}{
		{"budgets were not asked", governed, nil},
		{"they refused", refused, nil},
		{"they permitted the drain", permitted, drains},
		{"no budgets exist", func(*lifecycle.World) {}, drains},
	} {
		o := lifecycle.Outcome{At: now, World: world(nodeBlind, c.edit), Decision: lifecycle.Decision{Reason: lifecycle.ReasonNodeUnknown}}
		if got := lifecycle.Begin(nil, now.Add(-time.Minute), o); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.reason, got, c.want)
		}
	}
}

// TestDrainTimeoutAfterBudget: the timeout counts from the permit, also if the budget was deleted meanwhile. Without the record of a wait
// it counts from the deletion.
func TestDrainTimeoutAfterBudget(t *testing.T) {
	busy, long := runningOn(node(corev1.ConditionTrue)), deletedFor(3*time.Hour)
	for _, c := range []struct {
		reason string
		m      lifecycle.Machine
		w      lifecycle.World
		force  bool
	}{
		{"no wait", leaving(long), world(busy), true},
		{"it has waited for three hours, and begins", leaving(long, startedAt(lifecycle.DeletionBudget, 3*time.Hour)), world(busy, permitted), false},
		{"the budget was deleted", leaving(long, startedAt(lifecycle.DeletionBudget, 3*time.Hour)), world(busy), false},
		{"it began a minute ago", leaving(long, startedAt(lifecycle.DeletionBudget, 3*time.Hour), startedAt(lifecycle.DeletionDrain, time.Minute)), world(busy, permitted), false},
		{"it began two hours ago", leaving(long, startedAt(lifecycle.DeletionBudget, 3*time.Hour), startedAt(lifecycle.DeletionDrain, 2*time.Hour+time.Second)), world(busy, permitted), true},
	} {
		p := brisk
		p.Drain.Timeout = 2 * time.Hour
		if d := lifecycle.DecideLife(now, c.m, c.w, p); d.Step != lifecycle.Drain || d.Force != c.force {
			t.Errorf("%s: %s, force %v", c.reason, d.Step, d.Force)
		}
	}
}

// TestBudgetsBeforeUpdatesAndReboots: the machine works meanwhile, and its health is judged as always.
func TestBudgetsBeforeUpdatesAndReboots(t *testing.T) {
	runs := machine(stage(lifecycle.StageRunning, time.Hour))
	mark := selected(inplace.MarkCandidate)
	for _, c := range []struct {
		reason string
		m      lifecycle.Machine
		w      lifecycle.World
		step   lifecycle.Step
		why    lifecycle.Reason
	}{
		{"an update asks", runs, updating(node("True"), mark, governed), lifecycle.Await, lifecycle.ReasonDisruptionBudget},
		{"an update waits", runs, updating(node("True"), mark, refused), lifecycle.Await, lifecycle.ReasonDisruptionBudget},
		{"an update begins", runs, updating(node("True"), mark, permitted), lifecycle.MarkUpdate, lifecycle.ReasonUpdateSelected},
		{"what has begun goes on", runs, updating(node("True"), selected(inplace.MarkSelected), refused), lifecycle.Drain, lifecycle.ReasonUpdateSelected},
		{"a candidate does not ask", runs, updating(node("True"), candidate(inplace.MarkNone), governed), lifecycle.MarkUpdate, lifecycle.ReasonUpdateCandidate},
		{"a machine that waits for an update may be unhealthy", runs, updating(node("Unknown"), mark, refused), lifecycle.Await, lifecycle.ReasonNodeUnhealthy},
		{"a reboot asks", machine(askedFor()), world(runningOn(node("Unknown")), powered(lifecycle.RebootsOnce), governed), lifecycle.Await, lifecycle.ReasonDisruptionBudget},
		{"a reboot begins", machine(askedFor()), world(runningOn(node("Unknown")), powered(lifecycle.RebootsOnce), permitted), lifecycle.Reboot, lifecycle.ReasonRebootAsked},
		{"a reboot that has begun is repeated", machine(askedFor(begunFor(time.Minute, 1))), world(runningOn(node("Unknown")), powered(lifecycle.RebootsOnce), refused), lifecycle.Reboot, lifecycle.ReasonRebootAsked},
		{"a reboot waits, and the machine's life goes on", machine(askedFor()), world(runningOn(node("Unknown")), powered(lifecycle.RebootsOnce), refused), lifecycle.Await, lifecycle.ReasonNodeUnhealthy},
	} {
		if d := lifecycle.DecideLife(now, c.m, c.w, brisk); d.Step != c.step || d.Reason != c.why {
			t.Errorf("%s: %s (%s), want %s (%s)", c.reason, d.Step, d.Reason, c.step, c.why)
		}
	}
}

// waitsAfterPermit are waits for which a machine already needs its permit: without a drain, the permit is asked before the termination.
var waitsAfterPermit = []lifecycle.Reason{
	lifecycle.ReasonTerminateHook, lifecycle.ReasonDeletionNeedsHelp, lifecycle.ReasonTerminateFailed, lifecycle.ReasonContradicted,
	lifecycle.ReasonUnconfirmed, lifecycle.ReasonNodeUnknown,
}

// TestNothingBeginsWithoutAPermit: for any facts.
func TestNothingBeginsWithoutAPermit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		without := f.decide()
		f.w.Disruption.Governed, f.w.Disruption.Asked = true, drawBool(t, "asked")
		d := f.decide()
		works := f.w.Node.Looked && f.w.Node.Object != nil && !f.p.Targetless
		begun := f.m.Deletion.Force || f.m.Deletion.Drained || f.w.Removal.State != lifecycle.RemovalUntried
		switch {
		case d.Step == lifecycle.Drain && !f.m.Deleted.IsZero() && !begun, d.Step == lifecycle.Reboot && f.m.Reboot.Current() == "":
			t.Fatalf("%s (%s) without a permit", d.Step, d.Reason)
		case d.Step == lifecycle.MarkUpdate && d.Mark == inplace.MarkSelected:
			t.Fatal("selected without a permit")
		case d.Step == lifecycle.Terminate && works && !begun:
			if i := f.w.Instances.Of(f.m.Recorded.ProviderID); i != nil && i.State != provider.Stopping {
				t.Fatal("terminated without a permit")
			}
		case d.Reason == lifecycle.ReasonDisruptionBudget && without.Waits() && !f.m.Deleted.IsZero() && f.w.Drain.Result == nil && !slices.Contains(waitsAfterPermit, without.Reason):
			t.Fatalf("it asks for a permit, and would otherwise wait: %s", without.Reason)
		}
		f.w.Disruption.Permitted = true
		if d := f.decide(); d.Step != without.Step || d.Reason != without.Reason {
			t.Fatalf("with a permit %s (%s), without budgets %s (%s)", d.Step, d.Reason, without.Step, without.Reason)
		}
	})
}

func TestDisrupted(t *testing.T) {
	const nothing, deleting, update, reboot = lifecycle.DisruptingNothing, lifecycle.DisruptingDeletion, lifecycle.DisruptingUpdate, lifecycle.DisruptingReboot
	busy, runs := runningOn(node("True")), machine(stage(lifecycle.StageRunning, time.Hour))
	done := func(ago time.Duration) func(*lifecycle.Rebooting) {
		return func(r *lifecycle.Rebooting) {
			r.Answered, r.State, r.At = rebootAt, lifecycle.RebootDone, now.Add(-ago)
		}
	}
	for _, c := range []struct {
		reason string
		m      lifecycle.Machine
		w      lifecycle.World
		want   lifecycle.Disrupting
		known  bool
	}{
		{"it runs", runs, world(busy), nothing, true},
		{"the node is unknown", runs, world(busy, nodeBlind), nothing, false},
		{"the node does not exist", runs, world(having(instance(provider.Running))), nothing, false},
		{"a deletion that waits may have its permit in a budget", leaving(), world(busy, refused), nothing, false},
		{"a deletion with a permit", leaving(), world(busy, permitted), deleting, true},
		{"a deletion that began before the budgets", leaving(startedAt(lifecycle.DeletionDrain, time.Minute)), world(runningOn(cordoned())), deleting, true},
		{"its termination began, and it has no node", leaving(startedAt(lifecycle.DeletionInstance, time.Minute)), world(having(instance(provider.Stopping))), nothing, false},
		{"a forced deletion", leaving(forcedDeletion), world(busy), deleting, true},
		{"a forced deletion of a machine that never joined", leaving(forcedDeletion), world(having(instance(provider.Running))), nothing, false},
		{"a candidate", runs, updating(node("True"), candidate(inplace.MarkCandidate)), nothing, true},
		{"selected, and not marked yet", runs, updating(node("True"), selected(inplace.MarkCandidate)), nothing, true},
		{"the node is drained for the update", runs, updating(node("True"), selected(inplace.MarkSelected)), update, true},
		{"the node is updated", machine(stage(lifecycle.StageUpdating, time.Minute)), updating(node("Unknown"), selected(inplace.MarkReady)), update, true},
		{"it was updated, and is not healthy yet", machine(stage(lifecycle.StageUpdated, time.Minute)), updating(node("Unknown"), inplace.Node{}), update, true},
		{"it was updated", machine(stage(lifecycle.StageUpdated, time.Minute)), updating(node("True"), inplace.Node{}), nothing, true},
		{"the update failed", machine(stage(lifecycle.StageUpdateFailed, time.Minute)), updating(node("True"), answered(inplace.MarkFailed, inplace.AnswerFailed)), update, true},
		{"just rebooted: the node still looks Ready", machine(askedFor(done(time.Minute))), world(busy), reboot, true},
		{"rebooted, and Ready", machine(askedFor(done(3 * time.Minute))), world(busy), nothing, true},
		{"rebooted, and not Ready", machine(askedFor(done(time.Hour))), world(runningOn(node("Unknown"))), reboot, true},
		{"a reboot is requested", machine(askedFor()), world(busy), nothing, true},
	} {
		if got, known := lifecycle.Disrupted(now, c.m, c.w, brisk); got != c.want || known != c.known {
			t.Errorf("%s: %q, %v, want %q, %v", c.reason, got, known, c.want, c.known)
		}
	}
}

func TestRequestPermit(t *testing.T) {
	announced := node("True")
	announced.Status.Conditions = append(announced.Status.Conditions, corev1.NodeCondition{Type: "Terminating", Status: corev1.ConditionTrue, Reason: "TerminationRequested"})
	own := node("True")
	own.Status.Conditions = append(own.Status.Conditions, corev1.NodeCondition{Type: "Terminating", Status: corev1.ConditionTrue, Reason: "ScaleDown"})
	for _, c := range []struct {
		reason              string
		begun               lifecycle.Disrupting
		m                   lifecycle.Machine
		w                   lifecycle.World
		kind                lifecycle.Disrupting
		unwell, interrupted bool
	}{
		{"a deletion", "", leaving(), world(runningOn(node("True"))), lifecycle.DisruptingDeletion, false, false},
		{"of an unhealthy machine", "", leaving(), world(runningOn(node("Unknown"))), lifecycle.DisruptingDeletion, true, false},
		{"of an instance that the cloud ends", "", leaving(), world(runningOn(announced)), lifecycle.DisruptingDeletion, false, true},
		{"the condition of the deletion itself is no announcement", "", leaving(), world(runningOn(own)), lifecycle.DisruptingDeletion, false, false},
		{"an update", "", machine(stage(lifecycle.StageRunning, 0)), updating(node("True"), selected(inplace.MarkCandidate)), lifecycle.DisruptingUpdate, false, false},
		{"a reboot", "", machine(askedFor()), world(runningOn(node("True"))), lifecycle.DisruptingReboot, false, false},
		{"an update that has begun", lifecycle.DisruptingUpdate, machine(stage(lifecycle.StageRunning, 0)), world(runningOn(node("True"))), lifecycle.DisruptingUpdate, false, false},
	} {
		got := lifecycle.RequestPermit(c.begun, c.m, c.w, brisk)
		if got.Kind != c.kind || got.Unwell != c.unwell || got.Interrupted != c.interrupted || got.Begun != (c.begun != "") {
			t.Errorf("%s: %+v", c.reason, got)
		}
	}
}
