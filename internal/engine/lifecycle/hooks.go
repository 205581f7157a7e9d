package lifecycle

import "time"

// waitForHooks stops the way out for the owners of hooks. There is no end to
// that: whoever put a hook there relies on it. From [DrainPolicy].HookPatience on it is
// overdue, and people should hear of it.
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

// hooksBlockSince is since when the pre-terminate hooks alone have stopped the
// way out. What came before was not their owners' doing.
func (q input) hooksBlockSince() time.Time {
	switch {
	case !q.m.Deletion.DrainedAt.IsZero():
		return q.m.Deletion.DrainedAt
	case q.w.Drain.Result != nil:
		return q.now
	}
	return q.m.Deleted
}
