package lifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/interruption"
	"github.com/millwright-dev/millwright/provider"
)

// Disruption is the answer of the disruption budgets about a machine.
type Disruption struct {
	// Governed says that budgets may exist: no disruption begins without their permit.
	Governed bool
	// Permitted says that the machine has their permit.
	Permitted bool
	// Asked says that they were asked in this pass.
	Asked bool
	// Message says which budget the machine waits for, After when to ask again. Cause is the cause that they were
	// asked about; empty if it is unknown.
	Message string
	After   time.Duration
	Cause   v1alpha1.DisruptionReason
}

// permitted reports whether no budget prevents a disruption.
func permitted(q input) bool { return !q.w.Disruption.Governed || q.w.Disruption.Permitted }

// askPermit asks the budgets once. If they refuse, the life of the machine continues without the disruption.
func askPermit(q input) *Decision {
	if q.w.Disruption.Asked {
		return nil
	}
	return awaitPermit(q)
}

// awaitPermit waits for the permit of the budgets.
func awaitPermit(q input) *Decision {
	return &Decision{
		Step: Await, Reason: ReasonDisruptionBudget,
		Message: q.w.Disruption.Message, After: max(q.w.Disruption.After, FirstDelay),
	}
}

// budgetHolds stops a deletion before its drain until the disruption budgets permit it. A forced deletion does
// not wait: a user has decided about this machine. A deletion that has begun is completed.
func budgetHolds(q input) *Decision {
	if permitted(q) || q.m.Deletion.Force || begun(q) || !disrupts(q) {
		return nil
	}
	d := awaitPermit(q)
	d.Stage = StageDeleting
	return d
}

// disrupts reports whether the deletion ends the work of a node. Without a node, or without an instance,
// nothing is left to disrupt. If the node is unknown, the drain waits; a deletion without a drain does not.
func disrupts(q input) bool {
	i := q.w.Instances.Of(q.m.Recorded.ProviderID)
	switch {
	case q.p.Targetless, q.w.Removal.State != RemovalUntried, i != nil && i.State == provider.Stopping, q.gone() && q.absent():
		return false
	case q.w.Node.Looked:
		return q.w.Node.Object != nil || len(q.w.Node.Hosts) > 0
	}
	return q.m.Deletion.SkipDrain && q.m.HasJoined()
}

// HasJoined reports whether a node of the machine is recorded as joined.
func (m Machine) HasJoined() bool {
	return m.HadNode() || m.Recorded.Joined.Node != "" || m.Recorded.NodeUID != ""
}

// begun reports whether the drain of a deletion has begun, before a budget existed. A deletion that waits for
// an unreadable node has the record of a drain, too, but the node is not cordoned.
func begun(q input) bool {
	closed := func(n *corev1.Node) bool { return n != nil && n.Spec.Unschedulable }
	switch {
	case q.m.Deletion.Drained, !q.m.Since(DeletionInstance).IsZero():
		return true
	case q.m.Since(DeletionDrain).IsZero():
		return false
	}
	for _, h := range q.w.Node.Hosts {
		if closed(h) {
			return true
		}
	}
	return closed(q.w.Node.Object)
}

// AwaitsBudget reports whether the machine has recorded that its deletion waits for disruption budgets.
func (m Machine) AwaitsBudget() bool {
	n := len(m.Deletion.Started)
	return n > 0 && m.Deletion.Started[n-1].Step == DeletionBudget
}

// WaitCause returns the recorded cause of a disruption that waits, or has waited, for disruption budgets; empty if
// there is no such record. The owners of the machine show the cause only at first: after a scale-down, the set may
// create another machine.
func (m Machine) WaitCause() v1alpha1.DisruptionReason {
	for _, b := range m.Deletion.Started {
		if b.Step == DeletionBudget {
			return b.Cause
		}
	}
	return ""
}

// drainSince returns since when the timeout of the drain counts. A wait for disruption budgets is not part of
// the drain: otherwise a machine that waited longer than the timeout would be drained by force.
func drainSince(q input) time.Time {
	if q.m.Since(DeletionBudget).IsZero() {
		return q.m.Deleted
	}
	if began := q.m.Since(DeletionDrain); !began.IsZero() {
		return began
	}
	return q.now
}

// updateHeld says that the budgets have refused the update of the node. Meanwhile the machine does its work.
func updateHeld(q input) *Decision {
	if !q.updates() || permitted(q) || !q.w.Disruption.Asked {
		return nil
	}
	u := q.update()
	if u.Due(false) != inplace.MarkSelected || u.Mark == inplace.MarkSelected {
		return nil
	}
	return unlessUnwell(q, awaitPermit(q))
}

// Disrupting is the kind of a disruption.
type Disrupting string

// The kinds of disruptions.
const (
	DisruptingNothing  Disrupting = ""
	DisruptingDeletion Disrupting = "Deletion"
	DisruptingUpdate   Disrupting = "Update"
	DisruptingReboot   Disrupting = "Reboot"
)

// PermitRequest has the facts for the disruption budgets about one disruption.
type PermitRequest struct {
	Machine Machine
	Kind    Disrupting
	// Unwell says that the machine or its node is unhealthy, Interrupted that the cloud has announced the end of
	// its instance.
	Unwell, Interrupted bool
	// Begun says that the disruption has begun without a permit: it is counted, and not refused.
	Begun bool
}

// RequestPermit returns the request of a machine that begins, or has begun, the kind of disruption; without a kind,
// of the machine that waits.
func RequestPermit(kind Disrupting, m Machine, w World, p Policy) PermitRequest {
	r := PermitRequest{Machine: m, Kind: kind, Begun: kind != DisruptingNothing, Interrupted: interrupted(w.Node.Object), Unwell: w.Node.Object != nil && Unwell(m, w.Node.Object, p)}
	switch {
	case kind != DisruptingNothing:
	case !m.Deleted.IsZero():
		r.Kind = DisruptingDeletion
	case w.Node.Update.Request.Selected():
		r.Kind = DisruptingUpdate
	default:
		r.Kind = DisruptingReboot
	}
	return r
}

// interrupted reports whether the cloud has announced the end of the instance of the node.
func interrupted(n *corev1.Node) bool {
	return n != nil && slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == interruption.Terminating && c.Status == corev1.ConditionTrue && c.Reason == interruption.ReasonTerminationRequested
	})
}

// Disrupted returns the disruption of the machine that has begun and is not over: the machine keeps its permit. Known
// is false if that cannot be decided, because the node is unknown. The deletion of a machine without a node disrupts
// nothing: if it took a permit, it would hold up other machines.
func Disrupted(now time.Time, m Machine, w World, p Policy) (kind Disrupting, known bool) {
	q := input{now: now, m: m, w: w, p: p}
	switch {
	case !m.Deleted.IsZero():
		nodeless := w.Node.Looked && w.Node.Object == nil && len(w.Node.Hosts) == 0
		if w.Disruption.Permitted || begun(q) && !nodeless || m.Deletion.Force && disrupts(q) {
			return DisruptingDeletion, true
		}
		return DisruptingNothing, false // its permit ends with the machine
	case !w.Node.Looked || w.Node.Object == nil:
		return DisruptingNothing, false
	case updating(q):
		return DisruptingUpdate, true
	case rebooting(q):
		return DisruptingReboot, true
	}
	return DisruptingNothing, true
}

// updating reports whether the node is drained for an update in place, or is updated, or its update has failed
// and nothing ended that.
func updating(q input) bool {
	if !q.updates() {
		return false
	}
	u := q.update()
	switch u.State() {
	case inplace.Draining, inplace.Updating, inplace.Answered, inplace.Done, inplace.Failed:
		return true
	case inplace.Selected:
		return u.Mark == inplace.MarkSelected
	}
	return q.m.Stage == StageUpdated && !Healthy(q.w.Node.Object, q.p)
}

// rebootSettles is how long a node may look Ready after a reboot has begun: its kubelet has reported before,
// and its silence is noticed after 40 to 50 s.
const rebootSettles = 2 * time.Minute

// rebooting reports whether the machine is being rebooted, or is not Ready since.
func rebooting(q input) bool {
	r := q.m.Reboot
	if q.w.Reboot.At.After(r.At) {
		r = q.w.Reboot
	}
	switch {
	case r.State != RebootBegun && r.State != RebootDone:
		return false
	case q.now.Sub(r.At) < rebootSettles:
		return true
	}
	return !q.w.Node.ready()
}
