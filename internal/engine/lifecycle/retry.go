package lifecycle

import (
	"cmp"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// after is how long to wait once err has happened so many times in a row. What
// the infrastructure asks for comes first; then the reaction that the kind of
// error calls for. With Transient at 5 s: 0.5, 1, 2, 4, 5, 5 … seconds. It is
// never less than [FirstDelay]: a pass that needs no pause does not end.
func (d Delays) after(err error, failures int) time.Duration {
	return max(d.wanted(err, failures), FirstDelay)
}

// toldFor is how long an event that nothing else repeats is relied on: API servers
// keep events for an hour, and the next attempt may be a quarter of an hour away.
const toldFor = 40 * time.Minute

// News reports whether people have yet to hear at now of a failure that the object
// itself does not name, or may have forgotten.
func (r Retry) News(now time.Time) bool {
	return r.Err != nil && (r.Told.IsZero() || now.Sub(r.Told) >= toldFor)
}

// mostLookDelay is how long a machine that has its instance may go without another
// look at it, after looks that failed.
const mostLookDelay = 5 * time.Minute

// lookAgain is when to ask the infrastructure once more about an instance that was
// there: the machine lives on without the answer, but says meanwhile that it does
// not know, or that it does not believe the answer. Many machines may do so at
// once, and ask ever more rarely. Zero: it answered.
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

// unseen is why the infrastructure does not say how the instance of a machine is that
// had one; nil: it does.
func unseen(q input) error {
	if q.w.Instances.Looked || !q.m.Recorded.Provisioned {
		return nil
	}
	return cmp.Or(q.w.Session.Err, q.w.Instances.Err)
}

// initialized reports that an attempt at it whose answer was lost took effect: the instance
// says so, or, while nobody may see that, a healthy node.
func initialized(q input) bool {
	if !q.w.Instances.Looked {
		return Healthy(q.w.Node.Object, q.p)
	}
	i := q.w.Instances.Of(q.m.Recorded.ProviderID)
	return i != nil && !i.Uninitialized
}

// duplicatesDelay is how soon a machine that has instances besides its own is looked
// at again: nothing tells when somebody has removed them.
const duplicatesDelay = 10 * time.Minute

func (q input) duplicatesAgain() time.Duration {
	if q.w.Instances.Looked && len(q.w.Instances.Unrecorded()) > 0 {
		return duplicatesDelay
	}
	return 0
}

// unmended is when to look again at what only a person can mend, and nothing tells
// when that is done.
func (d Delays) unmended() time.Duration { return max(d.Other, FirstDelay) }

// untilTold is how long to wait before the node is looked up again, which err prevented: as long as err says, or else Transient.
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
