package inplace

// asking is the request as the machine controller sees it when it writes the mark.
type asking int

const (
	unrequested asking = iota // no request, or half of one
	cancelled                 // cancelled, and the node agent may be working
	waiting                   // the node is a candidate
	itsTurn                   // it is selected
	vacated                   // its workloads have been moved
	reoffered                 // they have been moved, and it is a candidate again
	done                      // the node agent has answered
	failed
)

// marks are the marks that the machine controller writes, by the request and by the present mark: a present
// mark that is not listed becomes the first mark. Each mark is stored before the next is computed.
var marks = map[asking]struct {
	otherwise Mark
	next      map[Mark]Mark
}{
	// The request is withdrawn, so that the node agent does not begin on a node that is not drained. A
	// finished update stays recorded.
	unrequested: {MarkNone, map[Mark]Mark{MarkUpdated: MarkUpdated}},
	// An update that the node agent may have begun has to end first.
	cancelled: {MarkNone, map[Mark]Mark{MarkSelected: MarkSelected, MarkDrained: MarkDrained, MarkReady: MarkReady, MarkUpdated: MarkUpdated}},
	waiting:   {MarkCandidate, nil},
	// A node that was updated, or whose update failed, is requested again, and waits for its turn like any other.
	itsTurn: {MarkCandidate, map[Mark]Mark{MarkCandidate: MarkSelected, MarkSelected: MarkSelected, MarkDrained: MarkReady, MarkReady: MarkReady}},
	vacated: {MarkCandidate, map[Mark]Mark{MarkCandidate: MarkSelected, MarkSelected: MarkDrained, MarkDrained: MarkReady, MarkReady: MarkReady}},
	// It is not cancelled before it has failed.
	reoffered: {MarkCandidate, map[Mark]Mark{MarkSelected: MarkDrained, MarkDrained: MarkReady, MarkReady: MarkReady}},
	done:      {MarkUpdated, nil},
	failed:    {MarkFailed, nil},
}

// Due returns the mark that the machine controller has to write, given whether the node is drained; the
// present mark if there is nothing to write.
func (u Update) Due(drained bool) Mark {
	row := marks[u.asking(drained)]
	if next, listed := row.next[u.Mark]; listed {
		return next
	}
	return row.otherwise
}

func (u Update) asking(drained bool) asking {
	updating := u.Phase == PhaseUpdating
	switch {
	case !u.Request.Candidate() && updating:
		return cancelled
	case !u.Request.Candidate():
		return unrequested
	case u.Answer == AnswerDone:
		return done
	case u.Answer == AnswerFailed:
		return failed
	case u.Request == RequestCandidate && updating:
		return reoffered
	case u.Request == RequestCandidate:
		return waiting
	case updating || drained:
		return vacated
	}
	return itsTurn
}

// Uncordons reports whether the machine controller uncordons the node that it drained for the update when it
// removes its mark.
func (n Node) Uncordons() bool {
	return !n.Request.Selected() && (n.Mark == MarkSelected || n.Mark.drained() || n.Mark == MarkFailed)
}

// Heard returns the answer that the machine controller stores in the phase. It accepts a late answer, and a
// failure even if its own phase Updating was lost.
func (u Update) Heard() Answer {
	switch p := u.Phase; {
	case u.Answer == AnswerDone && (p == PhaseUpdating || p == PhaseFailed):
		return AnswerDone
	case u.Answer == AnswerFailed && (p == PhaseUpdating || p == PhaseRunning && u.Request == RequestSelected):
		return AnswerFailed
	}
	return AnswerNone
}

// Wish is the request that the deployment controller wants on a node.
type Wish string

// The wishes.
const (
	WishNothing   Wish = ""          // no request
	WishCandidate Wish = "Candidate" // the node may be updated
	WishSelected  Wish = "Selected"  // the node is updated now
	// WishRelease ends an update: all requests and answers are removed, the node is uncordoned, and keeps a
	// taint until its critical components are ready.
	WishRelease Wish = "Release"
)

// Request returns the request of the wish.
func (w Wish) Request() Request {
	return RequestOf(w == WishCandidate || w == WishSelected, w == WishSelected)
}

// Kept returns the wish to keep the request; a half request is completed.
func (r Request) Kept() Wish {
	switch {
	case r.Selected():
		return WishSelected
	case r.Candidate():
		return WishCandidate
	}
	return WishNothing
}

// Offered returns the wish for the node of an old machine that may become a candidate or be selected. A
// selection is not withdrawn. A node with an answer to no request gets its request after the answer is
// removed, which happens as soon as the machine works.
func (u Update) Offered(offer Wish, works bool) Wish {
	switch {
	case u.State() == Unasked && works:
		return WishRelease
	case u.State() == Unasked, u.Request.Selected():
		return u.Request.Kept()
	}
	return offer
}

// Ended returns the wish for the node of a machine that has the current template. An update that was begun
// before that template became current again has to end first. A failure stays visible as long as it is
// requested, or the machine does not work.
func (u Update) Ended(works bool) Wish {
	switch {
	case u.Answer == AnswerDone, u.Answer == AnswerFailed && u.Request == RequestNone && works:
		return WishRelease
	case u.Answer == AnswerFailed, u.State().Underway():
		return u.Request.Kept()
	}
	return WishNothing
}

// Alike reports whether nothing changed that matters to deployment controllers.
func (u Update) Alike(o Update) bool {
	a, b := u.State(), o.State()
	return u.Request == o.Request && u.Answer == o.Answer && (a == b || a.Underway() && b.Underway())
}
