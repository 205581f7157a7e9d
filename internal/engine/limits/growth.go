package limits

import (
	"fmt"

	"github.com/millwright-dev/millwright/api/millwright"
)

// Growth keeps a set or a deployment from growing by too many machines at once. People ask for it; without one they ask
// for as many as they like.
//
// It is about a number that was mistyped. What was lost is made again whatever the guard says: the size that was allowed last is
// known, and machines up to it are no growth. A set that never had a machine may have as many as it asks for: its
// author wrote that number beside all the others.
type Growth struct {
	// Limit is the share of the machines by which there may be more at once, Approved the number that somebody has allowed
	// besides.
	Limit    Limit
	Approved int
	// Known is the size that was allowed last; zero where none was recorded.
	Known int
	// Misread says what was not understood of what people asked for.
	Misread string
}

// CreationHeld is why machines are not made that the guard of growth holds.
const CreationHeld = "CreationHeld"

// Hold is how many machines there may be where so many are wanted and so many are there, those on their way out included. Why
// says what is held; empty where nothing is. A wrong number is not put right by following it halfway: all of
// the growth is held, or nothing.
func (g *Growth) Hold(wanted, there int) (size int, why string) {
	if g == nil {
		return wanted, ""
	}
	base := max(there, g.Known)
	more, most := wanted-base, max(g.Limit.Of(base), g.Approved)
	if base == 0 || more <= most {
		return wanted, ""
	}
	why = fmt.Sprintf("%d machines would be added to %d, and at most %d may be at once; annotation %s: \"%d\" approves it", more, base, most, millwright.ApproveCreation, more)
	if g.Misread != "" {
		why += "; " + g.Misread
	}
	return base, why
}
