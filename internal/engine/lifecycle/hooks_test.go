package lifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestHooksAreOverdue: a hook stops its step without a limit, and is reported after an hour. The hour of a
// pre-terminate hook begins with the end of the drain.
func TestHooksAreOverdue(t *testing.T) {
	p := patient
	p.Drain.HookPatience = time.Hour
	busy := func(w *lifecycle.World) {
		having(instance(provider.Running))(w)
		joined(node(corev1.ConditionTrue))(w)
	}
	deleted := func(ago time.Duration, edits ...machineEdit) lifecycle.Machine {
		return leaving(append(edits, func(m *lifecycle.Machine) { m.Deleted = now.Add(-ago) })...)
	}
	preDrain := func(m *lifecycle.Machine) { m.Deletion.PreDrain = etcdHook }
	preTerminate := func(m *lifecycle.Machine) { m.Deletion.PreTerminate = etcdHook }
	drainedFor := func(d time.Duration) machineEdit {
		return func(m *lifecycle.Machine) { m.Deletion.Drained, m.Deletion.DrainedAt = true, now.Add(-d) }
	}
	waits := func(r lifecycle.Reason, kind string, left time.Duration) lifecycle.Decision {
		d := lifecycle.Decision{Step: lifecycle.Await, Reason: r, Stage: lifecycle.StageDeleting, After: left, Message: "waiting for the owners of the " + kind + " hooks: EtcdQuorumOperator (etcd-operator)"}
		if left == 0 {
			d.Step, d.Overdue = lifecycle.Settled, true
		}
		return d
	}
	before := func(left time.Duration) lifecycle.Decision {
		return waits(lifecycle.ReasonDrainBlockedHook, "pre-drain", left)
	}
	after := func(left time.Duration) lifecycle.Decision {
		return waits(lifecycle.ReasonTerminateHook, "pre-terminate", left)
	}
	unhurried := before(0)
	unhurried.Overdue = false
	check(t, []row{
		{name: "preDrain, 20m", reason: "looked at again when the hour is over", policy: p, m: deleted(20*time.Minute, preDrain), w: world(busy), want: before(40 * time.Minute)},
		{name: "preDrain, 1h", reason: "reported", policy: p, m: deleted(time.Hour, preDrain), w: world(busy), want: before(0)},
		{name: "preDrain, 1h, nobody counts", reason: "zero is never", policy: patient, m: deleted(time.Hour, preDrain), w: world(busy), want: unhurried},
		{name: "preTerminate, drained just now", reason: "the drain was not its owner's doing", policy: p, m: deleted(5*time.Hour, preTerminate), w: world(busy, drained(drain.Decision{Done: true})), want: after(time.Hour)},
		{name: "preTerminate, drained 20m ago", reason: "counted from then", policy: p, m: deleted(5*time.Hour, preTerminate, drainedFor(20*time.Minute)), w: world(runningOn(cordoned())), want: after(40 * time.Minute)},
		{name: "preTerminate, drained 2h ago", reason: "reported", policy: p, m: deleted(5*time.Hour, preTerminate, drainedFor(2*time.Hour)), w: world(runningOn(cordoned())), want: after(0)},
		{name: "preTerminate, nothing to drain", reason: "counted from the deletion", policy: p, m: deleted(20*time.Minute, preTerminate), w: world(having(instance(provider.Running))), want: after(40 * time.Minute)},
	})
}
