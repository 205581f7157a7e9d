package disruption

import (
	"time"
)

// LimitState is the state of one limit of a budget.
type LimitState struct {
	// Allowed is how many disruptions the limit allows at the same time.
	Allowed int
	// Active says that the limit applies now. Then Ends is when it ends by itself; otherwise Begins is when it applies
	// next. Zero: that does not happen, or not within [horizon].
	Active       bool
	Ends, Begins time.Time
}

// horizon is how far ahead the next window of a limit is looked for.
const horizon = 400 * 24 * time.Hour

// Limits returns the states of the limits in the order of spec.budgets. Those of an invalid budget are not meaningful.
func (b Budget) Limits(now time.Time, machines int) (out []LimitState) {
	for _, l := range b.limits {
		s := LimitState{Allowed: l.nodes.of(machines), Active: true}
		if l.window != nil {
			s.Ends = l.window.ends(now)
			if s.Active = !s.Ends.IsZero(); !s.Active {
				s.Begins = l.window.schedule.next(now, horizon, l.window.zone)
			}
		}
		out = append(out, s)
	}
	return out
}

// SelectsAll reports whether the budget is about all machines.
func (b Budget) SelectsAll() bool { return b.selector.Empty() }

// Selector returns the selector as text; empty: all machines.
func (b Budget) Selector() string { return b.selector.String() }
