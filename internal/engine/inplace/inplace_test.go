package inplace

import (
	"slices"
	"testing"
)

var (
	requests = []Request{RequestNone, RequestCandidate, RequestSelected, RequestStray}
	answers  = []Answer{AnswerNone, AnswerDone, AnswerFailed, AnswerUnknown}
	allMarks = []Mark{MarkNone, MarkCandidate, MarkSelected, MarkDrained, MarkReady, MarkUpdated, MarkFailed}
	phases   = []Phase{PhaseNone, PhaseRunning, PhaseUpdating, PhaseUpdated, PhaseFailed}
)

// every calls do with every combination of facts.
func every(do func(Update)) {
	for _, r := range requests {
		for _, a := range answers {
			for _, m := range allMarks {
				for _, p := range phases {
					do(Update{Node: Node{Request: r, Answer: a, Mark: m}, Phase: p})
				}
			}
		}
	}
}

// pattern matches some of them; unnamed fields match any value.
type pattern struct {
	requests []Request
	answers  []Answer
	marks    []Mark
	phases   []Phase
}

func (p pattern) matches(u Update) bool {
	return (p.requests == nil || slices.Contains(p.requests, u.Request)) && (p.answers == nil || slices.Contains(p.answers, u.Answer)) &&
		(p.marks == nil || slices.Contains(p.marks, u.Mark)) && (p.phases == nil || slices.Contains(p.phases, u.Phase))
}

// but are all marks without some.
func but(without ...Mark) []Mark {
	return slices.DeleteFunc(slices.Clone(allMarks), func(m Mark) bool { return slices.Contains(without, m) })
}

// TestState: every combination of request, answer, mark and phase has one state, for one reason.
func TestState(t *testing.T) {
	none, candidate, turn := []Request{RequestNone}, []Request{RequestCandidate}, []Request{RequestSelected, RequestStray}
	silent, odd, mute := []Answer{AnswerNone}, []Answer{AnswerUnknown}, []Answer{AnswerNone, AnswerUnknown}
	known, done, failed := []Answer{AnswerDone, AnswerFailed}, []Answer{AnswerDone}, []Answer{AnswerFailed}
	idle, awaits := []Phase{PhaseNone, PhaseRunning}, []Phase{PhaseUpdating, PhaseUpdated, PhaseFailed}
	updating, others := []Phase{PhaseUpdating}, []Phase{PhaseNone, PhaseRunning, PhaseUpdated, PhaseFailed}
	patient, lost := []Phase{PhaseNone, PhaseRunning, PhaseUpdated}, []Phase{PhaseFailed}
	said, begun, flow := []Mark{MarkUpdated}, []Mark{MarkDrained, MarkReady}, []Mark{MarkSelected, MarkDrained, MarkReady}
	over, drains := []Mark{MarkFailed}, []Mark{MarkSelected}
	rows := []struct {
		reason string
		when   pattern
		want   State
	}{
		{"nobody asks", pattern{none, silent, nil, others}, Idle},
		{"nobody asks, and what the answer means is not known", pattern{none, odd, nil, nil}, Idle},
		{"a candidate with an answer that is not known is not selected", pattern{candidate, odd, nil, idle}, Idle},
		{"nobody asks, and there is an answer", pattern{none, known, nil, nil}, Unasked},
		{"a candidate again, with the answer to the request before", pattern{candidate, known, nil, idle}, Unasked},

		{"called off too late, and failed", pattern{candidate, failed, nil, awaits}, Failed},
		{"the node agent says so", pattern{turn, failed, nil, nil}, Failed},
		{"called off too late: the mark is awaited", pattern{candidate, done, but(said...), awaits}, Answered},
		{"called off too late: the phase is awaited", pattern{candidate, done, said, updating}, Answered},
		{"called off too late, and done", pattern{candidate, done, said, []Phase{PhaseUpdated, PhaseFailed}}, Done},
		{"the mark is awaited", pattern{turn, done, but(said...), nil}, Answered},
		{"the phase is awaited", pattern{turn, done, said, updating}, Answered},
		{"label, condition and phase", pattern{turn, done, said, others}, Done},

		{"called off altogether, and the mark says that it failed", pattern{none, silent, over, updating}, Failed},
		{"called off altogether: it goes on", pattern{none, silent, flow, updating}, Updating},
		{"the phase is ahead of the mark, or the node is another", pattern{none, silent, but(append(flow, over...)...), updating}, Selected},
		{"the answer was taken away, the mark not yet", pattern{candidate, silent, over, idle}, Failed},
		{"it waits for its turn, whatever was said before", pattern{candidate, silent, but(over...), idle}, Candidate},
		{"no answer that is known, and the mark not taken back", pattern{candidate, mute, over, awaits}, Failed},
		{"called off: what the node agent may have begun has to end", pattern{candidate, mute, flow, updating}, Updating},
		{"the same, of which the node does not say so yet", pattern{candidate, mute, but(append(flow, over...)...), updating}, Selected},
		{"the update before is over", pattern{candidate, mute, but(over...), []Phase{PhaseUpdated}}, Candidate},
		{"called off after the patience was lost", pattern{candidate, mute, begun, lost}, Failed},
		{"it may be selected again", pattern{candidate, mute, but(append(begun, over...)...), lost}, Candidate},

		{"the answer was taken away for another try", pattern{turn, mute, over, nil}, Failed},
		{"it is its turn", pattern{turn, mute, but(append(flow, over...)...), nil}, Selected},
		{"the workloads are moved away", pattern{turn, mute, drains, others}, Draining},
		{"they are gone, as the phase says before the mark", pattern{turn, mute, drains, updating}, Updating},
		{"the node agent may be at work", pattern{turn, mute, begun, append(patient, updating...)}, Updating},
		{"the machine controller has lost its patience", pattern{turn, mute, begun, lost}, Failed},
	}
	every(func(u Update) {
		n := 0
		for _, r := range rows {
			if !r.when.matches(u) {
				continue
			}
			n++
			if got := u.State(); got != r.want {
				t.Errorf("%s: %+v is %s, want %s", r.reason, u, got, r.want)
			}
		}
		if n != 1 {
			t.Errorf("%+v has %d rows", u, n)
		}
	})
}

// TestDue: every combination has one mark that is due, for one reason.
func TestDue(t *testing.T) {
	const N, C, S, D, R, U, F = MarkNone, MarkCandidate, MarkSelected, MarkDrained, MarkReady, MarkUpdated, MarkFailed
	half, candidate, turn := []Request{RequestNone, RequestStray}, []Request{RequestCandidate}, []Request{RequestSelected}
	mute, others, updating := []Answer{AnswerNone, AnswerUnknown}, []Phase{PhaseNone, PhaseRunning, PhaseUpdated, PhaseFailed}, []Phase{PhaseUpdating}
	rows := []struct {
		reason  string
		when    pattern
		drained []bool
		want    [7]Mark // after none, Candidate, Selected, Drained, Ready, Updated and Failed
	}{
		{"nobody asks: all is taken back but what was done", pattern{requests: half, phases: others}, nil, [7]Mark{N, N, N, N, N, U, N}},
		{"nobody asks any more: what may have begun has to end", pattern{requests: half, phases: updating}, nil, [7]Mark{N, N, S, D, R, U, N}},
		{"done, whatever stood there", pattern{requests: append(candidate, turn...), answers: []Answer{AnswerDone}}, nil, [7]Mark{U, U, U, U, U, U, U}},
		{"failed, whatever stood there", pattern{requests: append(candidate, turn...), answers: []Answer{AnswerFailed}}, nil, [7]Mark{F, F, F, F, F, F, F}},
		{"it waits for its turn, or again", pattern{candidate, mute, nil, others}, nil, [7]Mark{C, C, C, C, C, C, C}},
		{"a candidate again, under way: it goes on", pattern{candidate, mute, nil, updating}, nil, [7]Mark{C, C, D, R, R, C, C}},
		{"its turn, not drained: one mark after the other", pattern{turn, mute, nil, others}, []bool{false}, [7]Mark{C, S, S, R, R, C, C}},
		{"its turn, drained", pattern{turn, mute, nil, others}, []bool{true}, [7]Mark{C, S, D, R, R, C, C}},
		{"the machine is said to be updating: no second drain", pattern{turn, mute, nil, updating}, nil, [7]Mark{C, S, D, R, R, C, C}},
	}
	every(func(u Update) {
		for _, drained := range []bool{false, true} {
			n := 0
			for _, r := range rows {
				if !r.when.matches(u) || r.drained != nil && !slices.Contains(r.drained, drained) {
					continue
				}
				n++
				if got, want := u.Due(drained), r.want[slices.Index(allMarks, u.Mark)]; got != want {
					t.Errorf("%s: after %+v, drained %v, %q is due, want %q", r.reason, u, drained, got, want)
				}
			}
			if n != 1 {
				t.Errorf("%+v, drained %v, has %d rows", u, drained, n)
			}
		}
	})
}

// TestMarksComeToRest: for any facts, the machine controller finishes with marks after five writes, and then
// no turn of another actor is skipped: a drained node is marked as drained, and a begun update as begun.
func TestMarksComeToRest(t *testing.T) {
	every(func(u Update) {
		for _, drained := range []bool{false, true} {
			x := u
			for range 5 {
				x.Mark = x.Due(drained)
			}
			if due := x.Due(drained); due != x.Mark {
				t.Errorf("%+v, drained %v: %s is due for ever", u, drained, due)
			}
			if drained && x.State() == Draining {
				t.Errorf("%+v is drained, and to be drained", x)
			}
		}
	})
}

// TestHeard: the answers that the machine controller stores in the phase.
func TestHeard(t *testing.T) {
	rows := []struct {
		reason string
		when   pattern
		want   Answer
	}{
		{"done, waited for or after its time", pattern{nil, []Answer{AnswerDone}, nil, []Phase{PhaseUpdating, PhaseFailed}}, AnswerDone},
		{"done, and said already, or not waited for", pattern{nil, []Answer{AnswerDone}, nil, []Phase{PhaseNone, PhaseRunning, PhaseUpdated}}, AnswerNone},
		{"failed while it was waited for", pattern{nil, []Answer{AnswerFailed}, nil, []Phase{PhaseUpdating}}, AnswerFailed},
		{"failed, and the word that it was waited for was lost", pattern{[]Request{RequestSelected}, []Answer{AnswerFailed}, nil, []Phase{PhaseRunning}}, AnswerFailed},
		{
			"failed, and not asked for: what was not asked for does not fail",
			pattern{[]Request{RequestNone, RequestCandidate, RequestStray}, []Answer{AnswerFailed}, nil, []Phase{PhaseRunning}},
			AnswerNone,
		},
		{"failed, and said already, or given up", pattern{nil, []Answer{AnswerFailed}, nil, []Phase{PhaseNone, PhaseUpdated, PhaseFailed}}, AnswerNone},
		{"no answer", pattern{answers: []Answer{AnswerNone, AnswerUnknown}}, AnswerNone},
	}
	every(func(u Update) {
		n := 0
		for _, r := range rows {
			if !r.when.matches(u) {
				continue
			}
			n++
			if got := u.Heard(); got != r.want {
				t.Errorf("%s: of %+v, %q is heard, want %q", r.reason, u, got, r.want)
			}
		}
		if n != 1 {
			t.Errorf("%+v has %d rows", u, n)
		}
	})
}

// TestOpenAndUncordons: when the machine controller keeps a node cordoned, and when it uncordons it.
func TestOpenAndUncordons(t *testing.T) {
	candidate := []Request{RequestCandidate, RequestSelected}
	open := []pattern{
		{requests: candidate, answers: []Answer{AnswerFailed}},
		{requests: []Request{RequestSelected}, answers: []Answer{AnswerNone, AnswerUnknown}, marks: []Mark{MarkDrained, MarkReady}},
	}
	uncordons := pattern{requests: []Request{RequestNone, RequestCandidate}, marks: []Mark{MarkSelected, MarkDrained, MarkReady, MarkFailed}}
	every(func(u Update) {
		if want := slices.ContainsFunc(open, func(p pattern) bool { return p.matches(u) }); u.Open() != want {
			t.Errorf("%+v is open: %v", u, u.Open())
		}
		if u.Uncordons() != uncordons.matches(u) {
			t.Errorf("%+v takes pods again: %v", u, u.Uncordons())
		}
	})
}
