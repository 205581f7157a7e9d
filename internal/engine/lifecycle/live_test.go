package lifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestLivePatient has the decisions about a machine by the rules of machine.openshift.io.
func TestLivePatient(t *testing.T) {
	const fault = "spec.providerSpec.value: value field must be set"
	check(t, []row{
		{
			name:   "openshift 2.2 step 2: invalid object",
			reason: "only its author can mend it, so there is nothing to do until it changes; the field is named",
			policy: patient, w: world(),
			m: fresh(func(m *lifecycle.Machine) {
				m.Faults = []lifecycle.Fault{{Field: "spec.providerSpec.value", Message: "value field must be set"}}
			}),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonInvalidObject, Message: fault},
		},
		{
			name:   "openshift 2.2 step 3: finalizer missing",
			reason: "nothing may be bought before the finalizer is in place, however much is known already",
			policy: patient, w: world(having(instance(provider.Running))),
			m:    fresh(func(m *lifecycle.Machine) { m.HasFinalizer = false }),
			want: lifecycle.Decision{Step: lifecycle.AddFinalizer, Reason: lifecycle.ReasonNew},
		},
		{
			name:   "openshift 2.2 step 5: failed",
			reason: "nothing ever leaves Failed except deletion, not even a healthy node",
			policy: patient, w: world(runningOn(node(corev1.ConditionTrue))), m: machine(stage(lifecycle.StageFailed, time.Hour)),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonFailed, Stage: lifecycle.StageFailed},
		},
		{
			name:   "openshift 2.2 step 6: the cloud does not answer about a new machine",
			reason: "an instance may be there or not, so none is made; the first pause is half a second",
			policy: patient, w: world(blind(errTransient), failedAt(lifecycle.Await, errTransient, 0, 1)), m: fresh(),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonLookupFailed, Stage: lifecycle.StageCrashing,
				Message: "connection reset", Err: errTransient, After: 500 * time.Millisecond,
			},
		},
		{
			name:   "openshift 2.2 step 6: the cloud does not answer about a running machine",
			reason: "a blind cloud is no reason to neglect a machine whose node is there",
			policy: patient, w: world(blind(errDenied), joined(node(corev1.ConditionTrue))), m: machine(stage(lifecycle.StageRunning, time.Hour)),
			want: lifecycle.Decision{Step: lifecycle.Await, After: 5 * time.Minute, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning},
		},
		{
			name:   "openshift 2.2 step 6: the spec cannot be decoded",
			reason: "no retry can succeed until the spec changes, and the field is named",
			policy: patient, w: world(classless(errInvalid)), m: fresh(),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonClassUnavailable, Stage: lifecycle.StageFailed,
				Message: "spec.zone: there is no zone q", Err: errInvalid,
			},
		},
		{
			name:   "openshift 2.2 step 7: the instance is pending",
			reason: "asked for 4 s ago, so it is looked at again after 1 s; by now the object is a quarter of that late at most",
			policy: patient, w: world(having(instance(provider.Pending))), m: fresh(),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonPending, Stage: lifecycle.StageCreating,
				Message: "the infrastructure is working on the instance", After: time.Second,
			},
		},
		{
			name:   "openshift 2.2 step 7c: instance there, its addresses not known yet",
			reason: "the node may be found by an address, so the instance is asked about again: a quarter of its 4 s",
			policy: patient, w: world(having(provider.Instance{ID: "i-1", UID: "uid-1", ProviderID: "cloud:///i-1", State: provider.Running, Created: now.Add(-4 * time.Second)})), m: fresh(),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonAwaitingNode, Stage: lifecycle.StageJoining,
				Message: "the instance runs; its node has not joined yet", After: time.Second,
			},
		},
		{
			name:   "openshift 2.2 step 7d: instance there, no node",
			reason: "provisioned; this API waits for a node for ever and is woken by it",
			policy: patient, w: world(having(instance(provider.Running))), m: machine(),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonAwaitingNode, Stage: lifecycle.StageJoining,
				Message: "the instance runs; its node has not joined yet",
			},
		},
		{
			name:   "openshift 2.2 step 7e: node linked",
			reason: "the node's readiness is irrelevant to Running",
			policy: patient, w: world(runningOn(node(corev1.ConditionFalse))), m: machine(),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning},
		},
		{
			name:   "openshift 2.2 step 7e: a stopped instance with its node",
			reason: "a machine that ran goes on by its node when its instance is started anew",
			policy: patient, w: world(having(instance(provider.Pending)), joined(node(corev1.ConditionUnknown))), m: machine(stage(lifecycle.StageRunning, time.Hour)),
			want: lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning, After: time.Second},
		},
		{
			name:   "openshift 2.2 step 8: an instance that others shut down",
			reason: "nothing tells when it is gone, which is when the machine fails; until then its node says how it is",
			policy: patient, w: world(having(instance(provider.Stopping)), joined(node(corev1.ConditionUnknown))), m: machine(stage(lifecycle.StageRunning, time.Hour)),
			want: lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning, After: time.Second},
		},
		{
			name:   "openshift 2.2 step 8: an instance that others shut down, its node gone before it",
			reason: "the node's deletion tells of the instance no more than the node did",
			policy: patient, w: world(having(instance(provider.Stopping))), m: machine(stage(lifecycle.StageRunning, time.Hour)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageRunning, After: time.Second,
				Message: "the node does not exist: it comes back only if its kubelet registers again; otherwise delete the machine, or have a health check do that",
			},
		},
		{
			name:   "gardener 2.2: an instance that others shut down, without a cluster to join",
			reason: "the infrastructure alone tells of a machine whose node nobody looks at",
			policy: targetless(brisk), w: world(having(instance(provider.Stopping))), m: machine(stage(lifecycle.StageDetached, time.Hour)),
			want: lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonDetached, Stage: lifecycle.StageDetached, After: time.Second},
		},
		{
			name:   "openshift 2.2 step 8: provisioned, instance vanished",
			reason: "a machine that had an instance does not get another: it fails, and its owner or a health check decides",
			policy: patient, w: world(), m: machine(stage(lifecycle.StageRunning, time.Hour)),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonMissing, Stage: lifecycle.StageFailed, Message: "the infrastructure does not list the instance", Args: lifecycle.Args{Missing: true},
			},
		},
		{
			name:   "openshift 2.2 step 8: provisioned, the listing may run behind",
			reason: "absence is believed only once it has lasted longer than the listing lags: 5 s, of which 2 s are over",
			policy: patient, m: machine(),
			w: world(func(w *lifecycle.World) { w.Unlisted.For = 3 * time.Second }),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonUnconfirmed, Stage: lifecycle.StageJoining, After: 3 * time.Second,
				Message: "the infrastructure does not list the instance; the controller asks again before it acts on that",
			},
		},
		{
			name:   "openshift 2.2 step 9b: never provisioned",
			reason: "held, valid, looked for and positively not there: this is when an instance is made",
			policy: patient, w: world(), m: fresh(),
			want: lifecycle.Decision{Step: lifecycle.Create, Reason: lifecycle.ReasonNoInstance, Stage: lifecycle.StageCreating},
		},
		{
			name:   "an earlier process may have asked",
			reason: "it is looked for until listings have caught up, less and less often",
			policy: patient, m: fresh(), w: world(func(w *lifecycle.World) {
				w.Unlisted = lifecycle.Unlisted{Sent: true, For: 13 * time.Second, Age: 7 * time.Second}
			}),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonUnconfirmed, Stage: lifecycle.StageCreating, After: 7 * time.Second,
				Message: "the infrastructure may have created the instance without an answer; the controller looks for it before it asks again",
			},
		},
		{
			name:   "openshift 2.2 step 9b: user data unavailable",
			reason: "an instance without boot data would never join",
			policy: patient, m: fresh(), w: world(func(w *lifecycle.World) { w.Session.UserDataErr = errTransient }),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonUserData, Stage: lifecycle.StageCrashing,
				Message: "connection reset", Err: errTransient, After: 30 * time.Second,
			},
		},
		{
			name:   "openshift 2.2 step 9b: made from more than the object says",
			reason: "what a cluster says may be changed before a lost reply is looked for, so it is stored first",
			policy: patient, w: world(inheriting), m: fresh(),
			want: lifecycle.Decision{Step: lifecycle.AddFinalizer, Reason: lifecycle.ReasonNew},
		},
		{
			name:   "openshift 2.2 step 9b: made from more, and user data unavailable",
			reason: "nothing is asked for yet, and until then what the cluster says can be mended",
			policy: patient, m: fresh(), w: world(inheriting, func(w *lifecycle.World) { w.Session.UserDataErr = errTransient }),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonUserData, Stage: lifecycle.StageCrashing,
				Message: "connection reset", Err: errTransient, After: 30 * time.Second,
			},
		},
		{
			name:   "openshift 2.2 step 9b: create refused as invalid",
			reason: "terminal: phase Failed with reason and message",
			policy: patient, m: fresh(), w: world(failedAt(lifecycle.Create, errInvalid, 0, 1)),
			want: lifecycle.Decision{
				Step: lifecycle.Fail, Reason: lifecycle.ReasonCreateFailed, Stage: lifecycle.StageFailed,
				Message: "spec.zone: there is no zone q", Err: errInvalid,
			},
		},
		{
			name:   "openshift 2.2 step 9b: create exhausted",
			reason: "retried on a slow clock of a minute, of which 20 s are over; this API never gives up",
			policy: patient, m: fresh(aged(24 * time.Hour)), w: world(failedAt(lifecycle.Create, errExhausted, 20*time.Second, 9)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonRetry, Stage: lifecycle.StageCrashing,
				Message: "no capacity in zone a", Err: errExhausted, After: 40 * time.Second,
			},
		},
		{
			name:   "openshift 2.1: the cloud says when to come back",
			reason: "a throttled call is repeated when the infrastructure asks, not by our own clock",
			policy: patient, m: fresh(), w: world(failedAt(lifecycle.Create, errThrottled, 0, 5)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonRetry, Stage: lifecycle.StageCrashing,
				Message: "slow down", Err: errThrottled, After: 7 * time.Second,
			},
		},
		{
			name:   "openshift 2.2 step 9b: the pause is over",
			reason: "8 s after the 5th transient failure the next attempt is due",
			policy: patient, m: fresh(), w: world(failedAt(lifecycle.Create, errTransient, 8*time.Second, 5)),
			want: lifecycle.Decision{Step: lifecycle.Create, Reason: lifecycle.ReasonNoInstance, Stage: lifecycle.StageCreating},
		},
		{
			name:   "openshift 2.2 step 7: created in spite of a lost reply",
			reason: "the instance is there, so what Create said before does not matter",
			policy: patient, m: machine(), w: world(having(instance(provider.Running)), failedAt(lifecycle.Create, errInvalid, 0, 1)),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonAwaitingNode, Stage: lifecycle.StageJoining,
				Message: "the instance runs; its node has not joined yet",
			},
		},
		{
			name:   "openshift 5 step 7: metadata not on the node",
			reason: "labels, annotations and taints of the machine are brought to the node before it counts as settled",
			policy: patient, m: machine(stage(lifecycle.StageRunning, 0)),
			w:    world(runningOn(node(corev1.ConditionTrue)), func(w *lifecycle.World) { w.Node.Stale = true }),
			want: lifecycle.Decision{Step: lifecycle.SyncNode, Reason: lifecycle.ReasonNodeStale, Stage: lifecycle.StageRunning},
		},
		{
			name:   "openshift 2.6: node deleted by somebody",
			reason: "the machine stays Running: a health check may treat it as unhealthy, the machine controller does nothing",
			policy: patient, m: machine(stage(lifecycle.StageRunning, time.Hour)), w: world(having(instance(provider.Running))),
			want: lifecycle.Decision{
				Step: lifecycle.Settled, Reason: lifecycle.ReasonNodeMissing, Stage: lifecycle.StageRunning, Message: "the node does not exist: it comes back only if its kubelet registers again; otherwise delete the machine, or have a health check do that",
			},
		},
		{
			name:   "openshift: instance needs a second step",
			reason: "an instance that was created but not initialized is not usable yet",
			policy: patient, m: machine(),
			w: world(func(w *lifecycle.World) {
				i := instance(provider.Running)
				i.Uninitialized = true
				having(i)(w)
			}),
			want: lifecycle.Decision{Step: lifecycle.Initialize, Reason: lifecycle.ReasonUninitialized, Stage: lifecycle.StageCreating},
		},
		{
			name:   "openshift: no cluster to join",
			reason: "the machine is only an instance: it is done as soon as that runs",
			policy: targetless(patient), m: machine(), w: world(having(instance(provider.Running)), nodeBlind),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonDetached, Stage: lifecycle.StageDetached},
		},
		{
			name:   "openshift 2.2 step 7: the cluster does not answer",
			reason: "not to know the node is not to have none: the stage stays",
			policy: patient, m: machine(stage(lifecycle.StageRunning, time.Hour)), w: world(having(instance(provider.Running)), nodeBlind),
			want: lifecycle.Decision{
				Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnknown, Stage: lifecycle.StageRunning,
				Message: "connection reset", Err: errTransient, After: 30 * time.Second,
			},
		},
	})
}
