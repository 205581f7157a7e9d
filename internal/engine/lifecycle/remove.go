package lifecycle

import (
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/provider"
)

// removal has the checks of a deletion: workloads, instance, node, object. None needs a valid object, and an
// unanswered question never means that something is deleted.
var removal = []check{
	released,
	moved,
	preDrainHook,
	targetReplaced,
	nodeDoubted,
	budgetHolds,
	drainDue,
	preTerminateHook,
	unreachable,
	terminateFailed,
	terminating,
	unconfirmed,
	contradicted,
	terminateDue,
	nodeLeft,
}

func released(q input) *Decision {
	if q.m.HasFinalizer {
		return nil
	}
	return &Decision{Step: Settled, Reason: ReasonReleased, Stage: StageDeleting}
}

// preDrainHook is honoured even if there is nothing to drain: its owner relies on the machine.
func preDrainHook(q input) *Decision {
	if len(q.m.Deletion.PreDrain) == 0 || q.m.Deletion.Drained {
		return nil
	}
	return q.waitForHooks(Decision{
		Step: Settled, Reason: ReasonDrainBlockedHook, Stage: StageDeleting,
		Message: "waiting for the owners of the pre-drain hooks: " + names(q.m.Deletion.PreDrain),
	}, q.m.Deleted)
}

func drainDue(q input) *Decision {
	if Emptied(q.m, q.w.Node) || q.w.Drain.Result != nil && q.w.Drain.Result.Done || !q.drainable() {
		return nil
	}
	switch {
	case !q.w.Node.Looked:
		return q.nodeUnknown()
	case q.w.Drain.Result == nil:
		return &Decision{Step: Drain, Reason: ReasonDeleting, Stage: StageDeleting, Force: q.force()}
	case q.w.Drain.Err != nil && q.overrules():
		return nil
	}
	return &Decision{
		Step: Await, Reason: ReasonDraining, Stage: StageDeleting,
		Message: q.w.Drain.Result.Message, After: q.drainAfter(),
	}
}

// DrainedAgainAnnotation is set on a node with the cordon of another drain, after one was recorded as
// finished: that record does not cover later changes.
const DrainedAgainAnnotation = millwright.DrainedAgain

// Emptied reports whether nothing is left to drain on the machine's node and on those with its instance: a
// drain was recorded as finished, and none of them has accepted pods since. A node that a user uncordoned, or
// that its kubelet has created again, accepts pods. It is drained in each pass from then on, as long as its
// instance exists.
func Emptied(m Machine, n Node) bool {
	closed := func(n *corev1.Node) bool { return n.Spec.Unschedulable && n.Annotations[DrainedAgainAnnotation] == "" }
	open := slices.ContainsFunc(n.Hosts, func(h *corev1.Node) bool { return h.UID != "" && !closed(h) })
	return m.Deletion.Drained && !open && (n.Object == nil || closed(n.Object))
}

// ForcedPatience is how long a forced deletion waits for a cluster that refuses or does not answer its
// requests: the cluster may have been deleted.
const ForcedPatience = time.Minute

// overrules reports whether the machine is deleted although the target cluster cannot be asked to drain or to
// delete its node. Each pass tries once more. Only a user's request does that: no timeout takes silence for
// consent.
func (q input) overrules() bool { return q.m.Deletion.Force && q.w.Drain.RefusedFor >= ForcedPatience }

// nodeUnknown waits until the state of the node is known, unless the machine is deleted without it.
func (q input) nodeUnknown() *Decision {
	why := text(q.w.Node.Err)
	if q.overrules() {
		unheard := q.w.unheard(q.m)
		if unheard == "" {
			return nil
		}
		why += "; " + unheard
	}
	return &Decision{
		Step: Await, Reason: ReasonNodeUnknown, Stage: StageDeleting, Err: q.w.Node.Err,
		Message: why, After: q.p.Delays.untilTold(q.w.Node.Err),
	}
}

// drainable reports whether the node may have workloads that a drain would save. After the instance is
// certainly terminated, or terminating, it has none.
func (q input) drainable() bool {
	if q.p.Targetless || q.m.Deletion.SkipDrain || q.w.Node.Looked && q.w.Node.Object == nil && len(q.w.Node.Hosts) == 0 {
		return false
	}
	if q.w.Removal.State == RemovalDone || q.gone() && q.absent() {
		return false
	}
	i := q.w.Instances.Of(q.m.Recorded.ProviderID)
	return i == nil || i.State != provider.Stopping
}

// absent reports whether an answer that there is no instance is known and not contradicted by the cluster.
func (q input) absent() bool {
	return q.w.Instances.SeenToGo || (q.p.Targetless || q.w.Node.Looked) && q.w.against(q.m) == ""
}

// gone reports whether the infrastructure can have noticed the machine's instance, and reports none. One may
// have been requested just before; until listings have caught up with that, absence proves nothing.
func (q input) gone() bool {
	return q.w.Instances.Looked && len(q.w.Instances.Owned()) == 0 && q.w.Unlisted.For <= 0
}

func (q input) force() bool {
	overdue := q.p.Drain.Timeout > 0 && q.left(drainSince(q), q.p.Drain.Timeout) < 0
	return q.m.Deletion.Force || overdue || q.helpless()
}

func (q input) drainAfter() time.Duration {
	after := q.w.Drain.Result.Next
	if q.p.Drain.Timeout > 0 {
		if left := q.left(drainSince(q), q.p.Drain.Timeout); left > 0 && (after == 0 || left < after) {
			after = left + time.Second
		}
	}
	return after
}

func preTerminateHook(q input) *Decision {
	if len(q.m.Deletion.PreTerminate) == 0 {
		return nil
	}
	return q.waitForHooks(Decision{
		Step: Settled, Reason: ReasonTerminateHook, Stage: StageDeleting,
		Message: "waiting for the owners of the pre-terminate hooks: " + names(q.m.Deletion.PreTerminate),
	}, q.hooksBlockSince())
}

// unreachable: there is no session, or it cannot report which instances exist. A machine whose instance was
// never requested waits a minute at most, and is deleted.
func unreachable(q input) *Decision {
	if q.w.Removal.State == RemovalDone || q.w.Session.Err == nil && q.w.Instances.Looked {
		return nil
	}
	err := errors.Join(q.w.Session.Err, q.w.Instances.Err)
	if q.m.Deletion.Abandon {
		return nil
	}
	after := q.p.Delays.after(err, q.w.Retry.Failures)
	if !q.m.Recorded.Provisioned && !q.m.Asked() {
		left := q.left(q.m.Deleted, unaskedPatience)
		if left <= 0 || q.w.Session.Err != nil && provider.KindOf(q.w.Session.Err) == provider.Invalid {
			return nil // nothing was created
		}
		after = min(after, left)
	}
	return &Decision{
		Step: Await, Reason: ReasonDeletionNeedsHelp, Stage: StageDeleting, Err: err, Message: text(err), After: after,
	}
}

// unaskedPatience is how long the infrastructure is asked for an instance that was never requested: the
// object may come from a backup. The orphan collector finds instances that appear later.
const unaskedPatience = time.Minute

func terminateFailed(q input) *Decision {
	if q.w.Removal.Err == nil {
		return nil
	}
	return &Decision{
		Step: Await, Reason: ReasonTerminateFailed, Stage: StageDeleting, Err: q.w.Removal.Err,
		Message: q.w.Removal.Err.Error(), After: q.p.Delays.after(q.w.Removal.Err, q.w.Retry.Failures),
	}
}

func terminating(q input) *Decision {
	if q.w.Removal.State != RemovalUnderway {
		return nil
	}
	return &Decision{
		Step: Await, Reason: ReasonTerminating, Stage: StageDeleting, After: Poll(q.w.Removal.For),
		Message: "the infrastructure is removing the instance",
	}
}

// terminateDue requests the removal also if no instance was found: an incomplete creation may have left
// resources behind.
func terminateDue(q input) *Decision {
	if q.w.Removal.State == RemovalDone || !q.w.Instances.Looked || q.w.Session.Err != nil {
		return nil
	}
	return &Decision{Step: Terminate, Reason: ReasonDeleting, Stage: StageDeleting}
}

// unconfirmed: the removal found nothing to remove, but the listing may lag behind, and a request of the
// previous process may still be carried out.
func unconfirmed(q input) *Decision {
	if !q.w.Instances.Looked || len(q.w.Instances.Owned()) > 0 || q.gone() {
		return nil
	}
	return &Decision{
		Step: Await, Reason: ReasonUnconfirmed, Stage: StageDeleting,
		Message: "nothing is listed for the machine; the controller asks again before it acts on that",
		After:   max(q.w.Unlisted.For, FirstDelay),
	}
}

func nodeLeft(q input) *Decision {
	switch {
	case q.p.Targetless:
		return nil
	case !q.w.Node.Looked:
		return q.nodeUnknown()
	case q.w.Node.Object == nil:
		return nil
	}
	return &Decision{Step: DeleteNode, Reason: ReasonInstanceGone, Stage: StageDeleting}
}

func names(hooks []Hook) string {
	out := make([]string, len(hooks))
	for i, h := range hooks {
		out[i] = h.Name + " (" + h.Owner + ")"
	}
	return strings.Join(out, ", ")
}
