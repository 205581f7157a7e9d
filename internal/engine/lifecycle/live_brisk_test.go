package lifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestLiveBrisk has the decisions about a machine by the rules of machine.sapcloud.io, until it has a node.
func TestLiveBrisk(t *testing.T) {
	const overdue = 20*time.Minute + time.Second
	check(t, []row{
		{
			name:   "gardener 2.2 step 5: invalid object",
			reason: "the fields are named, instead of only a line in a log",
			policy: brisk, w: world(),
			m: fresh(func(m *lifecycle.Machine) {
				m.Faults = []lifecycle.Fault{{Field: "spec.class.kind", Message: "must be set"}, {Field: "spec.class.name", Message: "must be set"}}
			}),
			want: lifecycle.Decision{
				Step: lifecycle.Settled, Reason: lifecycle.ReasonInvalidObject,
				Message: "spec.class.kind: must be set; spec.class.name: must be set",
			},
		},
		{
			name:   "gardener 2.2 step 5: class missing, however long",
			reason: "a class may still come: nothing was made, so nothing is given up, and nothing is made",
			policy: brisk, m: fresh(aged(overdue)), w: world(classless(errTransient), failedAt(lifecycle.Await, errTransient, 0, 40)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonClassUnavailable, Stage: lifecycle.StageCrashing,
				Message: "connection reset", Err: errTransient, After: 5 * time.Second,
			},
		},
		{
			name:   "gardener 2.2 step 5: class of a running machine missing",
			reason: "an old machine whose class was lost is not late in being created: its node says that it runs",
			policy: brisk, m: machine(stage(lifecycle.StageRunning, time.Hour), aged(time.Hour)),
			w:    world(classless(errTransient), failedAt(lifecycle.Await, errTransient, 0, 3), joined(node(corev1.ConditionTrue))),
			want: lifecycle.Decision{Step: lifecycle.Await, After: 2 * time.Second, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning},
		},
		{
			name:   "gardener 2.3 step 2: status error while young",
			reason: "CrashLoopBackOff while the machine is not older than its creation timeout; 3 minutes for what a retry cannot mend",
			policy: brisk, m: fresh(), w: world(blind(errDenied), failedAt(lifecycle.Await, errDenied, 0, 1)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonLookupFailed, Stage: lifecycle.StageCrashing,
				Message: "credentials are not valid", Err: errDenied, After: 3 * time.Minute,
			},
		},
		{
			name:   "gardener 2.3 step 2: status error after the creation timeout",
			reason: "the same error on an older machine makes it Failed",
			policy: brisk, m: fresh(aged(overdue)), w: world(blind(errDenied)),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonCreateTimeout, Stage: lifecycle.StageFailed,
				Message: "credentials are not valid", Err: errDenied,
			},
		},
		{
			name:   "gardener 2.3 step 2: status error after the creation timeout, a minute after the instance was requested",
			reason: "the instance may exist, and its node may be joining: it has the whole timeout",
			policy: brisk, m: fresh(aged(overdue), requested(time.Minute)), w: world(blind(errDenied)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonLookupFailed, Stage: lifecycle.StageCrashing,
				Message: "credentials are not valid", Err: errDenied, After: 3 * time.Minute,
			},
		},
		{
			name:   "gardener 2.3 step 2: status error after the creation timeout, and the instance was requested as long ago",
			reason: "no node joined in the whole timeout of the instance",
			policy: brisk, m: fresh(aged(2*overdue), requested(overdue)), w: world(blind(errDenied)),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonCreateTimeout, Stage: lifecycle.StageFailed,
				Message: "credentials are not valid", Err: errDenied,
			},
		},
		{
			name:   "gardener 2.3 step 2: status error after the creation timeout, with a ready node",
			reason: "the instance runs, although the infrastructure does not answer",
			policy: brisk, m: fresh(aged(overdue)), w: world(blind(errDenied), joined(node(corev1.ConditionTrue))),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonLookupFailed, Stage: lifecycle.StageCrashing,
				Message: "credentials are not valid", Err: errDenied, After: 3 * time.Minute,
			},
		},
		{
			name:   "gardener 2.3 step 6: creation failed, after the creation timeout, with a ready node",
			reason: "the instance of a request whose reply was lost runs",
			policy: brisk, m: fresh(aged(overdue)), w: world(failedAt(lifecycle.Create, errExhausted, 0, 1), joined(node(corev1.ConditionTrue))),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonRetry, Stage: lifecycle.StageCrashing,
				Message: "no capacity in zone a", Err: errExhausted, After: 10 * time.Minute,
			},
		},
		{
			name:   "gardener 2.3 step 2: not found, provider ID empty",
			reason: "the infrastructure was asked and has nothing: create",
			policy: brisk, m: fresh(), w: world(),
			want: lifecycle.Decision{Step: lifecycle.Create, Reason: lifecycle.ReasonNoInstance, Stage: lifecycle.StageCreating},
		},
		{
			name:   "gardener 2.3 step 2: not found, provider ID set",
			reason: "it is not created again; its missing node will tell",
			policy: brisk, m: machine(), w: world(),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonAwaitingNode, Stage: lifecycle.StageJoining,
				Message: "the instance runs; its node has not joined yet", After: 10*time.Minute + time.Second,
			},
		},
		{
			name:   "gardener 2.3 step 2: uninitialized",
			reason: "initialize before it counts as pending",
			policy: brisk, m: machine(),
			w:    world(having(uninitialized(instance(provider.Running)))),
			want: lifecycle.Decision{Step: lifecycle.Initialize, Reason: lifecycle.ReasonUninitialized, Stage: lifecycle.StageCreating},
		},
		{
			name:   "gardener 2.3 step 6: initialization failed",
			reason: "as a failed creation; the pause of 2 s after a third failure has half gone",
			policy: brisk, m: machine(), w: world(having(uninitialized(instance(provider.Running))), failedAt(lifecycle.Initialize, errTransient, time.Second, 3)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonRetry, Stage: lifecycle.StageCrashing,
				Message: "connection reset", Err: errTransient, After: time.Second,
			},
		},
		{
			name:   "gardener 2.3 step 6: initialized, though the reply was lost, and past the creation timeout",
			reason: "the instance says so itself: a machine that runs is not given up for what failed before",
			policy: brisk, m: machine(stage(lifecycle.StageRunning, time.Minute), aged(overdue)),
			w:    world(runningOn(node(corev1.ConditionTrue)), failedAt(lifecycle.Initialize, errTransient, 7*time.Minute, 1)),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning},
		},
		{
			name:   "gardener 2.3 step 6: past the creation timeout with a healthy node, and no answer about the instance",
			reason: "a node that works speaks for an initialization whose reply was lost",
			policy: brisk, m: machine(stage(lifecycle.StageRunning, time.Minute), aged(overdue)),
			w:    world(joined(node(corev1.ConditionTrue)), blind(errDenied), failedAt(lifecycle.Initialize, errTransient, 7*time.Minute, 1)),
			want: lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning, After: 5 * time.Minute},
		},
		{
			name:   "gardener 2.3 step 6: not initialized by the creation timeout",
			reason: "as a failed creation",
			policy: brisk, m: machine(aged(overdue)),
			w: world(having(uninitialized(instance(provider.Running))), failedAt(lifecycle.Initialize, errTransient, 7*time.Minute, 1)),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonCreateTimeout, Stage: lifecycle.StageFailed, Message: "connection reset", Err: errTransient,
			},
		},
		{
			name:   "gardener 2.3 error table: ResourceExhausted",
			reason: "10 minutes, but not past the moment at which the machine is overdue: 10 minutes and a second from now",
			policy: brisk, m: fresh(), w: world(failedAt(lifecycle.Create, errExhausted, 0, 1)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonRetry, Stage: lifecycle.StageCrashing,
				Message: "no capacity in zone a", Err: errExhausted, After: 10 * time.Minute,
			},
		},
		{
			name:   "gardener 2.3 error table: ResourceExhausted near the timeout",
			reason: "it is looked at when it becomes overdue, so that the owner can replace it in time",
			policy: brisk, m: fresh(aged(18 * time.Minute)), w: world(failedAt(lifecycle.Create, errExhausted, 0, 1)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonRetry, Stage: lifecycle.StageCrashing,
				Message: "no capacity in zone a", Err: errExhausted, After: 2*time.Minute + time.Second,
			},
		},
		{
			name:   "gardener 2.3 error table: transient",
			reason: "5 s at most after many failures",
			policy: brisk, m: fresh(), w: world(failedAt(lifecycle.Create, errTransient, 0, 30)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonRetry, Stage: lifecycle.StageCrashing,
				Message: "connection reset", Err: errTransient, After: 5 * time.Second,
			},
		},
		{
			name:   "gardener 2.3 error table: all others",
			reason: "an invalid spec is retried every 3 minutes while the machine is young: the class can be mended",
			policy: brisk, m: fresh(), w: world(failedAt(lifecycle.Create, errInvalid, time.Minute, 1)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonRetry, Stage: lifecycle.StageCrashing,
				Message: "spec.zone: there is no zone q", Err: errInvalid, After: 2 * time.Minute,
			},
		},
		{
			name:   "gardener 1.3: create error after the creation timeout",
			reason: "Failed, with the error that stood in the way",
			policy: brisk, m: fresh(aged(overdue)), w: world(failedAt(lifecycle.Create, errExhausted, 0, 3)),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonCreateTimeout, Stage: lifecycle.StageFailed,
				Message: "no capacity in zone a", Err: errExhausted,
			},
		},
		{
			name:   "gardener 1.3: no target cluster",
			reason: "Available as soon as the instance is there",
			policy: targetless(brisk), m: fresh(), w: world(having(instance(provider.Running))),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonDetached, Stage: lifecycle.StageDetached},
		},
		{
			name:   "gardener 2.4 step 4: pending past the creation timeout",
			reason: "the instance never became usable in time",
			policy: brisk, m: machine(aged(overdue)), w: world(having(instance(provider.Pending))),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonJoinTimeout, Stage: lifecycle.StageFailed,
				Message: "Machine m-1 failed to join the cluster in 20 minutes.",
			},
		},
		{
			name:   "gardener 2.4 step 4: no node past the creation timeout",
			reason: "counted from the object's creation if the instance was requested at once, with the wording that clients know",
			policy: brisk, m: machine(aged(overdue)), w: world(having(instance(provider.Running))),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonJoinTimeout, Stage: lifecycle.StageFailed,
				Message: "Machine m-1 failed to join the cluster in 20 minutes.",
			},
		},
		{
			name:   "gardener 2.4 step 4: pending past the creation timeout, a minute after the instance was requested",
			reason: "the machine waited long for its controller or for capacity: its instance gets the whole time to join",
			policy: brisk, m: machine(aged(overdue), requested(time.Minute)), w: world(having(instance(provider.Running))),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonAwaitingNode, Stage: lifecycle.StageJoining,
				Message: "the instance runs; its node has not joined yet", After: 19*time.Minute + time.Second,
			},
		},
		{
			name:   "gardener 2.4 step 4: no node in the whole time after the request",
			reason: "a request later than the creation moves the limit once, and does not remove it",
			policy: brisk, m: machine(aged(2*overdue), requested(overdue)), w: world(having(instance(provider.Running))),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonJoinTimeout, Stage: lifecycle.StageFailed,
				Message: "Machine m-1 failed to join the cluster in 20 minutes.",
			},
		},
		{
			name:   "gardener 2.4 step 4: no node past the creation timeout, and no answer about the instance",
			reason: "whoever takes the credentials away hides why the node does not come",
			policy: brisk, m: machine(aged(overdue)), w: world(blind(errDenied)),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonJoinTimeout, Stage: lifecycle.StageFailed, After: 5 * time.Minute,
				Message: "Machine m-1 failed to join the cluster in 20 minutes. The infrastructure does not report the state of its instance: credentials are not valid",
			},
		},
		{
			name:   "gardener 2.4: no node yet, and no answer about the instance",
			reason: "nobody knows whether it runs",
			policy: brisk, m: machine(), w: world(blind(errDenied), failedAt(lifecycle.Await, errDenied, 0, 1)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonAwaitingNode, Stage: lifecycle.StageJoining, After: 5 * time.Minute,
				Message: "its node has not joined yet, and the infrastructure does not report the state of its instance: credentials are not valid",
			},
		},
		{
			name:   "gardener 2.4: pending, node not Ready",
			reason: "a node that joined does not count before it is healthy; asked again at the timeout, woken by the node before",
			policy: brisk, m: machine(), w: world(runningOn(node(corev1.ConditionFalse))),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonAwaitingNode, Stage: lifecycle.StageJoining, After: 10*time.Minute + time.Second,
				Message: "the node joined, but does not count as healthy yet: Ready is False (Test)",
			},
		},
		{
			name:   "gardener 2.4: pending, critical components not ready",
			reason: "the taint keeps a new machine Pending",
			policy: brisk, m: machine(), w: world(runningOn(tainted(node(corev1.ConditionTrue), "critical"))),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonAwaitingNode, Stage: lifecycle.StageJoining, After: 10*time.Minute + time.Second,
				Message: "the node joined, but does not count as healthy yet: taint critical",
			},
		},
		{
			name:   "gardener 2.4: pending with the taint past the creation timeout",
			reason: "ran out of time, whatever held it up",
			policy: brisk, m: machine(aged(overdue)), w: world(runningOn(tainted(node(corev1.ConditionTrue), "critical"))),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonJoinTimeout, Stage: lifecycle.StageFailed,
				Message: "Machine m-1 failed to join the cluster in 20 minutes.",
			},
		},
		{
			name:   "gardener 2.4 step 2: healthy for the first time",
			reason: "joined, also when the creation timeout has passed meanwhile",
			policy: brisk, m: machine(aged(overdue)), w: world(runningOn(node(corev1.ConditionTrue, "DiskPressure", "False"))),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning},
		},
		{
			name:   "gardener 2.6: node template not on the node",
			reason: "mirrored as soon as there is a node, before it is healthy",
			policy: brisk, m: machine(), w: world(runningOn(node(corev1.ConditionFalse)), func(w *lifecycle.World) { w.Node.Stale = true }),
			want: lifecycle.Decision{Step: lifecycle.SyncNode, Reason: lifecycle.ReasonNodeStale, Stage: lifecycle.StageJoining},
		},
	})
}
