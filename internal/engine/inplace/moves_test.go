package inplace

import (
	"slices"
	"testing"
	"time"
)

// step is a move of one actor from one state to another.
type step struct {
	by       string
	from, to State
}

// The actors.
const (
	rollout = "deployment controller"
	machine = "machine controller"
	agent   = "node agent"
	person  = "person"
)

// moves returns the steps that any actor may take from u.
func moves(u Update) map[string][]Update {
	out := map[string][]Update{}
	wish := func(by string, w Wish) {
		x := u
		if x.Request = w.Request(); w == WishRelease {
			x.Answer = AnswerNone
		}
		out[by] = append(out[by], x)
	}
	edit := func(by string, change func(*Update)) {
		x := u
		change(&x)
		out[by] = append(out[by], x)
	}
	switch u.State() {
	case Idle:
		wish(rollout, u.Offered(WishCandidate, true))
	case Unasked:
		wish(rollout, u.Offered(WishCandidate, true))
		wish(rollout, u.Ended(true))
	case Candidate:
		wish(rollout, u.Offered(WishSelected, true))
		wish(rollout, u.Offered(WishNothing, true))
		edit(person, func(x *Update) { x.Request = RequestSelected })
	case Selected, Draining:
		wish(rollout, u.Offered(WishNothing, true))
		wish(rollout, u.Ended(true))
		edit(person, func(x *Update) { x.Request = RequestCandidate })
	case Updating:
		wish(rollout, u.Offered(WishNothing, true))
		wish(rollout, u.Ended(true))
		edit(machine, func(x *Update) { x.Phase = PhaseFailed }) // its timeout has passed
		edit(agent, func(x *Update) { x.Answer = AnswerDone })
		edit(agent, func(x *Update) { x.Answer = AnswerFailed })
	case Done:
		wish(rollout, u.Ended(true))
	case Failed:
		wish(rollout, u.Offered(WishNothing, false))
		wish(rollout, u.Ended(false))
		edit(person, func(x *Update) { x.Answer = AnswerNone })
		edit(person, func(x *Update) { x.Answer, x.Request = AnswerNone, RequestCandidate })
	}
	for _, drained := range []bool{false, true} {
		// The Machine records first that it waits for its node agent, and last that it does not.
		edit(machine, func(x *Update) {
			switch due := x.Due(drained); {
			case due != x.Mark && (due == MarkDrained || due == MarkReady):
				x.Mark, x.Phase = due, PhaseUpdating
			case due != x.Mark && x.Phase == PhaseUpdating && (due == MarkNone || due == MarkCandidate):
				x.Mark, x.Phase = due, PhaseRunning
			case due != x.Mark:
				x.Mark = due
			case x.Heard() == AnswerDone:
				x.Phase = PhaseUpdated
			case x.Heard() == AnswerFailed:
				x.Phase = PhaseFailed
			case x.Phase == PhaseUpdated, x.Phase == PhaseFailed && !x.Open():
				x.Phase = PhaseRunning // it works
			}
		})
	}
	return out
}

// TestMoves: from a node without any facts, these are all moves, their actors, and their reasons. Most
// backward moves happen between two writes of another actor: a request is withdrawn, or written again, before
// the machine controller has seen it.
func TestMoves(t *testing.T) {
	want := map[step]string{
		{rollout, Idle, Candidate}:     "a rollout begins",
		{rollout, Candidate, Selected}: "it is its turn",
		{person, Candidate, Selected}:  "a person says so",
		{machine, Selected, Draining}:  "the mark says that the workloads are moved away",
		{machine, Draining, Updating}:  "they are gone",
		{agent, Updating, Answered}:    "the node agent has done it",
		{agent, Updating, Failed}:      "the node agent could not",
		{machine, Updating, Failed}:    "the node agent's time is over",
		{machine, Answered, Done}:      "mark and phase say so",
		{rollout, Done, Idle}:          "the machine was handed over, and its node is released",
		{rollout, Candidate, Idle}:     "the rollout is over, or another strategy is wanted",
		{person, Selected, Candidate}:  "a person takes the choice back",
		{person, Draining, Candidate}:  "so a person does while the workloads are moved away",
		{person, Failed, Candidate}:    "a person takes the answer away and the choice back",
		{person, Failed, Updating}:     "a person takes the answer away before the machine controller has marked the failure",
		{machine, Failed, Candidate}:   "the answer was taken away for another try",
		{machine, Failed, Selected}:    "so it was, and it is still its turn",
		{rollout, Unasked, Idle}:       "the answer is taken away that nobody asked for",
		{agent, Updating, Unasked}:     "it was called off, and has ended all the same",
		{machine, Done, Unasked}:       "it was called off, and is over",
		{rollout, Failed, Idle}:        "nobody asks any more, before the machine controller has taken the mark back",
		{rollout, Failed, Unasked}:     "nobody asks any more, and the answer is still there",
		{machine, Failed, Idle}:        "nobody asks any more, and the mark is taken back",
		{machine, Updating, Idle}:      "nobody asks any more, and the node agent's time is over",
		{rollout, Idle, Failed}:        "it is asked again before the mark of the failure was taken back",
		{machine, Failed, Updating}:    "it is selected again before the mark of the drain was taken back",
		{rollout, Candidate, Draining}: "it is selected again before the mark was taken back",
		{rollout, Candidate, Updating}: "so it is, after it was drained",
		{person, Candidate, Draining}:  "a person selects it again before the mark was taken back",
		{person, Candidate, Updating}:  "so a person does, after it was drained",
		{rollout, Unasked, Updating}:   "the answer is taken away before the machine controller has heard it",
		{rollout, Unasked, Failed}:     "so it is, and the mark still says that it failed",
	}
	got := map[step]Update{}
	begin := Update{Phase: PhaseRunning}
	seen := map[Update]bool{begin: true}
	for todo := []Update{begin}; len(todo) > 0; todo = todo[1:] {
		for by, all := range moves(todo[0]) {
			for _, next := range all {
				if s := (step{by, todo[0].State(), next.State()}); s.from != s.to {
					got[s] = todo[0]
				}
				if !seen[next] {
					seen[next] = true
					todo = append(todo, next)
				}
			}
		}
	}
	for s, u := range got {
		if want[s] == "" {
			t.Errorf("%s moves %+v from %s to %s", s.by, u, s.from, s.to)
		}
	}
	for s, reason := range want {
		if _, is := got[s]; !is {
			t.Errorf("nobody moves from %s to %s: %s", s.from, s.to, reason)
		}
	}
}

// TestOffered: the wish of the deployment controller for the node of an old machine, for every state and request.
func TestOffered(t *testing.T) {
	every(func(u Update) {
		for _, offer := range []Wish{WishNothing, WishCandidate, WishSelected} {
			for _, works := range []bool{false, true} {
				want := offer
				switch {
				case u.State() == Unasked && works:
					want = WishRelease // or its answer would count for the next request
				case u.State() == Unasked && u.Request == RequestNone:
					want = WishNothing // a user inspects it
				case u.State() == Unasked:
					want = WishCandidate // as it is
				case u.Request == RequestSelected, u.Request == RequestStray:
					want = WishSelected // it is not withdrawn, and half a request is completed
				}
				if got := u.Offered(offer, works); got != want {
					t.Errorf("%+v, offered %q, works %v: %q is wanted, not %q", u, offer, works, got, want)
				}
			}
		}
	})
}

// TestEnded: its wish for the node of a machine that has the current template.
func TestEnded(t *testing.T) {
	kept := map[Request]Wish{RequestCandidate: WishCandidate, RequestSelected: WishSelected, RequestStray: WishSelected}
	every(func(u Update) {
		for _, works := range []bool{false, true} {
			want := WishNothing
			switch {
			case u.Answer == AnswerDone:
				want = WishRelease // it is done
			case u.Answer == AnswerFailed && u.Request == RequestNone && works:
				want = WishRelease // it is no longer requested
			case u.Answer == AnswerFailed, slices.Contains([]State{Selected, Draining, Updating}, u.State()):
				want = kept[u.Request] // a user inspects it, or it has to end first
			}
			if got := u.Ended(works); got != want {
				t.Errorf("%+v, works %v: %q is wanted, not %q", u, works, got, want)
			}
		}
	})
}

// TestAlike: the changes that a deployment controller ignores.
func TestAlike(t *testing.T) {
	turn := Update{Node: Node{Request: RequestSelected, Mark: MarkSelected}}
	begun := Update{Node: Node{Request: RequestSelected, Mark: MarkReady, Detail: "half", Since: time.Unix(1, 0)}, Phase: PhaseUpdating}
	if !turn.Alike(begun) {
		t.Error("while an update is under way, its marks are the machine controller's affair")
	}
	for reason, change := range map[string]func(*Update){
		"the request": func(u *Update) { u.Request = RequestStray }, "the answer": func(u *Update) { u.Answer = AnswerUnknown },
		"the state": func(u *Update) { u.Phase = PhaseFailed },
	} {
		t.Run(reason, func(t *testing.T) {
			other := begun
			if change(&other); begun.Alike(other) {
				t.Errorf("%s is not seen to have changed", reason)
			}
		})
	}
}
