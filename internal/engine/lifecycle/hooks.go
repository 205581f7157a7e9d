package lifecycle

import "time"

// waitForHooks stops the deletion until the owners of hooks remove them, without a limit: each owner relies
// on its hook. After [DrainPolicy].HookPatience the wait is overdue, and is reported.
func (q input) waitForHooks(d Decision, since time.Time) *Decision {
	if q.p.Drain.HookPatience <= 0 {
		return &d
	}
	if left := q.p.Drain.HookPatience - q.now.Sub(since); left > 0 {
		d.Step, d.After = Await, left
		return &d
	}
	d.Overdue = true
	return &d
}

// hooksBlockSince returns since when only the pre-terminate hooks have stopped the deletion. Earlier delays
// are not their owners' fault.
func (q input) hooksBlockSince() time.Time {
	switch {
	case !q.m.Deletion.DrainedAt.IsZero():
		return q.m.Deletion.DrainedAt
	case q.w.Drain.Result != nil:
		return q.now
	}
	return q.m.Deleted
}
