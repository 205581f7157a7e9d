package lifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

var (
	etcdHook = []lifecycle.Hook{{Name: "EtcdQuorumOperator", Owner: "etcd-operator"}}
	allDone  = drain.Decision{Done: true}
	blocked  = drain.Decision{Message: "1 pod has to leave: db/db-0", Next: 20 * time.Second}
)

// out is a decision about a machine under deletion.
func out(step lifecycle.Step, why lifecycle.Reason) lifecycle.Decision {
	return lifecycle.Decision{Step: step, Reason: why, Stage: lifecycle.StageDeleting}
}

func waiting(why lifecycle.Reason, message string, after time.Duration) lifecycle.Decision {
	return lifecycle.Decision{Step: lifecycle.Await, Reason: why, Stage: lifecycle.StageDeleting, Message: message, After: after}
}

func because(d lifecycle.Decision, err error) lifecycle.Decision { d.Err = err; return d }

func forced(d lifecycle.Decision) lifecycle.Decision { d.Force = true; return d }

func removal(r lifecycle.RemovalState) worldEdit {
	return func(w *lifecycle.World) {
		if w.Removal.State = r; r == lifecycle.RemovalDone {
			w.Instances.Own, w.Instances.SeenToGo = nil, true
		}
	}
}

// TestRemoveDrain has the deletion up to the end of the drain.
func TestRemoveDrain(t *testing.T) {
	recorded := func(m *lifecycle.Machine) { m.Deletion.Drained = true }
	busy := runningOn(node(corev1.ConditionTrue))
	check(t, []row{
		{
			name:   "openshift 2.2 step 4b: finalizer absent",
			reason: "the object is not ours to hold any more",
			policy: patient, m: leaving(func(m *lifecycle.Machine) { m.HasFinalizer = false }), w: world(busy),
			want: out(lifecycle.Settled, lifecycle.ReasonReleased),
		},
		{
			name:   "openshift 2.2 step 4c: not drained",
			reason: "workloads leave before the instance does",
			policy: patient, m: leaving(), w: world(busy), want: out(lifecycle.Drain, lifecycle.ReasonDeleting),
		},
		{
			name:   "openshift 2.4: drain cannot finish",
			reason: "there is no overall timeout: asked again when the drain says, or when a pod leaves",
			policy: patient, m: leaving(), w: world(busy, drained(blocked)),
			want: waiting(lifecycle.ReasonDraining, "1 pod has to leave: db/db-0", 20*time.Second),
		},
		{
			name:   "openshift 2.4: drain recorded as finished",
			reason: "a drained node is not drained again",
			policy: patient, m: leaving(recorded), w: world(runningOn(cordoned())),
			want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name:   "drain recorded as finished, and the node takes pods again",
			reason: "somebody uncordoned it, or its kubelet made it anew: what runs there now was never asked to leave",
			policy: patient, m: leaving(recorded), w: world(busy),
			want: out(lifecycle.Drain, lifecycle.ReasonDeleting),
		},
		{
			name:   "drain recorded as finished, and the node was drained again",
			reason: "pods that came since may still be there, and the node is cordoned by the drain itself",
			policy: patient, m: leaving(recorded), w: world(runningOn(again())), want: out(lifecycle.Drain, lifecycle.ReasonDeleting),
		},
		{
			name:   "drain recorded as finished, and the node is drained again",
			reason: "what is recorded is of the first drain",
			policy: patient, m: leaving(recorded), w: world(runningOn(again()), drained(blocked)),
			want: waiting(lifecycle.ReasonDraining, "1 pod has to leave: db/db-0", 20*time.Second),
		},
		{
			name:   "drain recorded as finished, and the node is gone",
			reason: "there is nothing to drain",
			policy: patient, m: leaving(recorded), w: world(having(instance(provider.Running))),
			want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name:   "drain recorded as finished, the node takes pods again, and the instance goes",
			reason: "a drain saves nothing any more",
			policy: patient, m: leaving(recorded), w: world(having(instance(provider.Stopping)), joined(node(corev1.ConditionTrue))),
			want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name:   "openshift 2.4: exclude-node-draining",
			reason: "the drain is skipped",
			policy: patient, m: leaving(func(m *lifecycle.Machine) { m.Deletion.SkipDrain = true }), w: world(busy),
			want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name:   "openshift 2.4: no node",
			reason: "there is nothing to drain",
			policy: patient, m: leaving(), w: world(having(instance(provider.Running))), want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name:   "openshift 2.4: node not known",
			reason: "an instance whose node cannot be looked up may have workloads",
			policy: patient, m: leaving(), w: world(having(instance(provider.Running)), nodeBlind),
			want: because(waiting(lifecycle.ReasonNodeUnknown, "connection reset", 30*time.Second), errTransient),
		},
		{
			name:   "openshift 2.4: instance gone already",
			reason: "a drain saves nothing any more, and its pods would never confirm that they ended",
			policy: patient, m: leaving(), w: world(joined(node(corev1.ConditionUnknown))), want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name:   "openshift 2.4: instance on its way out",
			reason: "as gone",
			policy: patient, m: leaving(), w: world(having(instance(provider.Stopping)), joined(node(corev1.ConditionUnknown))),
			want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name:   "openshift 2.5: pre-drain hook",
			reason: "its owner takes it away; there is no timeout",
			policy: patient, m: leaving(func(m *lifecycle.Machine) { m.Deletion.PreDrain = etcdHook }), w: world(busy),
			want: lifecycle.Decision{
				Step: lifecycle.Settled, Reason: lifecycle.ReasonDrainBlockedHook, Stage: lifecycle.StageDeleting,
				Message: "waiting for the owners of the pre-drain hooks: EtcdQuorumOperator (etcd-operator)",
			},
		},
		{
			name:   "openshift 13.2 C2: pre-drain hook without a drain",
			reason: "the owner of the hook relies on the machine, whether or not there is something to drain",
			policy: patient, m: leaving(func(m *lifecycle.Machine) { m.Deletion.PreDrain, m.Deletion.SkipDrain = etcdHook, true }), w: world(),
			want: lifecycle.Decision{
				Step: lifecycle.Settled, Reason: lifecycle.ReasonDrainBlockedHook, Stage: lifecycle.StageDeleting,
				Message: "waiting for the owners of the pre-drain hooks: EtcdQuorumOperator (etcd-operator)",
			},
		},
		{
			name:   "openshift 2.5: pre-drain hook added after the drain",
			reason: "what is drained cannot be held any more",
			policy: patient, m: leaving(recorded, func(m *lifecycle.Machine) { m.Deletion.PreDrain = etcdHook }), w: world(runningOn(cordoned())),
			want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name:   "gardener 2.7: running without target cluster",
			reason: "node drain is skipped",
			policy: targetless(brisk), m: leaving(), w: world(having(instance(provider.Running)), nodeBlind),
			want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name:   "gardener 2.8: force-deletion",
			reason: "the drain has no patience, but there is one",
			policy: brisk, m: leaving(func(m *lifecycle.Machine) { m.Deletion.Force = true }), w: world(busy),
			want: forced(out(lifecycle.Drain, lifecycle.ReasonDeleting)),
		},
		{
			name:   "gardener 2.8: drain timeout passed",
			reason: "counted from deletion: after 2 hours it is forced",
			policy: brisk, m: leaving(func(m *lifecycle.Machine) { m.Deleted = now.Add(-2*time.Hour - time.Second) }), w: world(busy),
			want: forced(out(lifecycle.Drain, lifecycle.ReasonDeleting)),
		},
		{
			name:   "gardener 2.8: node not Ready for long",
			reason: "nobody is there to end the pods: forced 5 minutes after the node was last Ready",
			policy: brisk, m: leaving(), w: world(runningOn(unreadySince(now.Add(-5*time.Minute - time.Second)))),
			want: forced(out(lifecycle.Drain, lifecycle.ReasonDeleting)),
		},
		{
			name:   "gardener 2.8: node not Ready for a moment",
			reason: "it may come back",
			policy: brisk, m: leaving(), w: world(runningOn(unreadySince(now.Add(-time.Minute)))), want: out(lifecycle.Drain, lifecycle.ReasonDeleting),
		},
		{
			name:   "gardener 2.8: waiting, the drain timeout is near",
			reason: "asked again just after it, not when the drain would have looked",
			policy: brisk, m: leaving(func(m *lifecycle.Machine) { m.Deleted = now.Add(-2*time.Hour + 5*time.Second) }), w: world(busy, drained(blocked)),
			want: waiting(lifecycle.ReasonDraining, "1 pod has to leave: db/db-0", 6*time.Second),
		},
	})
}

// cordoned is a Ready node that takes no pods.
func cordoned() *corev1.Node {
	n := node(corev1.ConditionTrue)
	n.Spec.Unschedulable = true
	return n
}

func again() *corev1.Node {
	n := cordoned()
	n.Annotations = map[string]string{lifecycle.DrainedAgainAnnotation: "true"}
	return n
}

func unreadySince(t time.Time) *corev1.Node {
	n := node(corev1.ConditionUnknown)
	n.Status.Conditions[0].LastTransitionTime.Time = t
	return n
}

// TestRemoveInstance has the deletion from the end of the drain.
func TestRemoveInstance(t *testing.T) {
	busy := runningOn(node(corev1.ConditionTrue))
	never := leaving(func(m *lifecycle.Machine) { m.Recorded.Provisioned, m.Recorded.ProviderID = false, "" })
	lagging := func(lag, missing time.Duration) worldEdit {
		return func(w *lifecycle.World) { w.Unlisted.For = lag - missing }
	}
	check(t, []row{
		{
			name:   "openshift 2.2 step 4d: pre-terminate hook",
			reason: "after the drain, before the instance; its owner takes it away",
			policy: patient, m: leaving(func(m *lifecycle.Machine) { m.Deletion.PreTerminate = etcdHook }), w: world(busy, drained(allDone)),
			want: lifecycle.Decision{
				Step: lifecycle.Settled, Reason: lifecycle.ReasonTerminateHook, Stage: lifecycle.StageDeleting,
				Message: "waiting for the owners of the pre-terminate hooks: EtcdQuorumOperator (etcd-operator)",
			},
		},
		{
			name:   "openshift 2.2 step 4e: delete",
			reason: "drained and free of hooks",
			policy: patient, m: leaving(), w: world(busy, drained(allDone)), want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name:   "openshift 2.2 step 4e: nothing was found",
			reason: "there may be leftovers of an instance that was never completed",
			policy: patient, m: never, w: world(), want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name:   "openshift 2.2 step 4e: delete refused",
			reason: "tried again; the machine stays",
			policy: patient, m: leaving(),
			w: world(having(instance(provider.Running)), func(w *lifecycle.World) {
				w.Removal.Err, w.Retry = errDenied, lifecycle.Retry{Step: lifecycle.Terminate, Err: errDenied, At: now, Failures: 1}
			}),
			want: because(waiting(lifecycle.ReasonTerminateFailed, "credentials are not valid", time.Minute), errDenied),
		},
		{
			name:   "openshift 2.2 step 4f: still there",
			reason: "removal has been asked for since 8 s: a quarter of that",
			policy: patient, m: leaving(),
			w:    world(having(instance(provider.Stopping)), removal(lifecycle.RemovalUnderway), func(w *lifecycle.World) { w.Removal.For = 8 * time.Second }),
			want: waiting(lifecycle.ReasonTerminating, "the infrastructure is removing the instance", 2*time.Second),
		},
		{
			name:   "openshift 2.2 step 4g: node left",
			reason: "the node goes after the instance",
			policy: patient, m: leaving(), w: world(busy, removal(lifecycle.RemovalDone)), want: out(lifecycle.DeleteNode, lifecycle.ReasonInstanceGone),
		},
		{
			name:   "openshift 2.2 step 4g: node not known",
			reason: "a node that may be there is not left behind",
			policy: patient, m: leaving(), w: world(nodeBlind, removal(lifecycle.RemovalDone)),
			want: because(waiting(lifecycle.ReasonNodeUnknown, "connection reset", 30*time.Second), errTransient),
		},
		{
			name:   "openshift 2.2 step 4h: nothing left",
			reason: "workloads, instance and node are gone: the object may go",
			policy: patient, m: leaving(), w: world(removal(lifecycle.RemovalDone)), want: out(lifecycle.RemoveFinalizer, lifecycle.ReasonNothingLeft),
		},
		{
			name:   "openshift 13.2 C15: deleting and invalid",
			reason: "a machine whose label or spec is gone can still be deleted",
			policy: patient, m: leaving(func(m *lifecycle.Machine) { m.Faults = []lifecycle.Fault{{Field: "x", Message: "y"}} }),
			w: world(having(instance(provider.Running))), want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name:   "openshift 2.1: created just before it was deleted",
			reason: "the listing lags 5 s and an instance may have been asked for 1 s ago: absence proves nothing for 4 s more",
			policy: patient, m: leaving(func(m *lifecycle.Machine) {
				m.Recorded.Provisioned, m.Recorded.ProviderID, m.Deleted = false, "", now.Add(-time.Second)
			}),
			w:    world(lagging(5*time.Second, time.Second), removal(lifecycle.RemovalDone)),
			want: waiting(lifecycle.ReasonUnconfirmed, "nothing is listed for the machine; the controller asks again before it acts on that", 4*time.Second),
		},
		{
			name:   "openshift 2.1: never listed, by a process that has just taken over",
			reason: "what the one before it asked for may be on its way for 2 s more",
			policy: patient, m: never,
			w:    world(removal(lifecycle.RemovalDone), func(w *lifecycle.World) { w.Unlisted.For = 2 * time.Second }),
			want: waiting(lifecycle.ReasonUnconfirmed, "nothing is listed for the machine; the controller asks again before it acts on that", 2*time.Second),
		},
		{
			name:   "openshift 2.1: never listed, long enough",
			reason: "nothing was asked for since longer ago than the listing lags",
			policy: patient, m: never, w: world(lagging(5*time.Second, time.Minute), removal(lifecycle.RemovalDone)),
			want: out(lifecycle.RemoveFinalizer, lifecycle.ReasonNothingLeft),
		},
		{
			name:   "gardener 2.7: status denied",
			reason: "a denied answer is never read as gone",
			policy: brisk, m: leaving(), w: world(blind(errDenied)),
			want: because(waiting(lifecycle.ReasonDeletionNeedsHelp, "credentials are not valid", 3*time.Minute), joinedError{errDenied}),
		},
		{
			name:   "gardener 2.7: class missing",
			reason: "the instance cannot be reached, so the object stays as the last thing that knows of it",
			policy: brisk, m: leaving(), w: world(classless(errTransient), failedAt(lifecycle.Await, errTransient, 0, 2)),
			want: because(waiting(lifecycle.ReasonDeletionNeedsHelp, "connection reset", time.Second), joinedError{errTransient}),
		},
		{
			name:   "gardener 11.2 C15: class missing, abandoned",
			reason: "somebody has taken it upon himself to look after the instance",
			policy: brisk, m: leaving(func(m *lifecycle.Machine) { m.Deletion.Abandon = true }), w: world(classless(errTransient)),
			want: out(lifecycle.RemoveFinalizer, lifecycle.ReasonNothingLeft),
		},
		{
			name:   "gardener 11.2 C15: abandoned, but reachable",
			reason: "abandoning allows to let go of what cannot be reached; what can be reached is removed",
			policy: brisk, m: leaving(func(m *lifecycle.Machine) { m.Deletion.Abandon = true }), w: world(having(instance(provider.Running))),
			want: out(lifecycle.Terminate, lifecycle.ReasonDeleting),
		},
		{
			name:   "gardener 11.2 C15: abandoned, node left",
			reason: "the node is within reach, so it is not left behind",
			policy: brisk, m: leaving(func(m *lifecycle.Machine) { m.Deletion.Abandon = true }),
			w: world(classless(errTransient), joined(node(corev1.ConditionUnknown)), drained(allDone)), want: out(lifecycle.DeleteNode, lifecycle.ReasonInstanceGone),
		},
		{
			name:   "issue, bad input: spec that never could be opened",
			reason: "no session was ever possible, so nothing was made",
			policy: brisk, m: leaving(notProvisioned, unasked), w: world(classless(errInvalid)), want: out(lifecycle.RemoveFinalizer, lifecycle.ReasonNothingLeft),
		},
		{
			name:   "issue, bad input: credentials that never worked, just deleted",
			reason: "the object may come from a backup: who answers soon is listened to",
			policy: brisk, m: leaving(notProvisioned, unasked, deletedFor(20*time.Second)), w: world(blind(errDenied)),
			want: because(waiting(lifecycle.ReasonDeletionNeedsHelp, "credentials are not valid", 40*time.Second), joinedError{errDenied}),
		},
		{
			name:   "issue, bad input: credentials that do not even open a session, just deleted",
			reason: "that may be over soon, where a spec that is refused says that nothing was made",
			policy: brisk, m: leaving(notProvisioned, unasked, deletedFor(20*time.Second)), w: world(classless(errDenied)),
			want: because(waiting(lifecycle.ReasonDeletionNeedsHelp, "credentials are not valid", 40*time.Second), joinedError{errDenied}),
		},
		{
			name:   "issue, bad input: credentials that never worked",
			reason: "nobody asked for an instance",
			policy: brisk, m: leaving(notProvisioned, unasked), w: world(blind(errDenied)), want: out(lifecycle.RemoveFinalizer, lifecycle.ReasonNothingLeft),
		},
		{
			name:   "issue, bad input: an endpoint that answers HTML",
			reason: "nobody asked for an instance",
			policy: patient, m: leaving(notProvisioned, unasked), w: world(blind(errTransient)), want: out(lifecycle.RemoveFinalizer, lifecycle.ReasonNothingLeft),
		},
		{
			name:   "bad input: credentials that stopped to work after an instance was asked for without an answer",
			reason: "there may be an instance",
			policy: brisk, m: never, w: world(blind(errDenied)),
			want: because(waiting(lifecycle.ReasonDeletionNeedsHelp, "credentials are not valid", 3*time.Minute), joinedError{errDenied}),
		},
		{
			name:   "bad input: spec broken after an instance was asked for without an answer",
			reason: "there may be an instance, and an invalid spec proves nothing",
			policy: brisk, m: never, w: world(classless(errInvalid)),
			want: because(waiting(lifecycle.ReasonDeletionNeedsHelp, "spec.zone: there is no zone q", 3*time.Minute), joinedError{errInvalid}),
		},
		{
			name:   "bad input: broken spec of a machine that others had in hand",
			reason: "nobody knows what they asked for",
			policy: brisk, m: leaving(notProvisioned, func(m *lifecycle.Machine) { m.Recorded.Origin = nil }), w: world(classless(errInvalid)),
			want: because(waiting(lifecycle.ReasonDeletionNeedsHelp, "spec.zone: there is no zone q", 3*time.Minute), joinedError{errInvalid}),
		},
		{
			name:   "issue, bad input: spec broken after the instance was made",
			reason: "there is an instance, and it would be left behind",
			policy: brisk, m: leaving(), w: world(classless(errInvalid)),
			want: because(waiting(lifecycle.ReasonDeletionNeedsHelp, "spec.zone: there is no zone q", 3*time.Minute), joinedError{errInvalid}),
		},
		{
			name:   "gardener 2.7: no target, nothing left",
			reason: "there is no node to ask for",
			policy: targetless(brisk), m: leaving(), w: world(nodeBlind, removal(lifecycle.RemovalDone)), want: out(lifecycle.RemoveFinalizer, lifecycle.ReasonNothingLeft),
		},
	})
}

// joinedError equals, for the comparison of decisions, an error that wraps one.
type joinedError struct{ one error }

func (e joinedError) Error() string        { return e.one.Error() }
func (e joinedError) Unwrap() error        { return e.one }
func (e joinedError) Is(target error) bool { return target.Error() == e.one.Error() }
