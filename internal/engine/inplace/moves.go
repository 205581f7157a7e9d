package inplace

// asking is what the machine controller goes by when it writes the mark.
type asking int

const (
	nobody    asking = iota // nobody asks, or asks in half
	calledOff               // so it is, and the node agent may be at work
	waiting                 // the node is a candidate
	itsTurn                 // it is selected
	vacated                 // its workloads are gone
	takenBack               // they are gone, and it is a candidate again
	done                    // the node agent has answered
	failed
)

// marks are what the machine controller writes, by who asks and by what the node says: what is not listed becomes the first mark. Each
// mark is written before the next is taken.
var marks = map[asking]struct {
	otherwise Mark
	next      map[Mark]Mark
}{
	// What was asked is taken back, lest the node agent begins on a node that nobody drained for it. What was done stays said.
	nobody: {MarkNone, map[Mark]Mark{MarkUpdated: MarkUpdated}},
	// What the node agent may have begun has to end first.
	calledOff: {MarkNone, map[Mark]Mark{MarkSelected: MarkSelected, MarkDrained: MarkDrained, MarkReady: MarkReady, MarkUpdated: MarkUpdated}},
	waiting:   {MarkCandidate, nil},
	// What was updated, or has failed, is asked once more, and waits for its turn like any other.
	itsTurn: {MarkCandidate, map[Mark]Mark{MarkCandidate: MarkSelected, MarkSelected: MarkSelected, MarkDrained: MarkReady, MarkReady: MarkReady}},
	vacated: {MarkCandidate, map[Mark]Mark{MarkCandidate: MarkSelected, MarkSelected: MarkDrained, MarkDrained: MarkReady, MarkReady: MarkReady}},
	// It is not called off before it failed.
	takenBack: {MarkCandidate, map[Mark]Mark{MarkSelected: MarkDrained, MarkDrained: MarkReady, MarkReady: MarkReady}},
	done:      {MarkUpdated, nil},
	failed:    {MarkFailed, nil},
}

// Due is the mark that the machine controller is to write, given whether the node was found drained; it is the present one where nothing
// is to be written.
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
		return calledOff
	case !u.Request.Candidate():
		return nobody
	case u.Answer == AnswerDone:
		return done
	case u.Answer == AnswerFailed:
		return failed
	case u.Request == RequestCandidate && updating:
		return takenBack
	case u.Request == RequestCandidate:
		return waiting
	case updating || drained:
		return vacated
	}
	return itsTurn
}

// Uncordons reports whether the machine controller lets pods onto the node again that it moved away for the update, where its mark is
// taken back.
func (n Node) Uncordons() bool {
	return !n.Request.Selected() && (n.Mark == MarkSelected || n.Mark.drained() || n.Mark == MarkFailed)
}

// Heard is the answer that the machine controller puts into the phase. One that comes after its time is heard all the same, and so is a
// failure where its own word that it waited was lost.
func (u Update) Heard() Answer {
	switch p := u.Phase; {
	case u.Answer == AnswerDone && (p == PhaseUpdating || p == PhaseFailed):
		return AnswerDone
	case u.Answer == AnswerFailed && (p == PhaseUpdating || p == PhaseRunning && u.Request == RequestSelected):
		return AnswerFailed
	}
	return AnswerNone
}

// Wish is what the deployment controller wants of a node.
type Wish string

// The wishes.
const (
	WishNothing   Wish = ""          // no request
	WishCandidate Wish = "Candidate" // that it may be updated
	WishSelected  Wish = "Selected"  // that it is updated now
	// WishRelease ends an update: all requests and answers come off, the node takes pods again, and is held back until its critical
	// components are ready.
	WishRelease Wish = "Release"
)

// Request is what the node is asked by the wish.
func (w Wish) Request() Request {
	return RequestOf(w == WishCandidate || w == WishSelected, w == WishSelected)
}

// Kept is the wish to leave the request as it is; one that is half becomes whole.
func (r Request) Kept() Wish {
	switch {
	case r.Selected():
		return WishSelected
	case r.Candidate():
		return WishCandidate
	}
	return WishNothing
}

// Offered is what the deployment controller wants of the node of an old machine to which it offers something: nothing, to be a candidate,
// or to be selected. What was selected is not taken back. A node with an answer that nobody asked for is asked when that is gone, which
// it is as soon as the machine works.
func (u Update) Offered(offer Wish, works bool) Wish {
	switch {
	case u.State() == Unasked && works:
		return WishRelease
	case u.State() == Unasked, u.Request.Selected():
		return u.Request.Kept()
	}
	return offer
}

// Ended is what the deployment controller wants of the node of a machine that has the present template. What was begun before that
// became the present one again has to end first. A failure stays for people to see as long as it is asked for, or the machine does not
// work.
func (u Update) Ended(works bool) Wish {
	switch {
	case u.Answer == AnswerDone, u.Answer == AnswerFailed && u.Request == RequestNone && works:
		return WishRelease
	case u.Answer == AnswerFailed, u.State().Underway():
		return u.Request.Kept()
	}
	return WishNothing
}

// Alike reports whether nothing changed that deployment controllers go by.
func (u Update) Alike(o Update) bool {
	a, b := u.State(), o.State()
	return u.Request == o.Request && u.Answer == o.Answer && (a == b || a.Underway() && b.Underway())
}
