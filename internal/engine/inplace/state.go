package inplace

// State is the state of an update.
type State string

// The states, and the actor that continues the update from each.
const (
	// Idle: no request. The deployment controller may write one.
	Idle State = "Idle"
	// Unasked: the node agent answered a withdrawn request. The deployment controller removes the answer,
	// which otherwise would count for the next request.
	Unasked State = "Unasked"
	// Candidate: the node waits for its turn. The deployment controller, or a person, selects it.
	Candidate State = "Candidate"
	// Selected: its turn has come. The machine controller marks it.
	Selected State = "Selected"
	// Draining: the machine controller drains the node.
	Draining State = "Draining"
	// Updating: the node agent works, or may work. It answers, or the machine controller stops waiting.
	Updating State = "Updating"
	// Answered: it is done. The machine controller has yet to record that.
	Answered State = "Answered"
	// Done: the deployment controller hands the machine over and releases its node.
	Done State = "Done"
	// Failed: the update failed. A person removes the answer for another try, or the machine is replaced.
	Failed State = "Failed"
)

// Underway reports whether an update was requested and has not ended.
func (s State) Underway() bool {
	switch s {
	case Selected, Draining, Updating, Answered:
		return true
	}
	return false
}

// State returns the state of the update. A removed request begins a new attempt; an answer that comes
// afterwards does not count for it.
func (u Update) State() State {
	late := !u.Request.Selected() && (!u.Request.Candidate() || !u.Phase.waits())
	switch {
	case late && u.Answer.Known():
		return Unasked
	case u.Answer == AnswerFailed:
		return Failed
	case u.Answer == AnswerDone && u.Mark == MarkUpdated && u.Phase != PhaseUpdating:
		return Done
	case u.Answer == AnswerDone:
		return Answered
	case late && u.Answer == AnswerUnknown:
		return Idle
	}
	return u.unanswered()
}

// unanswered returns the state of an update without an answer.
func (u Update) unanswered() State {
	updating := u.Phase == PhaseUpdating
	switch {
	case u.Request == RequestNone && !updating:
		return Idle
	case u.Mark == MarkFailed, u.Mark.drained() && u.Phase == PhaseFailed:
		// The machine controller has stopped waiting. Before the node is drained, the phase is from an
		// earlier attempt.
		return Failed
	case !u.Request.Selected() && !updating:
		return Candidate
	case u.Mark.drained(), u.Mark == MarkSelected && updating:
		return Updating
	case u.Mark == MarkSelected:
		return Draining
	}
	return Selected
}

// Open reports whether the update of the node is incomplete: it failed, or was begun and has no answer. Such
// a node may look healthy, and is not fit for work.
func (n Node) Open() bool {
	return n.Request.Candidate() && n.Answer == AnswerFailed || n.Request == RequestSelected && n.Answer != AnswerDone && n.Mark.drained()
}
