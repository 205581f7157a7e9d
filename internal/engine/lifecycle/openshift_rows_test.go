package lifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// removeFailed is a removal with a recent error of the infrastructure, so often in a row.
func removeFailed(err error, failures int) worldEdit {
	return func(w *lifecycle.World) {
		having(instance(provider.Running))(w)
		w.Removal.Err, w.Retry = err, lifecycle.Retry{Step: lifecycle.Terminate, Err: err, At: now, Failures: failures}
	}
}

// stages are all but the last.
var stages = []lifecycle.Stage{
	lifecycle.StageNew, lifecycle.StageCreating, lifecycle.StageCrashing, lifecycle.StageJoining, lifecycle.StageDetached, lifecycle.StageRunning,
	lifecycle.StageLost, lifecycle.StageUpdating, lifecycle.StageUpdated, lifecycle.StageUpdateFailed, lifecycle.StageFailed,
}

// TestRowsOfOpenShiftDeleteErrors: the column Delete of the error vocabulary in section 2.1 of the OpenShift
// notes, and that of Exists for a machine under deletion.
func TestRowsOfOpenShiftDeleteErrors(t *testing.T) {
	refused := func(err error, after time.Duration) lifecycle.Decision {
		return because(waiting(lifecycle.ReasonTerminateFailed, err.Error(), after), err)
	}
	check(t, []row{
		{
			name: "Delete: InvalidConfiguration: ignored if status.addresses empty", reason: "nothing was created",
			policy: patient, m: leaving(notProvisioned, unasked), w: world(classless(errInvalid)), want: out(lifecycle.RemoveFinalizer, lifecycle.ReasonNothingLeft),
		},
		{
			name: "Delete: InvalidConfiguration: else backoff", reason: "there is an instance",
			policy: patient, m: leaving(), w: world(removeFailed(errInvalid, 1)), want: refused(errInvalid, time.Minute),
		},
		{
			name: "Delete: MachineError other reasons: backoff", reason: "from half a second on",
			policy: patient, m: leaving(), w: world(removeFailed(errTransient, 1)), want: refused(errTransient, lifecycle.FirstDelay),
		},
		{
			name: "Delete: any other: backoff", reason: "up to 30 s, where the original goes up to 1000",
			policy: patient, m: leaving(), w: world(removeFailed(errTransient, 40)), want: refused(errTransient, 30*time.Second),
		},
		{
			name: "Delete: RequeueAfterError{d}: requeue after d", reason: "the infrastructure knows best",
			policy: patient, m: leaving(), w: world(removeFailed(errThrottled, 9)), want: refused(errThrottled, 7*time.Second),
		},
		{
			name: "step 4f: Exists: error ⇒ backoff", reason: "what cannot be asked is not gone",
			policy: patient, m: leaving(), w: world(blind(errTransient), failedAt(lifecycle.Await, errTransient, 0, 1)),
			want: because(waiting(lifecycle.ReasonDeletionNeedsHelp, "connection reset", lifecycle.FirstDelay), joinedError{errTransient}),
		},
		{
			name: "step 4f: Exists: true ⇒ requeue 30s: different, from 250 ms to 15 s (W3)", reason: "a quarter of the time for which it was asked",
			policy: patient, m: leaving(), w: world(having(instance(provider.Stopping)), removal(lifecycle.RemovalUnderway), func(w *lifecycle.World) { w.Removal.For = time.Hour }),
			want: waiting(lifecycle.ReasonTerminating, "the infrastructure is removing the instance", 15*time.Second),
		},
	})
}

// "any | Deleting | deletionTimestamp" of the phase transition table: a machine in any phase is Deleting when
// it is deleted, and no step for machines that are not under deletion is taken.
func TestRowsOfOpenShiftPhaseTransitions(t *testing.T) {
	for _, s := range stages {
		t.Run("any to Deleting: deletionTimestamp: "+string(s), func(t *testing.T) {
			d := lifecycle.Decide(now, leaving(stage(s, time.Hour)), world(runningOn(node(corev1.ConditionTrue))), patient)
			if d.Stage != lifecycle.StageDeleting || d.Step != lifecycle.Drain {
				t.Errorf("%s (%s), stage %q", d.Step, d.Reason, d.Stage)
			}
		})
	}
}

// TestRowsOfOpenShiftHooks: section 2.5, and the rows of 2.4 about hooks.
func TestRowsOfOpenShiftHooks(t *testing.T) {
	busy := runningOn(node(corev1.ConditionTrue))
	preDrain := func(m *lifecycle.Machine) { m.Deletion.PreDrain = etcdHook }
	preTerminate := func(m *lifecycle.Machine) { m.Deletion.PreTerminate = etcdHook }
	skipped := func(m *lifecycle.Machine) { m.Deletion.SkipDrain = true }
	aged := func(m *lifecycle.Machine) { m.Deleted = now.AddDate(-1, 0, 0) }
	held := func(r lifecycle.Reason, kind string) lifecycle.Decision {
		return lifecycle.Decision{
			Step: lifecycle.Settled, Reason: r, Stage: lifecycle.StageDeleting,
			Message: "waiting for the owners of the " + kind + " hooks: EtcdQuorumOperator (etcd-operator)",
		}
	}
	drain := held(lifecycle.ReasonDrainBlockedHook, "pre-drain")
	terminate := held(lifecycle.ReasonTerminateHook, "pre-terminate")
	check(t, []row{
		{name: "preDrain: blocks drain while non-empty", reason: "no pod is asked", policy: patient, m: leaving(preDrain), w: world(busy), want: drain},
		{
			name: "preDrain: only when a drain would happen: different, also without a node (C2)", reason: "the original skips it where nodeRef is nil",
			policy: patient, m: leaving(preDrain), w: world(having(instance(provider.Running))), want: drain,
		},
		{
			name: "preDrain: only when a drain would happen: different, also with exclude-node-draining (C2)", reason: "the original skips it",
			policy: patient, m: leaving(preDrain, skipped), w: world(busy), want: drain,
		},
		{
			name: "preDrain: also where the instance is gone", reason: "whoever relies on the machine decides that",
			policy: patient, m: leaving(preDrain), w: world(), want: drain,
		},
		{name: "preTerminate: blocks instance deletion after drain", reason: "drained, and there it stays", policy: patient, m: leaving(preTerminate), w: world(busy, drained(allDone)), want: terminate},
		{name: "preTerminate: not the drain", reason: "pods leave meanwhile", policy: patient, m: leaving(preTerminate), w: world(busy), want: out(lifecycle.Drain, lifecycle.ReasonDeleting)},
		{name: "preTerminate: also with exclude-node-draining", reason: "there was no drain to wait for", policy: patient, m: leaving(preTerminate, skipped), w: world(busy), want: terminate},
		{
			name: "preTerminate: also without a node", reason: "there is an instance", policy: patient, m: leaving(preTerminate),
			w: world(having(instance(provider.Running))), want: terminate,
		},
		{
			name: "Hook owners remove their own entry: the other one blocks on", reason: "one at a time",
			policy: patient, m: leaving(preTerminate, func(m *lifecycle.Machine) { m.Deletion.Drained = true }), w: world(runningOn(cordoned())), want: terminate,
		},
		{name: "No timeout: preDrain", reason: "a year after the deletion", policy: patient, m: leaving(preDrain, aged), w: world(busy), want: drain},
		{name: "No timeout: preTerminate", reason: "a year after the deletion", policy: patient, m: leaving(preTerminate, aged), w: world(busy, drained(allDone)), want: terminate},
		{
			name: "No timeout: preDrain, although the drain would be forced by now", reason: "force is about pods, not about hooks",
			policy: brisk, m: leaving(preDrain, aged, func(m *lifecycle.Machine) { m.Deletion.Force = true }), w: world(busy), want: drain,
		},
	})
}
