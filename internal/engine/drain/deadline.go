package drain

import (
	"slices"
	"time"
)

// DeadlineMargin is how long before the deadline budgets cease to hold where
// [Policy].ForceLate says so. Clouds that take an instance back give notice of
// 30 s at least: half of that is left to budgets, half to pods to end.
const DeadlineMargin = 15 * time.Second

// deadlineSlack is between the end of a pod and the deadline: the kubelet has to
// see the request, and to tell that the pod has ended.
const deadlineSlack = 2 * time.Second

// Past reports whether the deadline is over, so that nothing is left to save.
func (p Policy) Past(now time.Time) bool { return p.hurried() && !now.Before(p.Deadline) }

// hurried reports whether there is a deadline. No pod waits for another then.
func (p Policy) hurried() bool { return !p.Deadline.IsZero() }

// forces reports whether pods are deleted whatever their budgets say.
func (p Policy) forces(now time.Time) bool {
	return p.Force || p.hurried() && p.ForceLate && !now.Before(p.Deadline.Add(-DeadlineMargin))
}

// left is the longest grace period with which a pod that is asked now ends in
// time, in whole seconds. It is one at least: none at all would take the pod out
// of the API before its kubelet has ended it.
func (p Policy) left(now time.Time) time.Duration {
	return max(p.Deadline.Sub(now)-deadlineSlack, time.Second).Truncate(time.Second)
}

// cut is a grace period that does not go beyond the deadline.
func (p Policy) cut(now time.Time, grace time.Duration) time.Duration {
	if !p.hurried() {
		return grace
	}
	return min(grace, p.left(now))
}

// moments are those at which a deadline changes what is done.
func (p Policy) moments() []time.Time {
	switch {
	case !p.hurried():
		return nil
	case p.ForceLate && !p.Force:
		return []time.Time{p.Deadline.Add(-DeadlineMargin), p.Deadline}
	}
	return []time.Time{p.Deadline}
}

// Abandoned is how many pods were still there when the deadline was over.
func (d Decision) Abandoned() (n int) {
	for _, i := range d.Ignored {
		if i.Reason == ReasonDeadline {
			n++
		}
	}
	return n
}

// Refused reports whether the API server refused a request for another reason
// than a budget.
func (d Decision) Refused() bool {
	return slices.ContainsFunc(d.Blocked, func(b Blocker) bool { return b.Reason == ReasonRefused })
}
