package lifecycle

import (
	"time"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/provider"
)

// Step is one thing to do.
type Step string

// The steps. The set is closed: the shell has a handler for each.
const (
	// Settled: nothing to do until something changes.
	Settled Step = "Settled"
	// Await: nothing to do until Decision.After, or until something changes.
	Await Step = "Await"
	// AddFinalizer: put the finalizer in place, and store [Session].Origin, [Session].Inherited and what is asked for.
	AddFinalizer Step = "AddFinalizer"
	// RecordAsk: choose what is asked for next, and store that.
	RecordAsk Step = "RecordAsk"
	// RecordInstance: store which of several instances is the machine's.
	RecordInstance Step = "RecordInstance"
	// Create: ask for an instance, as the open one of [Recorded].Asks says.
	Create Step = "Create"
	// Initialize: do what an instance needs once it was created.
	Initialize Step = "Initialize"
	// Reboot: restart the instance, once for the request.
	Reboot Step = "Reboot"
	// SyncNode: bring the node's metadata in step.
	SyncNode Step = "SyncNode"
	// MarkUpdate: write on the node how far its update is, which is Decision.Mark.
	// Where Decision.Stage is another than the machine's, the machine says so
	// first.
	MarkUpdate Step = "MarkUpdate"
	// Fail: give up on the machine.
	Fail Step = "Fail"
	// Replace: delete the machine object; its owner makes another.
	Replace Step = "Replace"
	// Drain: cordon the node and move workloads away, as far as is allowed
	// now.
	Drain Step = "Drain"
	// Terminate: remove the instance and all that was made for it.
	Terminate Step = "Terminate"
	// DeleteNode: delete the node.
	DeleteNode Step = "DeleteNode"
	// RemoveFinalizer: let the API object go.
	RemoveFinalizer Step = "RemoveFinalizer"

	// What follows comes after all that there is to do about the machine's life, whose
	// decision it carries.

	// Maintain: keep what belongs to the instance as the class says.
	Maintain Step = "Maintain"
	// DropToken: take the machine's bootstrap token away.
	DropToken Step = "DropToken"
	// StorePreservation: the object says that the machine is preserved, before anything is
	// done to its node, lest that be taken for somebody else's.
	StorePreservation Step = "StorePreservation"
	// WarnOfDrain: the node says that it is not drained, before anything makes it look so.
	WarnOfDrain Step = "WarnOfDrain"
	// MarkPreserved: the node's annotations and taints are as Decision.Preserve wants them.
	MarkPreserved Step = "MarkPreserved"
	// DrainPreserved: the node's pods are moved away, as [PreservedNode].Drain says.
	DrainPreserved Step = "DrainPreserved"
	// TellPreserved: the node says how far its preservation is.
	TellPreserved Step = "TellPreserved"
)

// Reason is a stable CamelCase word for why a step was chosen. It stands in
// conditions, events, logs and the CLI.
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
	ReasonReleased          Reason = "Released"
	ReasonDeleting          Reason = "Deleting"
	ReasonDrainBlockedHook  Reason = "PreDrainHookPresent"
	ReasonDraining          Reason = "Draining"
	ReasonTerminateHook     Reason = "PreTerminateHookPresent"
	ReasonTerminating       Reason = "Terminating"
	ReasonTerminateFailed   Reason = "TerminateFailed"
	ReasonInstanceGone      Reason = "InstanceGone"
	ReasonNothingLeft       Reason = "NothingLeft"
	ReasonAbandoned         Reason = "Abandoned"
	ReasonDeletionNeedsHelp Reason = "InstanceUnreachable"
)

// Decision is a step, why it was chosen, and when to ask again.
type Decision struct {
	Step    Step
	Reason  Reason
	Message string
	// After is when to ask again even if nothing changes; zero: never.
	After time.Duration
	// Stage is where the machine stands by this decision.
	Stage Stage
	// Overdue says that what is waited for has taken longer than anybody expects
	// of it.
	Overdue bool
	// Force tells the Drain step to have no patience.
	Force bool
	// Mark is what the MarkUpdate step writes; Uncordon tells it to let pods onto the
	// node again.
	Mark     inplace.Mark
	Uncordon bool
	// Preserve is what becomes of keeping the machine, once all else is decided.
	Preserve PreservePlan
	// Args are what the message is made of, for an API that has words of its own for the reason.
	Args Args
	// Err is the failure behind the reason, if one is.
	Err error
}

// Args are the facts of a message, as they were when the decision was made.
type Args struct {
	// Conditions are those of a node that is not healthy, in one line.
	Conditions string
	// Timeout is what ran out.
	Timeout time.Duration
	// Missing says that the infrastructure does not list the instance.
	Missing bool
	// Detail is what else is known about it; empty when nothing is.
	Detail string
}

// Waits reports whether the decision needs something that is not known yet,
// so that going on now would only repeat it.
func (d Decision) Waits() bool { return d.Step == Settled || d.Step == Await }

// Question is what a decision needs to know before it is carried out, and what is
// looked up only then: it costs much, or binds somebody.
type Question string

// The questions. Each is answered once in a pass.
const (
	// AskNode: what the node is like now, whatever the cache says.
	AskNode Question = "Node"
	// AskGroup: whether the machine's group lets it fail, which is World.MayFail.
	AskGroup Question = "Group"
)

// Asks returns what has to be known before the decision about m stands; empty:
// nothing. A machine is given up, or its pods are forced off, for what its node does
// not do or say only where that is sure.
func (d Decision) Asks(m Machine) Question {
	switch {
	case d.Step == Drain && d.Force && !m.Deletion.Force:
		return AskNode
	case d.Step == Fail && unheard[d.Reason]:
		return AskNode
	case d.Reason == ReasonFailureWithheld:
		return AskGroup
	}
	return ""
}

// unheard are the reasons to fail that rest on a node's silence.
var unheard = map[Reason]bool{ReasonJoinTimeout: true, ReasonHealthTimeout: true, ReasonMissing: true, ReasonGivenUp: true}

// input is all that a check may look at.
type input struct {
	now time.Time
	m   Machine
	w   World
	p   Policy
}

// check looks at one thing. It objects by returning a decision.
type check func(input) *Decision

// Decide chooses the next step. It is total: every combination of facts has
// an answer. Where the machine's life waits, or ends, its bootstrap token and its
// preservation have their turn: the last decision of a pass is about its life again.
func Decide(now time.Time, m Machine, w World, p Policy) Decision {
	d := DecideLife(now, m, w, p)
	if !d.Waits() {
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

// DecideLife chooses the next step of the machine's life, without what a pass does for its
// bootstrap token and its preservation. It is for those who foretell a life.
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

// waiting is d, which is not settled as long as it is to be asked again.
func (d Decision) waiting() Decision {
	if d.Step == Settled && d.After > 0 {
		d.Step = Await
	}
	return d
}

// running is the life of a machine to which nothing objects.
func (q input) running() Decision {
	d := Decision{Step: Settled, Reason: ReasonRunning, Stage: StageRunning}
	if text := q.w.Contradiction(q.m); text != "" {
		d.Step, d.Reason, d.Message, d.After = Await, ReasonContradicted, text, q.p.Delays.unmended()
	}
	return q.onItsWay(d)
}

// onItsWay is d, and the infrastructure is asked again where it called the instance
// pending, or stopping: nothing else tells what becomes of that.
func (q input) onItsWay(d Decision) Decision {
	i := q.w.Instances.Of(q.m.Recorded.ProviderID)
	if i != nil && (i.State == provider.Pending || i.State == provider.Stopping) {
		d.Step, d.After = Await, Poll(q.now.Sub(i.Created))
	}
	return d
}

// left is how long a timer has still to run that began at since. It counts only
// the time in which we have seen.
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

// Outcome is what came of a pass over a machine, for the API object to
// remember.
type Outcome struct {
	// Decision is the last one: the one that ended the pass, or that it is in the middle of.
	Decision
	// Steps are those performed before it, in order.
	Steps []Decision
	// World is what was seen, the effects of Steps included.
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

// Overruled is what the cluster that machines join answered where the pass went
// on to remove the instance all the same; nil where it did not.
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
