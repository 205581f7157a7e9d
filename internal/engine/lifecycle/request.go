package lifecycle

import (
	"fmt"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Request is a request for a machine's instance, as stored on the machine. It is stored before the request is
// sent for the first time, so that each process knows the requests of its predecessor, and closed once an
// answer says that no instance results from it.
type Request struct {
	// Number counts the machine's requests, from 1.
	Number int `json:"n"`
	// At is when it was stored, to the second.
	At time.Time `json:"at"`
	// Choice is the name of the requested [provider.Choice]; empty if the class has only one.
	Choice string `json:"choice,omitempty"`
	// Attempt is [provider.Want].Attempt.
	Attempt int `json:"attempt,omitempty"`
	// Closed is why no instance results from it: the kind of the answer, or [Withdrawn]. Empty while one may:
	// the request is repeated unchanged.
	Closed provider.Kind `json:"closed,omitempty"`
	// Unclear says that an answer to it was lost: it was sent more than once, and one of these requests may
	// still be carried out. The next request has the same attempt number, because the infrastructure carries out
	// at most one request of an attempt.
	Unclear bool `json:"unclear,omitempty"`
	// Assumed says that it may never have been sent ([Machine.AssumeRequest]).
	Assumed bool `json:"assumed,omitempty"`
}

// Text returns the request and, if known, its result: "request 2 for eu-1a, refused: Exhausted".
func (r Request) Text() string {
	text := fmt.Sprintf("request %d", r.Number)
	if r.Choice != "" {
		text += " for " + r.Choice
	}
	switch {
	case r.Assumed:
		text += ", assumed: the status did not say whether an instance was requested"
	case r.Closed == "":
	case r.Closed == Withdrawn && r.Unclear:
		text += ", which the class does not offer any more"
	case r.Closed == Withdrawn:
		text += ", not sent: another machine found that choice exhausted"
	default:
		text += ", refused: " + string(r.Closed)
	}
	return text
}

// Withdrawn closes a request for a choice that the class no longer offers. It also closes a request for a choice
// that was found exhausted before the request was sent, if it is clear that no instance results from it.
const Withdrawn provider.Kind = "Withdrawn"

// maxRequests is how many requests are stored; [Request].Number counts the earlier ones.
const maxRequests = 8

// Requests are the requests of one machine, oldest first. All but the last are closed.
type Requests []Request

// Open returns the request from which an instance may result, or nil.
func (r Requests) Open() *Request {
	if n := len(r) - 1; n >= 0 && r[n].Closed == "" {
		return &r[n]
	}
	return nil
}

// Stored reports whether r has an open request, and stored has the same.
func (r Requests) Stored(stored Requests) bool {
	open, kept := r.Open(), stored.Open()
	return open != nil && kept != nil && open.Number == kept.Number
}

// Refused returns how many requests are closed, including forgotten ones.
func (r Requests) Refused() int {
	switch n := len(r) - 1; {
	case n < 0:
		return 0
	case r[n].Closed == "":
		return r[n].Number - 1
	default:
		return r[n].Number
	}
}

// Next returns r with one more request, for choice. No request of r is open. It forgets the oldest if there are too many.
func (r Requests) Next(now time.Time, choice string) Requests {
	next := Request{Number: 1, At: now.UTC().Truncate(time.Second), Choice: choice}
	if n := len(r) - 1; n >= 0 {
		last := r[n]
		next.Number, next.Attempt = last.Number+1, last.Attempt
		if last.Closed == provider.Exhausted && !last.Unclear {
			next.Attempt++
		}
	}
	return append(slices.Clone(r[max(0, len(r)+1-maxRequests):]), next)
}

// Close returns r with its open request closed.
func (r Requests) Close(why provider.Kind, unclear bool) Requests {
	if r.Open() == nil {
		return r
	}
	out := slices.Clone(r)
	last := out.Open()
	last.Closed, last.Unclear = why, unclear
	return out
}

// Offered returns r with its open request closed if that is for none of choices, the names of the class's
// choices; empty: the class has only one.
func (r Requests) Offered(choices []provider.Choice) Requests {
	open := r.Open()
	switch {
	case open == nil, open.Choice == "" && len(choices) == 0:
		return r
	case slices.ContainsFunc(choices, func(c provider.Choice) bool { return c.Name == open.Choice }):
		return r
	}
	return r.Close(Withdrawn, true)
}

// Continues reports whether r is earlier with later requests and answers. Stored requests are only completed, never changed.
func (r Requests) Continues(earlier Requests) bool {
	switch {
	case len(earlier) == 0:
		return true
	case len(r) == 0 || r[0].Number < earlier[0].Number:
		return false
	}
	for _, was := range earlier {
		if was.Number < r[0].Number {
			if was.Closed == "" {
				return false // only closed requests are forgotten
			}
			continue
		}
		n := was.Number - r[0].Number
		if n >= len(r) || !r[n].completes(was) {
			return false
		}
	}
	return true
}

func (r Request) completes(was Request) bool {
	if was.Closed == "" {
		r.Closed, r.Unclear = "", was.Unclear
	}
	at := r.At.Equal(was.At)
	r.At, was.At = time.Time{}, time.Time{}
	return at && r == was
}
