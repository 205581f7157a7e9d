package lifecycle

import (
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// phases are what stages say about an update in place.
var phases = map[Stage]inplace.Phase{
	StageRunning: inplace.PhaseRunning, StageUpdating: inplace.PhaseUpdating, StageUpdated: inplace.PhaseUpdated, StageUpdateFailed: inplace.PhaseFailed,
}

// InPlace is what a machine in the stage says about an update in place.
func (s Stage) InPlace() inplace.Phase { return phases[s] }

// updates reports whether there is anything to ask about updates.
func (q input) updates() bool { return q.p.Update.InPlace && q.w.Node.Object != nil }

// update is what the node and the machine say.
func (q input) update() inplace.Update {
	return inplace.Update{Node: q.w.Node.Update, Phase: q.m.Stage.InPlace()}
}

// updateOpen reports whether the node is half way, and so not fit for work.
func (q input) updateOpen() bool { return q.updates() && q.w.Node.Update.Open() }

// markDue brings the mark on the node in step with what was asked, done and
// answered. Each step of an update is written before the next is taken.
func markDue(q input) *Decision {
	if !q.updates() {
		return nil
	}
	u := q.update()
	due := u.Due(q.w.Drain.Result != nil && q.w.Drain.Result.Done)
	if due == u.Mark {
		return nil
	}
	d := &Decision{Step: MarkUpdate, Reason: noted[due], Mark: due}
	switch due {
	case inplace.MarkDrained, inplace.MarkReady:
		// A node that is about to be restarted is no sick node.
		d.Stage = StageUpdating
	case inplace.MarkNone, inplace.MarkCandidate:
		d.Uncordon = u.Uncordons()
		if q.m.Stage == StageUpdating {
			d.Stage = StageRunning
		}
	}
	return d
}

// noted are the reasons for the marks.
var noted = map[inplace.Mark]Reason{
	inplace.MarkNone: ReasonUpdateWithdrawn, inplace.MarkCandidate: ReasonUpdateCandidate, inplace.MarkSelected: ReasonUpdateSelected,
	inplace.MarkDrained: ReasonUpdateDrained, inplace.MarkReady: ReasonUpdateReady, inplace.MarkUpdated: ReasonUpdated, inplace.MarkFailed: ReasonUpdateFailed,
}

// updateAnswered is about machines whose agent has answered.
func updateAnswered(q input) *Decision {
	if !q.updates() {
		return nil
	}
	switch q.update().Heard() {
	case inplace.AnswerDone:
		return &Decision{
			Step: Await, Reason: ReasonUpdated, Stage: StageUpdated, After: FirstDelay,
			Message: fmt.Sprintf("Machine %s was updated in place", q.m.Name),
		}
	case inplace.AnswerFailed:
		message := fmt.Sprintf("Machine %s could not be updated in place", q.m.Name)
		if detail := q.w.Node.Update.Detail; detail != "" {
			message += ": " + detail
		}
		return &Decision{Step: Await, Reason: ReasonUpdateFailed, Stage: StageUpdateFailed, After: q.p.Health.Timeout, Message: message}
	}
	return nil
}

// updateDrain moves the workloads away. Meanwhile the machine does its work,
// and its health matters as ever.
func updateDrain(q input) *Decision {
	if !q.updates() || q.update().State() != inplace.Draining {
		return nil
	}
	if q.w.Drain.Result == nil {
		return &Decision{Step: Drain, Reason: ReasonUpdateSelected, Force: q.updateForce()}
	}
	d := &Decision{
		Step: Await, Reason: ReasonUpdateDraining, Stage: StageRunning,
		Message: q.w.Drain.Result.Message, After: q.updateDrainAfter(),
	}
	for _, ill := range []check{notYetHealthy, unhealthy} {
		h := ill(q)
		if h != nil && h.Waits() {
			h.After = Earlier(h.After, d.After)
		}
		if h != nil {
			return h
		}
	}
	return d
}

// updateForce reports whether patience with the pods is at its end.
func (q input) updateForce() bool {
	since := q.w.Node.Update.Since
	overdue := q.p.Drain.Timeout > 0 && !since.IsZero() && q.left(since, q.p.Drain.Timeout) < 0
	return q.m.ForceDrain || overdue || q.helpless()
}

// updateDrainAfter looks again when the drain asks for it, and when patience
// ends.
func (q input) updateDrainAfter() time.Duration {
	after, since := q.w.Drain.Result.Next, q.w.Node.Update.Since
	if q.p.Drain.Timeout == 0 || since.IsZero() {
		return after
	}
	if left := q.left(since, q.p.Drain.Timeout); left > 0 {
		after = Earlier(after, left+time.Second)
	}
	return after
}

// Earlier of two waits, of which zero is none.
func Earlier(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// updateUnderway waits for the agent, for so long. A node that is silent
// meanwhile is being restarted.
func updateUnderway(q input) *Decision {
	if !q.updates() || q.update().State() != inplace.Updating {
		return nil
	}
	since := q.m.StageSince
	if q.m.Stage != StageUpdating {
		since = q.now // another program got so far, or our own word of it was lost
	}
	left := q.left(since, q.p.Update.Timeout)
	if q.p.Update.Timeout > 0 && left <= 0 {
		return &Decision{
			Step: Await, Reason: ReasonUpdateTimeout, Stage: StageUpdateFailed, After: q.p.Health.Timeout,
			Message: fmt.Sprintf("Machine %s was not updated in place in %v minutes", q.m.Name, q.p.Update.Timeout.Minutes()),
		}
	}
	return &Decision{
		Step: Await, Reason: ReasonUpdating, Stage: StageUpdating, After: connectivity.Again(left),
		Message: fmt.Sprintf("Machine %s is undergoing an in-place update", q.m.Name),
	}
}

// updateMissed gives a failed update the same time as a sick node, to be mended
// or asked for again. Then the machine is given up.
func updateMissed(q input) *Decision {
	if q.m.Stage != StageUpdateFailed || !q.updateOpen() {
		return nil
	}
	d := q.losing(StageUpdateFailed)
	switch detail := q.w.Node.Update.Detail; {
	case d.Reason == ReasonNodeUnhealthy:
		d.Reason, d.Message = ReasonUpdateFailed, "the update in place failed; it is tried again when its requests and its answer are taken off the node"
	case d.Step == Fail && detail != "":
		d.Message += ". Its update in place failed: " + detail
		d.Args.Detail = detail
	}
	return d
}

// updateSettles lets a node that was just updated come back, for as long as a
// sick one.
func updateSettles(q input) *Decision {
	left := q.left(q.m.StageSince, q.p.Health.Timeout)
	if !q.updates() || q.m.Stage != StageUpdated || left <= 0 || Healthy(q.w.Node.Object, q.p) {
		return nil
	}
	return &Decision{
		Step: Await, Reason: ReasonUpdated, Stage: StageUpdated, After: connectivity.Again(left),
		Message: "the node was updated in place and does not count as healthy yet: " + Ailment(q.w.Node.Object, q.p),
	}
}
