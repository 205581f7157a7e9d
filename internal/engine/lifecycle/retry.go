package lifecycle

import (
	"cmp"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// after returns how long to wait after err has happened so many times in a row. The pause that the
// infrastructure requests comes first, then the one for the kind of error. With Transient at 5 s: 0.5, 1, 2,
// 4, 5, 5 … seconds. It is never less than [FirstDelay]: a pass without a pause would not end.
func (d Delays) after(err error, failures int) time.Duration {
	return max(d.wanted(err, failures), FirstDelay)
}

// toldFor is how long an event that is not repeated is relied on: API servers keep events for an hour, and
// the next attempt may be a quarter of an hour away.
const toldFor = 40 * time.Minute

// News reports whether at now a failure still has to be reported that the object itself does not show, or no
// longer.
func (r Retry) News(now time.Time) bool {
	return r.Err != nil && (r.Told.IsZero() || now.Sub(r.Told) >= toldFor)
}

// mostLookDelay is how long a machine with an instance may go without another lookup, after failed lookups.
const mostLookDelay = 5 * time.Minute

// lookAgain returns when to ask the infrastructure again about an instance that existed: the machine
// continues without the answer, but reports meanwhile that it is unknown, or not trusted. Many machines may
// do so at once, and ask ever less often. Zero: the infrastructure answered.
func (q input) lookAgain() time.Duration {
	if q.w.Contradiction(q.m) != "" {
		return q.p.Delays.unmended()
	}
	err := unseen(q)
	if err == nil {
		return 0
	}
	rarely := Delays{Transient: mostLookDelay, Exhausted: mostLookDelay, Other: mostLookDelay}
	return max(q.p.Delays.after(err, q.w.Retry.Failures), rarely.after(err, q.w.Retry.Failures))
}

// unseen returns why the infrastructure does not report the state of an instance that the machine had; nil:
// it does.
func unseen(q input) error {
	if q.w.Instances.Looked || !q.m.Recorded.Provisioned {
		return nil
	}
	return cmp.Or(q.w.Session.Err, q.w.Instances.Err)
}

// initialized reports that an initialization whose answer was lost has succeeded: the instance shows it, or,
// if that cannot be read, a healthy node.
func initialized(q input) bool {
	if !q.w.Instances.Looked {
		return Healthy(q.w.Node.Object, q.p)
	}
	i := q.w.Instances.Of(q.m.Recorded.ProviderID)
	return i != nil && !i.Uninitialized
}

// duplicatesDelay is how soon a machine with additional instances is checked again: no event reports their
// removal.
const duplicatesDelay = 10 * time.Minute

func (q input) duplicatesAgain() time.Duration {
	if q.w.Instances.Looked && len(q.w.Instances.Unrecorded()) > 0 {
		return duplicatesDelay
	}
	return 0
}

// unmended returns when to check again a problem that only a user can fix, and whose fix causes no event.
func (d Delays) unmended() time.Duration { return max(d.Other, FirstDelay) }

// untilTold returns how long to wait before the node is looked up again after err: the pause in err,
// otherwise Transient.
func (d Delays) untilTold(err error) time.Duration {
	if a := provider.AfterOf(err); a > 0 {
		return max(a, FirstDelay)
	}
	return d.Transient
}

func (d Delays) wanted(err error, failures int) time.Duration {
	if a := provider.AfterOf(err); a > 0 {
		return a
	}
	switch provider.KindOf(err) {
	case provider.Exhausted:
		return d.Exhausted
	case provider.Invalid, provider.Denied:
		return d.Other
	}
	wait := FirstDelay
	for range min(max(failures-1, 0), 16) {
		wait *= 2
	}
	return min(wait, d.Transient)
}
