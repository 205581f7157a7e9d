package drain

import (
	"slices"
	"time"
)

// DeadlineMargin is how long before the deadline budgets stop holding if [Policy].ForceLate is set. Clouds
// that reclaim an instance send a notice at least 30 s before: budgets hold for half of that, and pods have
// the other half to end.
const DeadlineMargin = 15 * time.Second

// deadlineSlack is the time between the end of a pod and the deadline: the kubelet has to see the request,
// and to report that the pod has ended.
const deadlineSlack = 2 * time.Second

// Past reports whether the deadline is over, so the drain cannot save anything more.
func (p Policy) Past(now time.Time) bool { return p.hurried() && !now.Before(p.Deadline) }

// hurried reports whether the drain has a deadline. Then no pod waits for another.
func (p Policy) hurried() bool { return !p.Deadline.IsZero() }

// forces reports whether pods are deleted regardless of their budgets.
func (p Policy) forces(now time.Time) bool {
	return p.Force || p.hurried() && p.ForceLate && !now.Before(p.Deadline.Add(-DeadlineMargin))
}

// left returns the longest grace period, in whole seconds, with which a pod that is evicted now ends in time.
// It is at least one: a grace period of zero would delete the pod from the API before its kubelet has ended
// it.
func (p Policy) left(now time.Time) time.Duration {
	return max(p.Deadline.Sub(now)-deadlineSlack, time.Second).Truncate(time.Second)
}

// cut limits a grace period to the deadline.
func (p Policy) cut(now time.Time, grace time.Duration) time.Duration {
	if !p.hurried() {
		return grace
	}
	return min(grace, p.left(now))
}

// moments returns the times at which a deadline changes the decision.
func (p Policy) moments() []time.Time {
	switch {
	case !p.hurried():
		return nil
	case p.ForceLate && !p.Force:
		return []time.Time{p.Deadline.Add(-DeadlineMargin), p.Deadline}
	}
	return []time.Time{p.Deadline}
}

// Abandoned returns how many pods were still on the node when the deadline was over.
func (d Decision) Abandoned() (n int) {
	for _, i := range d.Ignored {
		if i.Reason == ReasonDeadline {
			n++
		}
	}
	return n
}

// Refused reports whether the API server refused a request for a reason other than a budget.
func (d Decision) Refused() bool {
	return slices.ContainsFunc(d.Blocked, func(b Blocker) bool { return b.Reason == ReasonRefused })
}
