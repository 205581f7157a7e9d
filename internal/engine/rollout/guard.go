package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// guard takes the precautions that were asked for, of the deployment or of a
// health check. A rollout that is stopped keeps what it has: nothing grows but
// by a change of the wanted number, and nothing old is given up.
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
		// Who resumes wants another attempt.
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

// keeping ends the line about a rollout that is stopped.
const keeping = "; keeping what there is"

// failed says why machines that did not become ready stop the rollout, empty
// when they do not, and whether to go back.
func (q *input) failed() (why string, back bool) {
	failed := q.current.want.Notes.Failed
	if most := q.d.Guard.MaxFailures; most == 0 || len(failed) < most {
		return "", false
	}
	return fmt.Sprintf("%s of set %s did not become ready (%s)", machines(len(failed)), q.current.Name, some(failed)) + keeping, q.d.Guard.RollBack
}

// ongoing reports whether a rollout is under way: machines of an old template
// are left, or those of the present one were never all available.
func (q *input) ongoing() bool {
	return q.rolling() || q.d.Last.Progress.Reason != SetAvailable
}

// failures are the machines in a row that did not become ready, those included
// that are gone by now. In a row means that no machine made later works. Of
// updates in place all count, since they follow no order.
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

// madeAt stands between the name of a failed machine and when it was made.
const madeAt = "~"

// miscarried reports whether a new machine did not become ready: it was given
// up, or took too long, or left before it joined. Who scales down takes
// machines away that had no time to join: those that left are held to the same
// time where there is one. When it will be up is the next moment to look.
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

// canary is how many machines the step takes, at least one; all that are wanted
// where there is none, or no old machine to tell the difference from.
func (q *input) canary() int {
	n := q.d.Replicas
	stepwise := q.d.Strategy == Rolling || q.d.Strategy == InPlace
	if q.d.Guard.Canary == nil || !stepwise || !q.rolling() {
		return n
	}
	return min(n, max(1, share(q.d.Guard.Canary, n, true)))
}

// grown is how large the current set may get by making machines. At a canary,
// what is being updated in place comes on top.
func (q *input) grown() int {
	if q.limit >= q.d.Replicas {
		return q.d.Replicas
	}
	return q.limit - q.underway()
}

// canaryPassed reports whether the rest may follow: a person said so, the
// canary has been available for long enough, or it was passed before.
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
	// A canary passes by time in which somebody looked.
	left := q.d.Connectivity.Remaining(n.want.Notes.CanarySince, g.Soak, q.now)
	if left <= 0 {
		return true
	}
	q.again(connectivity.Again(left))
	q.waiting = fmt.Sprintf("the canary of %s is available and has to stay so until %s", machines(q.limit), q.now.Add(left).UTC().Format(time.RFC3339))
	return false
}

// retreat goes back to the newest revision before the current one of which no
// alarm is given.
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

// again asks for another look after d at the latest.
func (q *input) again(d time.Duration) {
	if d > 0 && (q.draft.after == 0 || d < q.draft.after) {
		q.draft.after = d
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
		name, _, _ := strings.Cut(n, madeAt)
		out += name
	}
	if len(names) > most {
		out += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return out
}
