package limits

import (
	"fmt"
	"strconv"
	"strings"
)

// Limit is the share of a whole that may be removed at once.
type Limit struct {
	// Percent of the whole, rounded down.
	Percent int
	// Min is always allowed, for any share: one of three is 33 %.
	Min int
}

// DefaultLimit is a fifth, and at least one.
var DefaultLimit = Limit{Percent: 20, Min: 1}

// ParseLimit reads a share such as "30%".
func ParseLimit(text string) (Limit, error) {
	number, ok := strings.CutSuffix(text, "%")
	percent, err := strconv.Atoi(number)
	if !ok || err != nil || percent < 1 || percent > 100 {
		return Limit{}, fmt.Errorf("%q is not a share from 1%% to 100%%", text)
	}
	return Limit{Percent: percent, Min: DefaultLimit.Min}, nil
}

// Of returns how many of total may be removed: with the default limit 6 of 30, and 1 of 3.
func (l Limit) Of(total int) int { return max(l.Min, total*l.Percent/100) }

// Refuse says why doomed of total must not be removed at once if so many are approved, and which annotation
// would approve them; empty if they may be removed.
func (l Limit) Refuse(total, doomed, approved int, annotation string) string {
	most := max(l.Of(total), approved)
	if doomed <= most {
		return ""
	}
	return fmt.Sprintf("%d of %d would be removed, and at most %d may be at once; annotation %s: \"%d\" approves it",
		doomed, total, most, annotation, doomed)
}
