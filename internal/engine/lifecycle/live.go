package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/provider"
)

// life has the checks for a machine that is not under deletion, from a newly created object to a node that
// does its work. Each check assumes that the checks before it had no objection.
var life = []check{
	moved,
	notHeld,
	faulty,
	failed,
	thawed,
	lookupFailed,
	taken,
	givenUp,
	instanceMissing,
	undecided,
	retryPending,
	unanswered,
	notCreated,
	pending,
	uninitialized,
	rebootAsked,
	detached,
	targetReplaced,
	nodeUnknown,
	nodeMissing,
	notJoined,
	nodeStale,
	markDue,
	updateAnswered,
	updateHeld,
	updateDrain,
	updateUnderway,
	updateMissed,
	updateSettles,
	notYetHealthy,
	unhealthy,
}

func notHeld(q input) *Decision {
	if q.m.HasFinalizer {
		return nil
	}
	return &Decision{Step: AddFinalizer, Reason: ReasonNew}
}

func faulty(q input) *Decision {
	if len(q.m.Faults) == 0 {
		return nil
	}
	return &Decision{Step: Settled, Reason: ReasonInvalidObject, Message: Describe(q.m.Faults)}
}

// Describe joins faults into one line: "spec.class.kind: must be set".
func Describe(faults []Fault) string {
	out := make([]string, len(faults))
	for i, f := range faults {
		out[i] = f.String()
	}
	return strings.Join(out, "; ")
}

// failed machines stay as they are until their owner, or a user, deletes them, unless the API lets them
// recover with their node. What keeps a new node from counting as running also keeps a machine from
// recovering: otherwise a machine that failed for that would recover at once. The same holds for an update
// that never ended. The deletion of the node of a failed machine requests its replacement, too.
func failed(q input) *Decision {
	switch {
	case q.m.Stage != StageFailed:
		return nil
	case q.nodeLeaves():
		return nodeMissing(q)
	case q.p.Health.FailedRecovers && holdup(q.w.Node.Object, q.p) == "" && !q.updateOpen():
		return nil
	}
	return &Decision{Step: Settled, Reason: ReasonFailed, Stage: StageFailed}
}

// thawed resets machines that became Lost while the process was disconnected for so long that everything
// froze (section 5.3 of the Gardener notes): the state of their nodes at that time means nothing. Those that
// are still unhealthy become Lost again after the kubelets have had time to report.
func thawed(q input) *Decision {
	if q.m.Stage != StageLost || !q.m.StageSince.Before(q.w.Connectivity.Recovered().Truncate(time.Second)) {
		return nil
	}
	return &Decision{
		Step: Await, Reason: ReasonReconnected, Stage: StageRunning, After: thawGrace,
		Message: "the API server was unreachable for too long to know whether the node is healthy",
	}
}

// thawGrace is the time that a node has to report after a freeze.
const thawGrace = 30 * time.Second

// lookupFailed stops a machine without an instance. A machine with an instance continues by the state of its
// node, also when the cloud does not answer.
func lookupFailed(q input) *Decision {
	if q.w.Instances.Looked || q.m.Recorded.Provisioned {
		return nil
	}
	d := &Decision{Step: Await, Stage: StageCreating, Err: q.w.Instances.Err, Reason: ReasonLookupFailed}
	if q.w.Session.Err != nil {
		d.Err, d.Reason = q.w.Session.Err, ReasonClassUnavailable
		if q.p.Join.InvalidFails && provider.KindOf(d.Err) == provider.Invalid {
			d.Step, d.Stage = Fail, StageFailed
			d.Message = d.Err.Error()
			return d
		}
	}
	d.Message = text(d.Err)
	if q.w.Session.Err == nil && q.joining().passed() && !q.w.Node.ready() {
		d.Step, d.Reason, d.Stage = Fail, ReasonCreateTimeout, StageFailed
		return d
	}
	d.Stage = q.struggling(d.Err)
	d.After = q.p.Delays.after(d.Err, q.w.Retry.Failures)
	return d
}

// givenUp handles an instance that was accepted and never became usable. The machine gets no other: its owner
// creates another machine. One API sets it to Failed at once if it cannot recover; the other reports the
// reason in the words of a failed creation, for which autoscalers wait, and sets it to Failed after its
// timeout. An instance whose node has joined is judged by the node.
func givenUp(q input) *Decision {
	err := q.w.Instances.Fault
	if err == nil || q.m.HadNode() || q.m.Stage == StageDetached || q.w.Node.Object != nil {
		return nil
	}
	left, unknown := len(q.w.Instances.Own) > 0, !q.w.Node.Looked && !q.p.Targetless
	message, args := "the infrastructure accepted the instance, and it failed: "+err.Error(), Args{}
	if !left {
		message, args = q.lost()
		message += ": " + err.Error()
	}
	switch {
	case unknown: // it is unknown whether its node has joined
	case q.p.Join.InvalidFails && provider.KindOf(err) == provider.Invalid, q.p.Join.MissingFails && (!left || final(err)):
		return &Decision{Step: Fail, Reason: ReasonGivenUp, Stage: StageFailed, Err: err, Message: message, Args: args}
	case q.creating().passed():
		return &Decision{Step: Fail, Reason: ReasonCreateTimeout, Stage: StageFailed, Err: err, Message: message, Args: args}
	}
	d := &Decision{Step: Await, Reason: ReasonGivenUp, Stage: StageCrashing, Err: err, Message: message, Args: args, After: q.creating().wait()}
	switch i := q.w.Instances.Of(q.m.Recorded.ProviderID); {
	case unknown:
		d.After = q.creating().atMost(max(q.p.Delays.Transient, FirstDelay))
	case i != nil:
		d.After = q.creating().atMost(max(q.p.Delays.after(err, 0), Poll(q.now.Sub(i.Created))))
	}
	return d
}

// final reports whether the failed instance will not recover by itself.
func final(err error) bool {
	switch provider.KindOf(err) {
	case provider.Exhausted, provider.Invalid, provider.Denied:
		return true
	}
	return false
}

func instanceMissing(q input) *Decision {
	if !q.m.Recorded.Provisioned || !q.w.Instances.Looked || len(q.w.Instances.Own) > 0 {
		return nil
	}
	if q.w.Unlisted.For > 0 {
		return &Decision{
			Step: Await, Reason: ReasonUnconfirmed, After: q.w.Unlisted.For,
			Message: "the infrastructure does not list the instance; the controller asks again before it acts on that",
		}
	}
	if !q.p.Join.MissingFails || !q.absent() {
		return nil
	}
	message, args := q.lost()
	return &Decision{Step: Fail, Reason: ReasonMissing, Stage: StageFailed, Message: message, Args: args}
}

// retryPending keeps attempts apart, and fails the machine if the API requires that. Only attempts to create
// and to initialize count: a failed lookup says nothing about an existing machine.
func retryPending(q input) *Decision {
	r := q.w.Retry
	switch {
	case r.Err == nil, r.Step == Create && q.m.Recorded.Provisioned, r.Step == Initialize && initialized(q), r.Step != Create && r.Step != Initialize:
		return nil
	}
	if r.Step == Create && q.p.Join.InvalidFails && provider.KindOf(r.Err) == provider.Invalid {
		return &Decision{Step: Fail, Reason: ReasonCreateFailed, Stage: StageFailed, Err: r.Err, Message: r.Err.Error()}
	}
	if q.creating().passed() && !q.w.Node.ready() {
		return &Decision{Step: Fail, Reason: ReasonCreateTimeout, Stage: StageFailed, Err: r.Err, Message: r.Err.Error()}
	}
	wait := q.p.Delays.after(r.Err, r.Failures) - q.now.Sub(r.At)
	if wait <= 0 {
		return nil
	}
	return &Decision{
		Step: Await, Reason: ReasonRetry, Stage: q.struggling(r.Err), Err: r.Err,
		Message: r.Err.Error(), After: q.creating().atMost(wait),
	}
}

func notCreated(q input) *Decision {
	if q.m.Recorded.Provisioned || len(q.w.Instances.Owned()) > 0 {
		return nil
	}
	if q.w.Session.UserDataErr != nil {
		return &Decision{
			Step: Await, Reason: ReasonUserData, Stage: q.struggling(q.w.Session.UserDataErr), Err: q.w.Session.UserDataErr,
			Message: q.w.Session.UserDataErr.Error(), After: q.p.Delays.Transient,
		}
	}
	switch {
	case q.w.Session.Inherited != nil, !q.m.HasOrigin():
		return &Decision{Step: AddFinalizer, Reason: ReasonNew}
	case !q.w.Requests.Stored(q.m.Recorded.Requests):
		return &Decision{Step: RecordRequest, Reason: ReasonNoInstance, Stage: StageCreating}
	}
	return &Decision{Step: Create, Reason: ReasonNoInstance, Stage: StageCreating}
}

// pending handles instances that were never usable: an instance whose node has joined and that is pending
// again, as after a stop and a start, is judged by its node.
func pending(q input) *Decision {
	i := q.w.Instances.Of(q.m.Recorded.ProviderID)
	if i == nil || i.State != provider.Pending || q.m.HadNode() || Healthy(q.w.Node.Object, q.p) {
		return nil
	}
	if q.joining().passed() {
		return q.joinTimeout()
	}
	return &Decision{
		Step: Await, Reason: ReasonPending, Stage: StageCreating,
		Message: "the infrastructure is working on the instance",
		After:   q.joining().atMost(Poll(q.now.Sub(i.Created))),
	}
}

// Poll returns how long to wait before asking again about something that has been pending for that long: a
// quarter of it, between 250 ms and 15 s. A change after 4 s is seen at most 1 s late, a change after 10
// minutes at most 15 s.
func Poll(pendingFor time.Duration) time.Duration {
	return min(max(pendingFor/4, 250*time.Millisecond), 15*time.Second)
}

func uninitialized(q input) *Decision {
	if i := q.w.Instances.Of(q.m.Recorded.ProviderID); i == nil || !i.Uninitialized {
		return nil
	}
	return &Decision{Step: Initialize, Reason: ReasonUninitialized, Stage: StageCreating}
}

func detached(q input) *Decision {
	if !q.p.Targetless {
		return nil
	}
	d := q.onItsWay(Decision{Step: Settled, Reason: ReasonDetached, Stage: StageDetached})
	return &d
}

func nodeUnknown(q input) *Decision {
	if q.w.Node.Looked {
		return nil
	}
	return &Decision{
		Step: Await, Reason: ReasonNodeUnknown, Stage: q.joined(), Err: q.w.Node.Err,
		Message: text(q.w.Node.Err), After: q.p.Delays.untilTold(q.w.Node.Err),
	}
}

// nodeMissing handles machines that had a node. If the API replaces machines that lose their node, a node
// under deletion counts as lost, also before the machine was Running: our finalizer on the node only ensures
// that its deletion is noticed. A missing node without an observed deletion is different: the cluster may
// have been restored from an earlier backup, and the pods still run. Then the machine is unhealthy, like a
// machine whose node now belongs to another one, unless the machine has its instance and the node of that
// name reports. Then the kubelet of the instance may report with invented data, and failing the machine would
// end pods that cannot be drained.
func nodeMissing(q input) *Decision {
	if !q.nodeLeaves() && (q.w.Node.Object != nil || !q.m.HadNode()) {
		return nil
	}
	switch {
	case q.nodeLeaves():
		return &Decision{Step: Replace, Reason: ReasonNodeMissing, Message: "the node object was deleted"}
	case q.p.Health.Tracked && q.w.Node.TakenReady && len(q.w.Instances.Own) > 0:
		d := q.onItsWay(Decision{Step: Settled, Reason: ReasonNodeMissing, Message: q.nodeGone()})
		if q.m.Stage == StageLost {
			d.Stage = StageRunning
		}
		return &d
	case q.p.Health.Tracked && q.m.Stage != StageLost:
		return &Decision{
			Step: Await, Reason: ReasonNodeMissing, Stage: StageLost, After: q.p.Health.Timeout,
			Message: q.nodeGone(),
		}
	case q.p.Health.Tracked:
		return nil
	}
	d := q.onItsWay(Decision{Step: Settled, Reason: ReasonNodeMissing, Message: q.w.NodeLost(q.m)})
	return &d
}

// nodeLeaves reports whether the node was seen to be deleted, if that requests another machine.
func (q input) nodeLeaves() bool {
	n := q.w.Node
	leaves := n.Object != nil && n.Object.DeletionTimestamp != nil || n.Looked && n.Object == nil && !n.DeletedAt.IsZero() && n.Taken == ""
	return q.p.Health.NodeLossDeletes && leaves
}

// HadNode reports whether the machine's node has joined and counted at least once.
func (m Machine) HadNode() bool {
	switch m.Stage {
	case StageRunning, StageLost, StageUpdating, StageUpdated, StageUpdateFailed:
		return true
	}
	return false
}

func notJoined(q input) *Decision {
	if q.w.Node.Object != nil || q.m.Stage == StageLost {
		return nil
	}
	if q.joining().passed() {
		return q.joinTimeout()
	}
	d := &Decision{
		Step: Await, Reason: ReasonAwaitingNode, Stage: StageJoining, After: q.joining().wait(),
		Message: "the instance runs; its node has not joined yet",
	}
	if err := unseen(q); err != nil {
		d.Message = "its node has not joined yet, and the infrastructure does not report the state of its instance: " + err.Error()
	}
	if i := q.w.Instances.Of(q.m.Recorded.ProviderID); i != nil && len(i.Addresses) == 0 {
		// Its node may be found by an address that is not known yet.
		d.After = q.joining().atMost(Poll(q.now.Sub(i.Created)))
	}
	return d
}

func nodeStale(q input) *Decision {
	if !q.w.Node.Stale {
		return nil
	}
	return &Decision{Step: SyncNode, Reason: ReasonNodeStale}
}

// notYetHealthy handles machines that have not run yet.
func notYetHealthy(q input) *Decision {
	if q.p.Join.LinkedIsRunning || q.m.HadNode() || holdup(q.w.Node.Object, q.p) == "" {
		return nil
	}
	if q.joining().passed() {
		return q.joinTimeout()
	}
	return &Decision{
		Step: Await, Reason: ReasonAwaitingNode, Stage: StageJoining, After: q.joining().wait(),
		Message: "the node joined, but does not count as healthy yet: " + holdup(q.w.Node.Object, q.p),
	}
}

// unhealthy handles machines that have run.
func unhealthy(q input) *Decision {
	if !q.p.Health.Tracked || q.w.Node.Object != nil && Healthy(q.w.Node.Object, q.p) {
		return nil
	}
	if q.m.Stage != StageLost {
		return &Decision{
			Step: Await, Reason: ReasonNodeUnhealthy, Stage: StageLost, After: q.p.Health.Timeout,
			Message: "the node is not healthy: " + Ailment(q.w.Node.Object, q.p), Args: Args{Conditions: Conditions(q.w.Node.Object, q.p)},
		}
	}
	return q.losing(StageLost)
}

// losing handles a machine that has been in a stage for some time in which it may be for the health timeout
// only.
func (q input) losing(s Stage) *Decision {
	left := q.left(q.m.StageSince, q.p.Health.Timeout)
	switch {
	case q.p.Health.Timeout == 0 || left > 0:
		return &Decision{Step: Await, Reason: ReasonNodeUnhealthy, Stage: s, After: connectivity.Again(left), Message: Ailment(q.w.Node.Object, q.p)}
	case q.w.Node.Object == nil && q.w.Node.Doubt != "":
		return &Decision{Step: Await, Reason: ReasonNodeDoubted, Stage: s, After: q.p.Delays.unmended(), Message: q.w.Node.Doubt}
	case !q.w.MayFail:
		return &Decision{
			Step: Await, Reason: ReasonFailureWithheld, Stage: s, After: q.p.Delays.Transient,
			Message: "another machine of the group is being replaced",
		}
	}
	told := Conditions(q.w.Node.Object, q.p)
	return &Decision{
		Step: Fail, Reason: ReasonHealthTimeout, Stage: StageFailed,
		Message: fmt.Sprintf("the machine was not healthy for %v minutes; conditions of its node: %s", q.p.Health.Timeout.Minutes(), told),
		Args:    Args{Conditions: told, Timeout: q.p.Health.Timeout},
	}
}

// joinTimeout fails a machine whose node did not join in time; not while it is unknown whether it did.
func (q input) joinTimeout() *Decision {
	if d := nodeUnknown(q); d != nil && !q.p.Targetless {
		return d
	}
	d := &Decision{
		Step: Fail, Reason: ReasonJoinTimeout, Stage: StageFailed,
		Message: fmt.Sprintf("Machine %s failed to join the cluster in %v minutes.", q.m.Name, q.p.Join.Timeout.Minutes()),
	}
	if err := unseen(q); err != nil {
		d.Message += " The infrastructure does not report the state of its instance: " + err.Error()
	}
	return d
}

// joined returns the stage of a machine whose instance exists and whose node is unknown.
func (q input) joined() Stage {
	if q.m.HadNode() || q.m.Stage == StageFailed {
		return q.m.Stage
	}
	return StageJoining
}

// struggling returns the stage of a machine that has no usable instance because of err.
func (q input) struggling(err error) Stage {
	if err != nil {
		return StageCrashing
	}
	return StageCreating
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
