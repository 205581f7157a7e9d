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

// removal is the way out: workloads, instance, node, object. Nothing in it
// needs a valid object, and what cannot be asked is never taken for gone.
var removal = []check{
	released,
	preDrainHook,
	targetReplaced,
	nodeDoubted,
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

// preDrainHook is honoured whether or not there is anything to drain: its
// owner relies on the machine being there.
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

// DrainedAgainAnnotation is put on a node with the cordon that begins another drain,
// after one was recorded as finished: that record says nothing of what came since.
const DrainedAgainAnnotation = millwright.DrainedAgain

// Emptied reports whether nothing is left to drain of the machine's node and of those
// that show its instance: a drain was recorded as finished, and no pod was let onto any of
// them since. One that somebody uncordoned, or that its kubelet has made anew, takes pods
// again. It is drained with each pass from then on, as long as its instance is there.
func Emptied(m Machine, n Node) bool {
	closed := func(n *corev1.Node) bool { return n.Spec.Unschedulable && n.Annotations[DrainedAgainAnnotation] == "" }
	open := slices.ContainsFunc(n.Hosts, func(h *corev1.Node) bool { return h.UID != "" && !closed(h) })
	return m.Deletion.Drained && !open && (n.Object == nil || closed(n.Object))
}

// ForcedPatience is how long a deletion that a person forces puts up with a
// cluster that refuses or does not answer what it asks: it may be gone for good.
const ForcedPatience = time.Minute

// overrules reports whether the machine goes although the cluster that it joined
// cannot be asked to drain or to forget its node. It is tried once more in each
// pass. Only a person's word does that: no timeout takes silence for consent.
func (q input) overrules() bool { return q.m.Deletion.Force && q.w.Drain.RefusedFor >= ForcedPatience }

// nodeUnknown waits until it can be told what becomes of the node, unless the
// machine goes without.
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

// drainable reports whether there may be workloads that a drain would save.
// Once the instance is positively gone, or on its way, there are none.
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

// absent reports whether nothing in the cluster speaks against an answer that there
// is no instance, and that is known.
func (q input) absent() bool {
	return q.w.Instances.SeenToGo || (q.p.Targetless || q.w.Node.Looked) && q.w.against(q.m) == ""
}

// gone reports whether the infrastructure can have noticed that the machine has
// an instance, and says that it has none. One may have been asked for just before;
// until listings have caught up with that, absence proves nothing.
func (q input) gone() bool {
	return q.w.Instances.Looked && len(q.w.Instances.Owned()) == 0 && q.w.Unlisted.For <= 0
}

func (q input) force() bool {
	overdue := q.p.Drain.Timeout > 0 && q.left(q.m.Deleted, q.p.Drain.Timeout) < 0
	return q.m.Deletion.Force || overdue || q.helpless()
}

func (q input) drainAfter() time.Duration {
	after := q.w.Drain.Result.Next
	if q.p.Drain.Timeout > 0 {
		if left := q.left(q.m.Deleted, q.p.Drain.Timeout); left > 0 && (after == 0 || left < after) {
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

// unreachable: there is no session, or it cannot say what exists. A machine for which no
// instance was ever asked waits a minute at most, and goes.
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
			return nil // nothing was made
		}
		after = min(after, left)
	}
	return &Decision{
		Step: Await, Reason: ReasonDeletionNeedsHelp, Stage: StageDeleting, Err: err, Message: text(err), After: after,
	}
}

// unaskedPatience is for how long the infrastructure is asked for an instance that nobody
// asked for: the object may come from a backup. The collector finds what shows up later.
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

// terminateDue asks for removal also where no instance was found: there may be
// leftovers of one that was never completed.
func terminateDue(q input) *Decision {
	if q.w.Removal.State == RemovalDone || !q.w.Instances.Looked || q.w.Session.Err != nil {
		return nil
	}
	return &Decision{Step: Terminate, Reason: ReasonDeleting, Stage: StageDeleting}
}

// unconfirmed: removal found nothing to remove, but the listing may run
// behind, and what the process before this one asked for may be on its way.
func unconfirmed(q input) *Decision {
	if !q.w.Instances.Looked || len(q.w.Instances.Owned()) > 0 || q.gone() {
		return nil
	}
	return &Decision{
		Step: Await, Reason: ReasonUnconfirmed, Stage: StageDeleting,
		Message: "nothing is listed for the machine; asking again before this is believed",
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
