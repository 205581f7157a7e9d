package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// guard applies the precautions of the deployment and of health checks. A stopped rollout keeps its machines:
// no set grows except after a change of the wanted number, and no old machine is deleted.
func (q *input) guard() bool {
	n := q.current
	if n == nil {
		return false
	}
	q.limit = q.canary()
	if q.limit < q.d.Replicas && q.canaryPassed() {
		q.limit = q.d.Replicas
	}
	switch {
	case q.d.Paused:
		// A resumed rollout gets another attempt.
		n.want.Notes.Failed = nil
		return false
	case !q.ongoing():
		n.want.Notes, n.want.NoGrowth = Notes{}, false
		return false
	}
	n.want.Notes.Failed = q.failures()
	why, back := q.failed()
	if why == "" {
		why, back = q.alarmed()
	}
	q.stopped, n.want.NoGrowth = why, why != ""
	if back {
		return q.retreat()
	}
	return false
}

// keeping ends the message about a stopped rollout.
const keeping = "; keeping what there is"

// failed returns why machines that did not become ready stop the rollout, empty if they do not, and whether
// to roll back.
func (q *input) failed() (why string, back bool) {
	failed := q.current.want.Notes.Failed
	if most := q.d.Guard.MaxFailures; most == 0 || len(failed) < most {
		return "", false
	}
	return fmt.Sprintf("%s of set %s did not become ready (%s)", machines(len(failed)), q.current.Name, some(failed)) + keeping, q.d.Guard.RollBack
}

// ongoing reports whether a rollout is in progress: machines of an old template are left, or those of the
// current one were never all available.
func (q *input) ongoing() bool {
	return q.rolling() || q.d.Last.Progress.Reason != SetAvailable
}

// failures returns the machines in a row that did not become ready, including those that are deleted by now.
// In a row means that no machine created later works. Failed updates in place all count, since they have no
// order.
func (q *input) failures() []string {
	if q.d.Guard.MaxFailures == 0 {
		return nil
	}
	there := map[string]bool{}
	var last time.Time
	var out []string
	for _, m := range q.current.Machines {
		there[m.Name] = true
		if m.Counts() && m.Ready && m.Created.After(last) {
			last = m.Created
		}
		if q.miscarried(m) {
			out = append(out, m.Name+madeAt+m.Created.UTC().Format(time.RFC3339))
		}
	}
	for _, b := range q.old {
		for _, m := range b.Machines {
			there[m.Name] = true
			if m.Update.State() == inplace.Failed {
				out = append(out, m.Name)
			}
		}
	}
	for _, noted := range q.current.Notes.Failed {
		if name, _, _ := strings.Cut(noted, madeAt); !there[name] {
			out = append(out, noted)
		}
	}
	out = slices.DeleteFunc(out, func(noted string) bool {
		_, at, _ := strings.Cut(noted, madeAt)
		made, err := time.Parse(time.RFC3339, at)
		return err == nil && !made.After(last)
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// madeAt separates the name of a failed machine and its creation time.
const madeAt = "~"

// miscarried reports whether a new machine did not become ready: it failed, or took too long, or was deleted
// before it joined. A scale-down deletes machines that had no time to join, so ReadyWithin, if set, applies
// to deleted machines as well. The end of that time is the next moment to decide.
func (q *input) miscarried(m Machine) bool {
	switch {
	case m.Failed:
		return true
	case m.Ready, !m.Counts() && (m.Asked || m.Joined):
		return false
	case q.d.Guard.ReadyWithin == 0:
		return !m.Counts()
	}
	left := q.d.Connectivity.Remaining(m.Created, q.d.Guard.ReadyWithin, q.now)
	if m.Counts() {
		q.again(connectivity.Again(left))
	}
	return left <= 0
}

// canary returns the size of the canary, at least one; all wanted machines if there is no canary step, or no
// old machine to compare with.
func (q *input) canary() int {
	n := q.d.Replicas
	stepwise := q.d.Strategy == Rolling || q.d.Strategy == InPlace
	if q.d.Guard.Canary == nil || !stepwise || !q.rolling() {
		return n
	}
	return min(n, max(1, share(q.d.Guard.Canary, n, true)))
}

// grown returns how large the current set may get by creating machines. During a canary, machines that are
// being updated in place are added.
func (q *input) grown() int {
	if q.limit >= q.d.Replicas {
		return q.d.Replicas
	}
	return q.limit - q.underway()
}

// canaryPassed reports whether the rest may follow: a user approved it, the canary has been available for
// long enough, or it passed before.
func (q *input) canaryPassed() bool {
	n, g := q.current, q.d.Guard
	revision := n.want.Revision
	switch {
	case g.Approved != 0 && g.Approved == revision, n.Replicas > q.limit:
		return true
	case n.available < q.limit:
		n.want.Notes.CanarySince = time.Time{}
		return false
	case n.Notes.CanarySince.IsZero():
		n.want.Notes.CanarySince = q.now
	}
	q.patient = true
	if g.Soak == 0 {
		q.waiting = fmt.Sprintf("the canary of %s is available; approve it with the annotation %s: %q", machines(q.limit), ApproveKey, fmt.Sprint(revision))
		return false
	}
	// Only watched time counts for the canary.
	left := q.d.Connectivity.Remaining(n.want.Notes.CanarySince, g.Soak, q.now)
	if left <= 0 {
		return true
	}
	q.again(connectivity.Again(left))
	q.waiting = fmt.Sprintf("the canary of %s is available and has to stay so until %s", machines(q.limit), q.now.Add(left).UTC().Format(time.RFC3339))
	return false
}

// retreat rolls back to the newest revision before the current one that has no alarm.
func (q *input) retreat() bool {
	var to *setState
	for _, b := range q.old {
		if b.Revision > 0 && !b.Alarm.stops() && (to == nil || b.Revision > to.Revision) {
			to = b
		}
	}
	if to == nil {
		return false
	}
	q.draft.back = &RollBack{
		To: &SetRef{UID: to.UID, Name: to.Name, Note: q.stopped}, Found: true, Differs: true, Automatic: true, Revision: to.Revision,
		Note: fmt.Sprintf("going back to revision %d: %s", to.Revision, q.stopped),
	}
	return true
}

// again schedules the next decision after d at the latest.
func (q *input) again(d time.Duration) {
	if d > 0 && (q.draft.after == 0 || d < q.draft.after) {
		q.draft.after = d
	}
}

// some returns up to three of the names.
func some(names []string) string {
	const most = 3
	out := ""
	for i, n := range names[:min(len(names), most)] {
		if i > 0 {
			out += ", "
		}
		name, _, _ := strings.Cut(n, madeAt)
		out += name
	}
	if len(names) > most {
		out += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return out
}
