package rollout

import (
	"fmt"
	"slices"
	"time"
)

// guard takes the precautions that were asked for. A rollout that is stopped
// keeps what it has: nothing grows but by a change of the wanted number, and
// nothing old is given up.
func (q *question) guard() bool {
	n := q.current
	if n == nil || q.d.Paused {
		return false
	}
	if !q.rolling() {
		n.want.Notes, n.want.Held = Notes{}, false
		return false
	}
	q.limit = q.canary(q.d.Replicas)
	if q.limit < q.d.Replicas && q.canaryPassed() {
		q.limit = q.d.Replicas
	}
	n.want.Notes.Failed = q.failures()
	n.want.Held = false
	if most := q.d.Guard.MaxFailures; most == 0 || len(n.want.Notes.Failed) < most {
		return false
	}
	q.stopped = fmt.Sprintf("%s of set %s did not become ready (%s); keeping what there is", machines(len(n.want.Notes.Failed)), n.Name, some(n.want.Notes.Failed))
	n.want.Held = true
	if q.d.Guard.RollBack {
		return q.retreat()
	}
	return false
}

// failures are the new machines that did not become ready, those included that
// are gone by now, until all there are work: only then what went wrong is over.
func (q *question) failures() []string {
	n := q.current
	if q.d.Guard.MaxFailures == 0 {
		return nil
	}
	if n.living > 0 && n.available == n.living && n.living >= n.want.Replicas {
		return nil
	}
	out := slices.Clone(n.Notes.Failed)
	for _, m := range n.Machines {
		if q.miscarried(m) {
			out = append(out, m.Name)
		}
	}
	for _, b := range q.old {
		for _, m := range b.Machines {
			if m.Update == UpdateFailed {
				out = append(out, m.Name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// miscarried reports whether a new machine did not become ready: it was given
// up, or left before it joined although nobody asked for that, or takes too
// long. When the last will be is the next moment to look.
func (q *question) miscarried(m Machine) bool {
	switch {
	case m.Failed:
		return true
	case m.Joined || m.Ready:
		return false
	case m.Leaving:
		return !m.Asked
	case q.d.Guard.ReadyWithin == 0:
		return false
	}
	left := m.Created.Add(q.d.Guard.ReadyWithin).Sub(q.now)
	q.again(left)
	return left <= 0
}

// canary is how many machines the step takes, at least one; all of n where
// there is none.
func (q *question) canary(n int) int {
	if q.d.Guard.Canary == nil {
		return n
	}
	return min(n, max(1, share(q.d.Guard.Canary, n, true)))
}

// canaryPassed reports whether the rest may follow: a person said so, the
// canary has been available for long enough, or it was passed before.
func (q *question) canaryPassed() bool {
	n, g := q.current, q.d.Guard
	revision := max(n.Revision, q.newest(q.old)+1)
	switch {
	case g.Approved != 0 && g.Approved == revision, n.Replicas > q.limit:
		return true
	case n.available < q.limit:
		n.want.Notes.CanarySince = time.Time{}
		return false
	case n.Notes.CanarySince.IsZero():
		n.want.Notes.CanarySince = q.now
	}
	if g.Soak == 0 {
		q.waiting = fmt.Sprintf("the canary of %s is available; approve it with the annotation %s: %q", machines(q.limit), ApproveKey, fmt.Sprint(revision))
		return false
	}
	left := n.want.Notes.CanarySince.Add(g.Soak).Sub(q.now)
	if left <= 0 {
		return true
	}
	q.again(left)
	q.waiting = fmt.Sprintf("the canary of %s is available and has to stay so until %s", machines(q.limit), q.now.Add(left).UTC().Format(time.RFC3339))
	return false
}

// retreat goes back to the newest revision before the current one.
func (q *question) retreat() bool {
	var to *book
	for _, b := range q.old {
		if b.Revision > 0 && (to == nil || b.Revision > to.Revision) {
			to = b
		}
	}
	if to == nil {
		return false
	}
	q.plan.RollBack = &RollBack{
		To: &SetRef{UID: to.UID, Name: to.Name, Note: q.stopped}, Found: true, Differs: true, Automatic: true, Revision: to.Revision,
		Note: fmt.Sprintf("going back to revision %d: %s", to.Revision, q.stopped),
	}
	return true
}

// again asks for another look after d at the latest.
func (q *question) again(d time.Duration) {
	if d > 0 && (q.plan.After == 0 || d < q.plan.After) {
		q.plan.After = d
	}
}

// some names up to three.
func some(names []string) string {
	const most = 3
	out := ""
	for i, n := range names[:min(len(names), most)] {
		if i > 0 {
			out += ", "
		}
		out += n
	}
	if len(names) > most {
		out += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return out
}
