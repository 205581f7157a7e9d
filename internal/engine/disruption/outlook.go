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
	// Unanswered says why the limit applies although the answer to its query is unknown; empty if it is known, or without a query.
	Unanswered string
}

// horizon is how far ahead the next window of a limit is looked for.
const horizon = 400 * 24 * time.Hour

// Limits returns the states of the limits in the order of spec.budgets. Those of an invalid budget are not meaningful.
func (b Budget) Limits(now time.Time, machines int) (out []LimitState) {
	for _, l := range b.limits {
		s := LimitState{Allowed: l.nodes.of(machines)}
		s.Ends, s.Active = l.active(now)
		if l.window != nil && s.Ends.IsZero() {
			s.Begins = l.window.schedule.next(now, horizon, l.window.zone)
		}
		if l.query != nil {
			s.Unanswered = l.query.unanswered(now)
		}
		out = append(out, s)
	}
	return out
}

// SelectsAll reports whether the budget is about all machines.
func (b Budget) SelectsAll() bool { return b.selector.Empty() }

// Selector returns the selector as text; empty: all machines.
func (b Budget) Selector() string { return b.selector.String() }
