package limits

import (
	"fmt"
	"strconv"
	"strings"
)

// Limit is how much of a whole may be removed at once.
type Limit struct {
	// Percent of the whole, rounded down.
	Percent int
	// Min is allowed whatever the share is: one of three is 33 %.
	Min int
}

// DefaultLimit is a fifth, and always one.
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

// Of is how many of total may go: of 30 with the default limit 6, of 3 one.
func (l Limit) Of(total int) int { return max(l.Min, total*l.Percent/100) }

// Refuse says why doomed of total must not be removed at once when so many are
// approved, and which annotation would approve them; it is empty when they may.
func (l Limit) Refuse(total, doomed, approved int, annotation string) string {
	most := max(l.Of(total), approved)
	if doomed <= most {
		return ""
	}
	return fmt.Sprintf("%d of %d would be removed, and at most %d may be at once; annotation %s: \"%d\" approves it",
		doomed, total, most, annotation, doomed)
}
