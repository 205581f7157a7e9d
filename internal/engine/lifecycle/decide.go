package lifecycle

import (
	"time"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/provider"
)

// Step is one action.
type Step string

// The steps. The set is closed: the shell has a handler for each.
const (
	// Settled: nothing to do until something changes.
	Settled Step = "Settled"
	// Await: nothing to do until Decision.After, or until something changes.
	Await Step = "Await"
	// AddFinalizer: add the finalizer, and store [Session].Origin, [Session].Inherited and the first ask.
	AddFinalizer Step = "AddFinalizer"
	// RecordRequest: choose the next request, and store it.
	RecordRequest Step = "RecordRequest"
	// RecordInstance: store which of several instances is the machine's.
	RecordInstance Step = "RecordInstance"
	// Create: request an instance, by the open request of [Recorded].Requests.
	Create Step = "Create"
	// Initialize: initialize a created instance.
	Initialize Step = "Initialize"
	// Reboot: restart the instance, once for the request.
	Reboot Step = "Reboot"
	// SyncNode: update the node's metadata.
	SyncNode Step = "SyncNode"
	// MarkUpdate: write the progress of the update, Decision.Mark, on the node. If Decision.Stage differs
	// from the machine's, write that on the machine first.
	MarkUpdate Step = "MarkUpdate"
	// Fail: set the machine to Failed.
	Fail Step = "Fail"
	// Replace: delete the machine object; its owner creates another.
	Replace Step = "Replace"
	// Drain: cordon the node and evict its pods, as far as budgets allow now.
	Drain Step = "Drain"
	// Terminate: terminate the instance and delete all resources created for it.
	Terminate Step = "Terminate"
	// DeleteNode: delete the node.
	DeleteNode Step = "DeleteNode"
	// RemoveFinalizer: remove the finalizer, so that the API object is deleted.
	RemoveFinalizer Step = "RemoveFinalizer"

	// The following steps come after all steps of the machine's life, and carry the decision about that life.

	// Maintain: reconcile the tags and other properties of the instance with the class.
	Maintain Step = "Maintain"
	// DropToken: delete the machine's bootstrap token.
	DropToken Step = "DropToken"
	// StorePreservation: record on the object that the machine is preserved, before the node is changed, so
	// that those changes are not mistaken for a user's.
	StorePreservation Step = "StorePreservation"
	// WarnOfDrain: record on the node that it is not drained, before other marks suggest that it is.
	WarnOfDrain Step = "WarnOfDrain"
	// MarkPreserved: set the node's annotations and taints by Decision.Preserve.
	MarkPreserved Step = "MarkPreserved"
	// DrainPreserved: evict the node's pods, by [PreservedNode].Drain.
	DrainPreserved Step = "DrainPreserved"
	// TellPreserved: record the progress of the preservation on the node.
	TellPreserved Step = "TellPreserved"
)

// Reason is a stable CamelCase word for why a step was chosen. It appears in conditions, events, logs and the
// CLI.
type Reason string

// The reasons.
const (
	ReasonNew               Reason = "New"
	ReasonInvalidObject     Reason = "InvalidObject"
	ReasonFailed            Reason = "Failed"
	ReasonClassUnavailable  Reason = "ClassUnavailable"
	ReasonLookupFailed      Reason = "LookupFailed"
	ReasonMissing           Reason = "InstanceMissing"
	ReasonUnconfirmed       Reason = "InstanceUnconfirmed"
	ReasonContradicted      Reason = "InstanceContradicted"
	ReasonNoInstance        Reason = "InstanceNotCreated"
	ReasonTaken             Reason = "NameTaken"
	ReasonDuplicate         Reason = "DuplicateInstance"
	ReasonUserData          Reason = "UserDataUnavailable"
	ReasonRetry             Reason = "RetryPending"
	ReasonCreateFailed      Reason = "CreateFailed"
	ReasonCreateTimeout     Reason = "CreateTimeout"
	ReasonPending           Reason = "InstancePending"
	ReasonGivenUp           Reason = "InstanceGivenUp"
	ReasonUninitialized     Reason = "Uninitialized"
	ReasonRebootAsked       Reason = "RebootRequested"
	ReasonDetached          Reason = "NoNodeExpected"
	ReasonNodeUnknown       Reason = "NodeLookupFailed"
	ReasonAwaitingNode      Reason = "AwaitingNode"
	ReasonJoinTimeout       Reason = "JoinTimeout"
	ReasonNodeMissing       Reason = "NodeMissing"
	ReasonTargetReplaced    Reason = "TargetClusterReplaced"
	ReasonNodeDoubted       Reason = "NodesMissingTogether"
	ReasonNodeStale         Reason = "NodeMetadataDiffers"
	ReasonNodeUnhealthy     Reason = "NodeUnhealthy"
	ReasonHealthTimeout     Reason = "HealthTimeout"
	ReasonFailureWithheld   Reason = "FailureWithheld"
	ReasonRunning           Reason = "Running"
	ReasonRecovered         Reason = "Recovered"
	ReasonJoined            Reason = "Joined"
	ReasonUpdateCandidate   Reason = "CandidateForUpdate"
	ReasonUpdateSelected    Reason = "SelectedForUpdate"
	ReasonUpdateDraining    Reason = "DrainingForUpdate"
	ReasonUpdateDrained     Reason = "DrainedForUpdate"
	ReasonUpdateReady       Reason = "ReadyForUpdate"
	ReasonUpdating          Reason = "Updating"
	ReasonUpdated           Reason = "Updated"
	ReasonUpdateFailed      Reason = "UpdateFailed"
	ReasonUpdateTimeout     Reason = "UpdateTimeout"
	ReasonUpdateWithdrawn   Reason = "UpdateWithdrawn"
	ReasonReconnected       Reason = "SightRegained"
	ReasonMoved             Reason = "Moved"
	ReasonReleased          Reason = "Released"
	ReasonDeleting          Reason = "Deleting"
	ReasonDrainBlockedHook  Reason = "PreDrainHookPresent"
	ReasonDisruptionBudget  Reason = "MachineDisruptionBudget"
	ReasonDraining          Reason = "Draining"
	ReasonTerminateHook     Reason = "PreTerminateHookPresent"
	ReasonTerminating       Reason = "Terminating"
	ReasonTerminateFailed   Reason = "TerminateFailed"
	ReasonInstanceGone      Reason = "InstanceGone"
	ReasonNothingLeft       Reason = "NothingLeft"
	ReasonAbandoned         Reason = "Abandoned"
	ReasonDeletionNeedsHelp Reason = "InstanceUnreachable"
)

// Decision is a step, its reason, and when to decide again.
type Decision struct {
	Step    Step
	Reason  Reason
	Message string
	// After is the time until the next decision if nothing changes; zero: never.
	After time.Duration
	// Stage is the machine's stage by this decision.
	Stage Stage
	// Overdue says that the wait has taken longer than expected.
	Overdue bool
	// Force makes the Drain step force the drain.
	Force bool
	// Mark is the mark that the MarkUpdate step writes; Uncordon makes it uncordon the node.
	Mark     inplace.Mark
	Uncordon bool
	// Preserve is the plan for the preservation of the machine, once all else is decided.
	Preserve PreservePlan
	// Args are the facts in the message, for an API that has its own text for the reason.
	Args Args
	// Err is the failure behind the reason, if one is.
	Err error
}

// Args are the facts of a message, as they were when the decision was made.
type Args struct {
	// Conditions are those of a node that is not healthy, in one line.
	Conditions string
	// Timeout is the timeout that has passed.
	Timeout time.Duration
	// Missing says that the infrastructure does not list the instance.
	Missing bool
	// Detail is more about it; may be empty.
	Detail string
}

// Waits reports whether the decision needs a fact that is not known yet, so that another decision now would
// only repeat it.
func (d Decision) Waits() bool { return d.Step == Settled || d.Step == Await }

// Question is a fact that a decision needs before it is carried out, and that is looked up only then, because
// the lookup is expensive or reserves something.
type Question string

// The questions. Each is answered once in a pass.
const (
	// AskNode: the current node, read past the cache.
	QuestionNode Question = "Node"
	// AskGroup: whether the machine's group allows it to fail, which is World.MayFail.
	QuestionGroup Question = "Group"
	// QuestionDisruption: whether the disruption budgets permit it, which is World.Disruption.
	QuestionDisruption Question = "Disruption"
	// QuestionSuccessor: whether the machine in Machine.MovedTo has the instance, which is World.Successor.
	QuestionSuccessor Question = "Successor"
)

// Needs returns the question that has to be answered before the decision about m is carried out; empty: none.
// A machine fails, or its pods are forcibly deleted, because of its node's state only if that state is
// certain.
func (d Decision) Needs(m Machine) Question {
	switch {
	case d.Step == Drain && d.Force && !m.Deletion.Force:
		return QuestionNode
	case d.Step == Fail && unheard[d.Reason]:
		return QuestionNode
	case d.Reason == ReasonFailureWithheld:
		return QuestionGroup
	case d.Reason == ReasonDisruptionBudget:
		return QuestionDisruption
	case d.Reason == ReasonMoved && !m.Deleted.IsZero():
		return QuestionSuccessor
	}
	return ""
}

// unheard are the reasons to fail that depend on a node's silence.
var unheard = map[Reason]bool{ReasonJoinTimeout: true, ReasonHealthTimeout: true, ReasonMissing: true, ReasonGivenUp: true}

// input has all facts for the checks.
type input struct {
	now time.Time
	m   Machine
	w   World
	p   Policy
}

// check checks one thing. It objects by returning a decision.
type check func(input) *Decision

// Decide chooses the next step. It has an answer for every combination of facts. If the machine's life waits,
// or ends, its bootstrap token and its preservation follow: the last decision of a pass is about its life
// again.
func Decide(now time.Time, m Machine, w World, p Policy) Decision {
	d := DecideLife(now, m, w, p)
	if !d.Waits() || d.Reason == ReasonMoved {
		return d
	}
	q := input{now: now, m: m, w: w, p: p}
	switch {
	case upkeep(q, d):
		d.Step = Maintain
		return d
	case servedToken(q, d):
		d.Step = DropToken
		return d
	}
	d.After = Earlier(d.After, w.Token.Again)
	if w.Upkeep.Err != nil {
		d.After = Earlier(d.After, w.Upkeep.again(now))
	}
	return preserving(q, d)
}

// DecideLife chooses the next step of the machine's life, without its bootstrap token and its preservation.
// Forecasts use it.
func DecideLife(now time.Time, m Machine, w World, p Policy) Decision {
	if w.Final != nil {
		d := *w.Final
		d.Step = Settled
		return d.waiting()
	}
	q := input{now: now, m: m, w: w, p: p}
	if !m.Deleted.IsZero() {
		return q.first(removal, Decision{Step: RemoveFinalizer, Reason: ReasonNothingLeft, Stage: StageDeleting})
	}
	d := q.first(life, q.running())
	for _, after := range []time.Duration{q.rebootAgain(), q.lookAgain(), q.duplicatesAgain(), identifyAgain(q)} {
		d.After = Earlier(d.After, after)
	}
	return d.waiting()
}

// waiting returns d, with the step Await instead of Settled if another decision is due.
func (d Decision) waiting() Decision {
	if d.Step == Settled && d.After > 0 {
		d.Step = Await
	}
	return d
}

// running returns the decision about a machine without any objection.
func (q input) running() Decision {
	d := Decision{Step: Settled, Reason: ReasonRunning, Stage: StageRunning}
	if text := q.w.Contradiction(q.m); text != "" {
		d.Step, d.Reason, d.Message, d.After = Await, ReasonContradicted, text, q.p.Delays.unmended()
	}
	return q.onItsWay(d)
}

// onItsWay returns d with another request to the infrastructure if the instance is pending or stopping: no
// event reports the end of that.
func (q input) onItsWay(d Decision) Decision {
	i := q.w.Instances.Of(q.m.Recorded.ProviderID)
	if i != nil && (i.State == provider.Pending || i.State == provider.Stopping) {
		d.Step, d.After = Await, Poll(q.now.Sub(i.Created))
	}
	return d
}

// left returns how long a timer that began at since still has to run. Only watched time counts.
func (q input) left(since time.Time, timeout time.Duration) time.Duration {
	return q.w.Connectivity.Remaining(since, timeout, q.now)
}

func (q input) first(checks []check, otherwise Decision) Decision {
	for _, c := range checks {
		if d := c(q); d != nil {
			if d.Stage == StageNew {
				d.Stage = q.m.Stage
			}
			return *d
		}
	}
	return otherwise
}

// Outcome is the result of a pass over a machine, to be stored in the API object.
type Outcome struct {
	// Decision is the last one: the one that ended the pass, or the current one.
	Decision
	// Steps are those performed before it, in order.
	Steps []Decision
	// World has the observed facts, including the effects of Steps.
	World World
	At    time.Time
}

// Did reports whether the pass performed step.
func (o Outcome) Did(step Step) bool {
	for _, d := range o.Steps {
		if d.Step == step {
			return true
		}
	}
	return false
}

// Overruled returns the error of the target cluster despite which the pass removed the instance; nil if it
// did not.
func (o Outcome) Overruled() error {
	switch {
	case !o.Did(Terminate):
		return nil
	case o.World.Drain.Err != nil:
		return o.World.Drain.Err
	case !o.World.Node.Looked && !o.Did(DeleteNode):
		return o.World.Node.Err
	}
	return nil
}
