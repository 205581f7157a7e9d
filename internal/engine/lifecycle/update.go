package lifecycle

import (
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// phases are the phases of an update in place by stage.
var phases = map[Stage]inplace.Phase{
	StageRunning: inplace.PhaseRunning, StageUpdating: inplace.PhaseUpdating, StageUpdated: inplace.PhaseUpdated, StageUpdateFailed: inplace.PhaseFailed,
}

// InPlace returns the phase of an update in place for a machine in the stage.
func (s Stage) InPlace() inplace.Phase { return phases[s] }

// updates reports whether updates in place apply.
func (q input) updates() bool { return q.p.Update.InPlace && q.w.Node.Object != nil }

// update has the facts of the node and the machine.
func (q input) update() inplace.Update {
	return inplace.Update{Node: q.w.Node.Update, Phase: q.m.Stage.InPlace()}
}

// updateOpen reports whether the node's update is incomplete, so that the node is not fit for work.
func (q input) updateOpen() bool { return q.updates() && q.w.Node.Update.Open() }

// markDue brings the mark on the node in step with request, progress and answer. Each step of an update is
// stored before the next is taken.
func markDue(q input) *Decision {
	if !q.updates() {
		return nil
	}
	u := q.update()
	due := u.Due(q.w.Drain.Result != nil && q.w.Drain.Result.Done)
	if due == u.Mark {
		return nil
	}
	if due == inplace.MarkSelected && !permitted(q) {
		return askPermit(q) // the timeout of the drain counts from this mark
	}
	d := &Decision{Step: MarkUpdate, Reason: noted[due], Mark: due}
	switch due {
	case inplace.MarkDrained, inplace.MarkReady:
		// A node that is about to be restarted is not unhealthy.
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

// updateAnswered handles machines whose agent has answered.
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

// updateDrain drains the node. Meanwhile the machine does its work, and its health matters as always.
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
	return unlessUnwell(q, d)
}

// unlessUnwell returns d, a wait of a machine that does its work, or the decision about its health.
func unlessUnwell(q input, d *Decision) *Decision {
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

// updateForce reports whether the timeout of the drain has passed.
func (q input) updateForce() bool {
	since := q.w.Node.Update.Since
	overdue := q.p.Drain.Timeout > 0 && !since.IsZero() && q.left(since, q.p.Drain.Timeout) < 0
	return q.m.ForceDrain || overdue || q.helpless()
}

// updateDrainAfter returns when to decide again: when the drain requests it, or when its timeout passes.
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

// Earlier returns the shorter of two waits; zero is no wait.
func Earlier(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// updateUnderway waits for the agent until the timeout. A node that is silent meanwhile is being restarted.
func updateUnderway(q input) *Decision {
	if !q.updates() || q.update().State() != inplace.Updating {
		return nil
	}
	since := q.m.StageSince
	if q.m.Stage != StageUpdating {
		since = q.now // another program got so far, or the record was lost
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

// updateMissed gives a failed update the same time as an unhealthy node, to be fixed or requested again. Then
// the machine fails.
func updateMissed(q input) *Decision {
	if q.m.Stage != StageUpdateFailed || !q.updateOpen() {
		return nil
	}
	d := q.losing(StageUpdateFailed)
	switch detail := q.w.Node.Update.Detail; {
	case d.Reason == ReasonNodeUnhealthy:
		d.Reason, d.Message = ReasonUpdateFailed, "the update in place failed; it is tried again when its requests and its answer are removed from the node"
	case d.Step == Fail && detail != "":
		d.Message += ". Its update in place failed: " + detail
		d.Args.Detail = detail
	}
	return d
}

// updateSettles gives a node that was just updated the same time to recover as an unhealthy one.
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
