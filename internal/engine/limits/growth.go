package limits

import (
	"fmt"

	"github.com/millwright-dev/millwright/api/millwright"
)

// Growth keeps a set or a deployment from growing by too many machines at once. It is off unless a user sets
// it.
//
// It protects against a mistyped number. Lost machines are always created again: the last allowed size is
// known, and machines up to that size are not growth. A set that never had a machine may create its full
// number: its author wrote that number together with all the others.
type Growth struct {
	// Limit is the share of the machines that may be added at once, Approved is the additional number that a
	// user has approved.
	Limit    Limit
	Approved int
	// Known is the last allowed size; zero if none was recorded.
	Known int
	// Misread names the invalid settings.
	Misread string
}

// CreationHeld is the reason for machines that the growth guard does not create.
const CreationHeld = "CreationHeld"

// Hold returns the allowed number of machines for a wanted number and an existing one that includes machines
// under deletion. Why says what is held; empty if nothing is. Going halfway does not correct a wrong number:
// the growth is held as a whole or not at all.
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
