package lifecycle

import (
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

// Update is what a node says about giving it new software while its instance
// stays. People and other controllers ask for it, the node's own agent carries
// it out and answers; in between the machine's controller moves the workloads
// away and says, by a mark on the node, when the agent may begin.
type Update struct {
	// Candidate and Selected are the requests: the node may be updated at all,
	// and it is its turn.
	Candidate, Selected bool
	// Answer is the agent's, Detail what it says about a failure.
	Answer Answer
	Detail string
	// Mark is how far the node says that the update is, since Since (zero when
	// that is not known).
	Mark  Mark
	Since time.Time
}

// Answer is what the node's agent says of an update.
type Answer string

// The answers.
const (
	AnswerNone   Answer = ""
	AnswerDone   Answer = "Done"
	AnswerFailed Answer = "Failed"
)

// Mark is how far an update is, as its node says. Each API group has its own
// words for it.
type Mark string

// The marks, in the order in which an update goes through them.
const (
	MarkNone      Mark = ""
	MarkCandidate Mark = "Candidate" // waits for its turn
	MarkSelected  Mark = "Selected"  // workloads are being moved away
	MarkDrained   Mark = "Drained"   // none are left
	MarkReady     Mark = "Ready"     // the agent may begin
	MarkUpdated   Mark = "Updated"
	MarkFailed    Mark = "Failed"
)

// begun reports whether the node was drained for the update and its agent may
// be at work.
func (m Mark) begun() bool { return m == MarkDrained || m == MarkReady }

// updates reports whether there is anything to ask about updates.
func (q input) updates() bool { return q.p.Update.InPlace && q.w.Node.Object != nil }

// updateOpen reports whether the node is half way: its update failed, or was
// begun and has no answer. Such a node may look healthy, and is not fit for
// work.
func (q input) updateOpen() bool {
	u := q.w.Node.Update
	if !q.updates() || !u.Candidate {
		return false
	}
	return u.Answer == AnswerFailed || u.Answer == AnswerNone && u.Selected && u.Mark.begun()
}

// markDue brings the mark on the node in step with what was asked, done and
// answered. Each step of an update is written before the next is taken.
func markDue(q input) *Decision {
	if !q.updates() {
		return nil
	}
	u, due := q.w.Node.Update, q.mark()
	if due == u.Mark {
		return nil
	}
	d := &Decision{Step: MarkUpdate, Reason: noted[due], Mark: due}
	switch due {
	case MarkDrained, MarkReady:
		// A node that is about to be restarted is no sick node.
		d.Stage = StageUpdating
	case MarkNone, MarkCandidate:
		d.Uncordon = !u.Selected && (u.Mark == MarkSelected || u.Mark.begun() || u.Mark == MarkFailed)
		if q.m.Stage == StageUpdating {
			d.Stage = StageRunning
		}
	}
	return d
}

// noted are the reasons for the marks.
var noted = map[Mark]Reason{
	MarkNone: ReasonUpdateWithdrawn, MarkCandidate: ReasonUpdateCandidate, MarkSelected: ReasonUpdateSelected,
	MarkDrained: ReasonUpdateDrained, MarkReady: ReasonUpdateReady, MarkUpdated: ReasonUpdated, MarkFailed: ReasonUpdateFailed,
}

// mark is what the node should say now.
func (q input) mark() Mark {
	u := q.w.Node.Update
	switch {
	case !u.Candidate:
		return q.markOfNoCandidate()
	case u.Answer == AnswerDone:
		return MarkUpdated
	case u.Answer == AnswerFailed:
		return MarkFailed
	}
	updating := q.m.Stage == StageUpdating
	switch u.Mark {
	case MarkNone, MarkUpdated, MarkFailed: // asked for the first time, or once more
		return MarkCandidate
	case MarkCandidate:
		if u.Selected {
			return MarkSelected
		}
	case MarkSelected:
		switch {
		case updating, u.Selected && q.w.Drain.Result != nil && q.w.Drain.Result.Done:
			return MarkDrained
		case !u.Selected:
			return MarkCandidate
		}
	default:
		// What the agent may have begun is not called off before it failed.
		if !u.Selected && !updating {
			return MarkCandidate
		}
		return MarkReady
	}
	return u.Mark
}

// markOfNoCandidate: nobody asks. What was asked before is taken back, lest
// the agent begins on a node that nobody drained for it; what the agent may
// have begun has to end first, and what was done stays said.
func (q input) markOfNoCandidate() Mark {
	m := q.w.Node.Update.Mark
	if m == MarkUpdated || q.m.Stage == StageUpdating && (m == MarkSelected || m.begun()) {
		return m
	}
	return MarkNone
}

// updateAnswered is about machines whose agent was waited for. One that
// answers after its time is heard all the same, and so is a failure where our own word
// that it was waited for was lost.
func updateAnswered(q input) *Decision {
	if !q.updates() {
		return nil
	}
	switch u, s := q.w.Node.Update, q.m.Stage; {
	case u.Answer == AnswerDone && (s == StageUpdating || s == StageUpdateFailed):
		return &Decision{
			Step: Await, Reason: ReasonUpdated, Stage: StageUpdated, After: FirstDelay,
			Message: fmt.Sprintf("Machine %s was updated in place", q.m.Name),
		}
	case u.Answer == AnswerFailed && (s == StageUpdating || s == StageRunning && u.Candidate && u.Selected):
		message := fmt.Sprintf("Machine %s could not be updated in place", q.m.Name)
		if u.Detail != "" {
			message += ": " + u.Detail
		}
		return &Decision{Step: Await, Reason: ReasonUpdateFailed, Stage: StageUpdateFailed, After: q.p.Health.Timeout, Message: message}
	}
	return nil
}

// updateDrain moves the workloads away. Meanwhile the machine does its work,
// and its health matters as ever.
func updateDrain(q input) *Decision {
	if !q.updates() || q.w.Node.Update.Mark != MarkSelected || !q.w.Node.Update.Candidate {
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
	if !q.updates() {
		return nil
	}
	u, since := q.w.Node.Update, q.m.StageSince
	switch {
	case q.m.Stage == StageUpdating && (u.Mark == MarkSelected || u.Mark.begun()):
	case q.m.Stage != StageUpdateFailed && u.Candidate && u.Selected && u.Mark.begun():
		since = q.now // another program got so far, or our own word of it was lost
	default:
		return nil
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
