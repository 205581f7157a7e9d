package lifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestRowsOfGardenerHealthy: the first sentence of section 2.4 of the Gardener
// notes, by its parts.
func TestRowsOfGardenerHealthy(t *testing.T) {
	only := func(conditions ...string) *corev1.Node {
		n := node(corev1.ConditionTrue, conditions...)
		n.Status.Conditions = n.Status.Conditions[1:]
		return n
	}
	for _, c := range []struct {
		name    string
		node    *corev1.Node
		healthy bool
	}{
		{"machine has ≥1 condition", only(), false},
		{"Ready is True", node(corev1.ConditionTrue), true},
		{"Ready is True: False", node(corev1.ConditionFalse), false},
		{"Ready is True: Unknown", node(corev1.ConditionUnknown), false},
		{"Ready (if present): different, it has to be (C13)", only("DiskPressure", "False"), false},
		{"every condition whose type is in the effective comma list has status False", node(corev1.ConditionTrue, "DiskPressure", "False", "KernelDeadlock", "False"), true},
		{"True and Unknown both unhealthy: True", node(corev1.ConditionTrue, "DiskPressure", "False", "KernelDeadlock", "True"), false},
		{"True and Unknown both unhealthy: Unknown", node(corev1.ConditionTrue, "DiskPressure", "Unknown"), false},
		{"absent type ok", node(corev1.ConditionTrue, "DiskPressure", "False"), true},
		{"in the effective comma list: what is not in it", node(corev1.ConditionTrue, "PIDPressure", "True"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lifecycle.Healthy(c.node, brisk); got != c.healthy {
				t.Errorf("healthy %v: %s", got, lifecycle.Ailment(c.node, brisk))
			}
		})
	}
}

// TestRowsOfGardenerTimeouts: steps 1 and 4 of section 2.4 of the Gardener notes.
func TestRowsOfGardenerTimeouts(t *testing.T) {
	// waits is for machines of an API that does not replace them when their node is deleted.
	waits := brisk
	waits.Health.NodeLossDeletes = false
	gone := world(having(instance(provider.Running)))
	withheld := func(w *lifecycle.World) { w.MayFail = false }
	joins := func(after time.Duration) lifecycle.Decision {
		return lifecycle.Decision{
			Step: lifecycle.Await, Reason: lifecycle.ReasonAwaitingNode, Stage: lifecycle.StageJoining, After: after,
			Message: "the instance runs; its node has not joined yet",
		}
	}
	late := lifecycle.Decision{
		Step: lifecycle.Fail, Reason: lifecycle.ReasonJoinTimeout, Stage: lifecycle.StageFailed,
		Message: "Machine m-1 failed to join the cluster in 20 minutes.",
	}
	check(t, []row{
		{
			name: "1: Node absent, phase Running ⇒ Unknown", reason: "where the loss of a node is no wish",
			policy: waits, m: machine(stage(lifecycle.StageRunning, time.Hour)), w: gone,
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageLost, After: 10 * time.Minute,
				Message: "the node object does not exist",
			},
		},
		{
			name: "1: Node absent, phase Running ⇒ Unknown, also where a deleted node is a wish", reason: "nothing was seen to delete it: the cluster may have been restored from before it",
			policy: brisk, m: machine(stage(lifecycle.StageRunning, time.Hour)), w: gone,
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageLost, After: 10 * time.Minute,
				Message: "the node object does not exist",
			},
		},
		{
			name: "1: Node absent, phase Pending: nothing", reason: "it never had one",
			policy: brisk, m: machine(aged(4 * time.Minute)), w: gone, want: joins(16*time.Minute + time.Second),
		},
		{
			name: "4: Unknown, Node absent, not elapsed", reason: "its time runs since it was lost",
			policy: waits, m: machine(stage(lifecycle.StageLost, 4*time.Minute)), w: gone,
			want: lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnhealthy, Stage: lifecycle.StageLost, After: 6 * time.Minute, Message: "there is no node"},
		},
		{
			name: "4: Unknown, Node absent, healthTimeout from currentStatus.lastUpdateTime ⇒ §2.5", reason: "as with a node that is silent",
			policy: waits, m: machine(stage(lifecycle.StageLost, 11*time.Minute)), w: gone,
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonHealthTimeout, Stage: lifecycle.StageFailed,
				Message: "the machine was not healthy for 10 minutes; conditions of its node: []",
				Args:    lifecycle.Args{Conditions: "[]", Timeout: 10 * time.Minute},
			},
		},
		{
			name: "4: Pending, now − creationTimestamp > creationTimeout ⇒ Failed: not elapsed", reason: "just the timeout is not more than it",
			policy: brisk, m: machine(aged(20 * time.Minute)), w: gone, want: joins(time.Second),
		},
		{
			name: "4: Pending, now − creationTimestamp > creationTimeout ⇒ Failed", reason: "with the words that clients know",
			policy: brisk, m: machine(aged(20*time.Minute + 1)), w: gone, want: late,
		},
		{
			name: "2.5: creation timeout is not rate limited", reason: "no permit is asked for",
			policy: brisk, m: machine(aged(21 * time.Minute)), w: world(having(instance(provider.Running)), withheld), want: late,
		},
		{
			name: "4: CrashLoopBackOff, age ≤ creationTimeout ⇒ CrashLoopBackOff", reason: "it is tried again",
			policy: brisk, m: fresh(stage(lifecycle.StageCrashing, time.Minute), aged(19*time.Minute)), w: world(failedAt(lifecycle.Create, errTransient, time.Minute, 9)),
			want: lifecycle.Decision{Step: lifecycle.Create, Reason: lifecycle.ReasonNoInstance, Stage: lifecycle.StageCreating},
		},
		{
			name: "4: CrashLoopBackOff, age > creationTimeout ⇒ Failed", reason: "with the error that stood in the way",
			policy: brisk, m: fresh(stage(lifecycle.StageCrashing, time.Minute), aged(21*time.Minute)), w: world(failedAt(lifecycle.Create, errTransient, time.Minute, 9)),
			want: lifecycle.Decision{Step: lifecycle.Fail, Reason: lifecycle.ReasonCreateTimeout, Stage: lifecycle.StageFailed, Message: "connection reset", Err: errTransient},
		},
		{
			name: "4: Unknown, healthTimeout elapsed, disableHealthTimeout, Node absent", reason: "never Failed",
			policy: untimed(waits), m: machine(stage(lifecycle.StageLost, 99*time.Hour)), w: gone,
			want: lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnhealthy, Stage: lifecycle.StageLost, Message: "there is no node"},
		},
	})
}

// TestRowsOfGardenerMeltdown: the states that count as in progress in section 2.5 of the Gardener notes. If a
// group has one of these, no other machine fails: one at a time is the default.
func TestRowsOfGardenerMeltdown(t *testing.T) {
	owned := func(m *lifecycle.Machine) { m.Owned = true }
	keptFor := func(d time.Duration) machineEdit {
		return func(m *lifecycle.Machine) { m.Preservation.Until = now.Add(d) }
	}
	letGo := func(m *lifecycle.Machine) { m.HasFinalizer = false }
	lost := machine(stage(lifecycle.StageLost, time.Hour))
	for _, c := range []struct {
		name  string
		other lifecycle.Machine
		may   bool
	}{
		{"phase Running: 0", machine(stage(lifecycle.StageRunning, time.Hour)), true},
		{"phase Unknown: 0", machine(stage(lifecycle.StageLost, time.Hour)), true},
		{"phase Unknown, deleted a moment ago: +1", leaving(stage(lifecycle.StageLost, time.Hour)), false},
		{"phase \"\": +1", fresh(), false},
		{"phase Pending: +1", machine(), false},
		{"phase CrashLoopBackOff: +1", fresh(stage(lifecycle.StageCrashing, time.Hour)), false},
		{"phase Available: +1", machine(stage(lifecycle.StageDetached, time.Hour)), false},
		{"phase Terminating: +1, and +1 more", leaving(stage(lifecycle.StageDeleting, time.Hour)), false},
		{"phase Terminating, its instance gone and our finalizer off: different, 0", leaving(letGo, stage(lifecycle.StageDeleting, time.Hour)), true},
		{"phase Failed, kept, deleted a moment ago: +1", leaving(stage(lifecycle.StageFailed, time.Hour), owned, keptFor(time.Hour)), false},
		{"phase Failed: +1", machine(stage(lifecycle.StageFailed, time.Hour), owned), false},
		{"phase Failed, preserveExpiryTime not nil: 0", machine(stage(lifecycle.StageFailed, time.Hour), owned, keptFor(time.Hour)), true},
		{"phase Failed, preserveExpiryTime passed: +1", machine(stage(lifecycle.StageFailed, time.Hour), owned, keptFor(0)), false},
		{"phase Failed, no controller: different, 0", machine(stage(lifecycle.StageFailed, time.Hour)), true},
		{"phase InPlaceUpdating: +1", machine(stage(lifecycle.StageUpdating, time.Hour)), false},
		{"phase InPlaceUpdateSuccessful: +1", machine(stage(lifecycle.StageUpdated, time.Hour)), false},
		{"phase InPlaceUpdateFailed: different, 0, as Unknown", machine(stage(lifecycle.StageUpdateFailed, time.Hour)), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.other.UID = "other"
			if got := !c.other.Blocks(now, lost); got != c.may {
				t.Errorf("may be given up: %v", got)
			}
			if got := !c.other.Blocks(now, machine()); got != c.may {
				t.Errorf("it counts itself: %v", got)
			}
		})
	}
	t.Run("inProgress < 1", func(t *testing.T) {
		if lost.Blocks(now, lost) {
			t.Error("nobody else is there")
		}
	})
}
