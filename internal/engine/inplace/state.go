package inplace

// State is where an update stands.
type State string

// The states, and who takes an update on from each.
const (
	// Idle: nothing is asked. The deployment controller may ask.
	Idle State = "Idle"
	// Unasked: the node agent answered a request that was taken back. The deployment controller takes the answer away, or it would pass
	// for that to the next request.
	Unasked State = "Unasked"
	// Candidate: the node waits for its turn. The deployment controller, or a person, selects it.
	Candidate State = "Candidate"
	// Selected: it is its turn. The machine controller marks it.
	Selected State = "Selected"
	// Draining: the machine controller moves the workloads away.
	Draining State = "Draining"
	// Updating: the node agent is, or may be, at work. It answers, or the machine controller loses its patience.
	Updating State = "Updating"
	// Answered: it is done. The machine controller has yet to say so.
	Answered State = "Answered"
	// Done: the deployment controller hands the machine over and releases its node.
	Done State = "Done"
	// Failed: the update was not done. A person takes the answer away for another try, or the machine is replaced.
	Failed State = "Failed"
)

// Underway reports whether an update was asked for and has not ended.
func (s State) Underway() bool {
	switch s {
	case Selected, Draining, Updating, Answered:
		return true
	}
	return false
}

// State is where the update stands. Requests that were taken away begin a new attempt, to which an answer that comes afterwards is none.
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

// unanswered is where an update without an answer stands.
func (u Update) unanswered() State {
	updating := u.Phase == PhaseUpdating
	switch {
	case u.Request == RequestNone && !updating:
		return Idle
	case u.Mark == MarkFailed, u.Mark.drained() && u.Phase == PhaseFailed:
		// The machine controller has lost its patience. Before the node is drained the phase is left from another attempt.
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

// Open reports whether the node is half way: its update failed, or was begun and has no answer. Such a node may look healthy, and is
// not fit for work.
func (n Node) Open() bool {
	return n.Request.Candidate() && n.Answer == AnswerFailed || n.Request == RequestSelected && n.Answer != AnswerDone && n.Mark.drained()
}
