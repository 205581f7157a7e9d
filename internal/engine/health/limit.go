package health

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Limit is a number of machines, or a percentage of them. The zero Limit means all machines.
type Limit struct {
	set     bool
	number  int
	percent bool
	text    string
}

// ParseLimit reads a number ("2") or a percentage ("40%"). Values below zero become zero, values above 100 %
// become 100 %, and a number that overflows becomes the greatest int.
func ParseLimit(text string) (Limit, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return Limit{}, fmt.Errorf(`must be a number of machines or a percentage like "40%%", is %q`, text)
	}
	n = max(0, min(n, math.MaxInt32))
	if percent {
		n = min(n, 100)
	}
	return Limit{set: true, number: n, percent: percent, text: text}, nil
}

// Of returns how many of total the limit is: 40 % of 5 is 2, 60 % of 7 is 4.
func (l Limit) Of(total int) int {
	switch {
	case !l.set:
		return total
	case l.percent:
		return l.number * total / 100
	}
	return l.number
}

// String returns the limit as it was written.
func (l Limit) String() string {
	if !l.set {
		return "<nil>"
	}
	return l.text
}
