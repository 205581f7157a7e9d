package lifecycle

import (
	"fmt"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Ask is one request for a machine's instance, as stored on the machine. It is stored before the request is
// sent for the first time, so that each process knows the requests of its predecessor, and closed once an
// answer says that no instance results from it.
type Ask struct {
	// Number counts the machine's asks, from 1.
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
	// still be carried out. The next ask has the same attempt number, because the infrastructure carries out
	// at most one request of an attempt.
	Unclear bool `json:"unclear,omitempty"`
}

// Text returns the request and, if known, its result: "request 2 for eu-1a, refused: Exhausted".
func (k Ask) Text() string {
	text := fmt.Sprintf("request %d", k.Number)
	if k.Choice != "" {
		text += " for " + k.Choice
	}
	switch {
	case k.Closed == "":
	case k.Closed == Withdrawn && k.Unclear:
		text += ", which the class does not offer any more"
	case k.Closed == Withdrawn:
		text += ", not sent: another machine found that choice exhausted"
	default:
		text += ", refused: " + string(k.Closed)
	}
	return text
}

// Withdrawn closes an ask for a choice that the class no longer offers. It also closes an ask for a choice
// that was found exhausted before the request was sent, if it is clear that no instance results from it.
const Withdrawn provider.Kind = "Withdrawn"

// mostAsks is how many asks are stored; [Ask].Number counts the earlier ones.
const mostAsks = 8

// Asks are the asks of one machine, oldest first. All but the last are closed.
type Asks []Ask

// Open returns the ask from which an instance may result, or nil.
func (a Asks) Open() *Ask {
	if n := len(a) - 1; n >= 0 && a[n].Closed == "" {
		return &a[n]
	}
	return nil
}

// Stored reports whether a has an open ask, and stored has the same.
func (a Asks) Stored(stored Asks) bool {
	open, kept := a.Open(), stored.Open()
	return open != nil && kept != nil && open.Number == kept.Number
}

// Refused returns how many asks are closed, including forgotten ones.
func (a Asks) Refused() int {
	switch n := len(a) - 1; {
	case n < 0:
		return 0
	case a[n].Closed == "":
		return a[n].Number - 1
	default:
		return a[n].Number
	}
}

// Next returns a with one more ask, for choice, if none is open. It forgets the oldest if there are too many.
func (a Asks) Next(now time.Time, choice string) Asks {
	next := Ask{Number: 1, At: now.UTC().Truncate(time.Second), Choice: choice}
	if n := len(a) - 1; n >= 0 {
		last := a[n]
		next.Number, next.Attempt = last.Number+1, last.Attempt
		if last.Closed == provider.Exhausted && !last.Unclear {
			next.Attempt++
		}
	}
	return append(slices.Clone(a[max(0, len(a)+1-mostAsks):]), next)
}

// Close returns a with its open ask closed.
func (a Asks) Close(why provider.Kind, unclear bool) Asks {
	if a.Open() == nil {
		return a
	}
	out := slices.Clone(a)
	last := out.Open()
	last.Closed, last.Unclear = why, unclear
	return out
}

// Offered returns a with its open ask closed if that is for none of choices, the names of the class's
// choices; empty: the class has only one.
func (a Asks) Offered(choices []provider.Choice) Asks {
	open := a.Open()
	switch {
	case open == nil, open.Choice == "" && len(choices) == 0:
		return a
	case slices.ContainsFunc(choices, func(c provider.Choice) bool { return c.Name == open.Choice }):
		return a
	}
	return a.Close(Withdrawn, true)
}

// Continues reports whether a is b with later asks and answers. Stored asks are only completed, never changed.
func (a Asks) Continues(b Asks) bool {
	switch {
	case len(b) == 0:
		return true
	case len(a) == 0 || a[0].Number < b[0].Number:
		return false
	}
	for _, was := range b {
		if was.Number < a[0].Number {
			if was.Closed == "" {
				return false // only closed asks are forgotten
			}
			continue
		}
		n := was.Number - a[0].Number
		if n >= len(a) || !a[n].completes(was) {
			return false
		}
	}
	return true
}

func (k Ask) completes(was Ask) bool {
	if was.Closed == "" {
		k.Closed, k.Unclear = "", was.Unclear
	}
	at := k.At.Equal(was.At)
	k.At, was.At = time.Time{}, time.Time{}
	return at && k == was
}
