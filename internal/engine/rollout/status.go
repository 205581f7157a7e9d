package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/limits"
)

// status counts the machines, and judges the progress of the rollout.
func (q *input) status() {
	if q.draft.status.Faulty {
		return
	}
	st := q.count()
	st.Failure = q.failure()
	st.Waiting = q.waiting
	if q.stopped != "" {
		st.Waiting = q.stopped
	}
	st.Progress = q.progress(st)
	q.draft.status = st
	q.ripen()
}

// count counts the machines.
func (q *input) count() (st Status) {
	for _, b := range append(q.all[:len(q.all):len(q.all)], q.dying...) {
		n := b.living
		if q.p.StatusCountsLeaving {
			n += b.leaving
		}
		st.Replicas += n
		if b == q.current {
			st.Updated = n
		}
		st.Ready += b.ready
		st.Available += b.available
		st.Unavailable += b.want.Replicas
		for _, m := range b.Machines {
			if m.Kept() && m.Counts() {
				st.Kept++
			}
		}
	}
	st.Unavailable = max(0, st.Unavailable-st.Available)
	st.Floor = q.floor()
	st.Enough = st.Available >= st.Floor
	st.Complete = q.current != nil && st.Updated == q.d.Replicas && st.Replicas == q.d.Replicas && st.Available == q.d.Replicas
	return st
}

// failure mirrors the current set's failure, otherwise the first failure of an old set.
func (q *input) failure() *Failure {
	if q.held != "" {
		return &Failure{Reason: limits.CreationHeld, Message: q.held}
	}
	if q.current != nil && q.current.Failure != nil {
		return q.current.Failure
	}
	for _, b := range q.old {
		if b.Failure != nil {
			return b.Failure
		}
	}
	return nil
}

// ripen schedules a decision for when the next machine has been ready for long enough.
func (q *input) ripen() {
	if q.p.MinReady == 0 {
		return
	}
	for _, b := range q.all {
		for _, m := range b.Machines {
			if m.Usable && m.Counts() && !m.ReadySince.IsZero() {
				q.again(m.ReadySince.Add(q.p.MinReady).Sub(q.now) + 1)
			}
		}
	}
}

// progress returns the condition with the progress of the rollout. It does not change as long as nothing
// relevant has happened.
func (q *input) progress(st Status) Progress {
	last := q.d.Last.Progress
	told := func(t Truth, r Reason, message string) Progress {
		if last.Status == t && last.Reason == r && last.Message == message {
			return last
		}
		return Progress{Status: t, Reason: r, Message: message, Since: q.now}
	}
	switch {
	case q.d.Deleting:
		return last
	case q.stopped != "":
		return told(False, Stopped, q.stopped)
	case q.d.Paused && last.Reason == DeadlineExceeded:
		return last
	case q.d.Paused:
		return told(Unknown, IsPaused, "the rollout is paused")
	case last.Reason == IsPaused:
		q.again(time.Second) // to report the progress
		return told(Unknown, IsResumed, "the rollout is resumed")
	case q.draft.create != nil:
		return told(True, SetCreated, "a set of the current template is being created")
	case st.Complete:
		return told(True, SetAvailable, fmt.Sprintf("set %s has all %s available", q.current.Name, machines(q.d.Replicas)))
	case last.Status == "" && q.current != nil:
		return told(True, SetFound, fmt.Sprintf("set %s has the current template", q.current.Name))
	case last.Reason == SetAvailable && last.Status == True && st.Updated == st.Replicas:
		return last // later changes of machines are not a rollout
	case q.moved(st):
		return Progress{Status: True, Reason: SetUpdated, Message: q.line(st), Since: q.now}
	}
	return q.standstill(st, told)
}

// updated returns how many machines are of the current template, except those under deletion that have a
// replacement.
func (q *input) updated(st Status) int {
	if q.current == nil {
		return st.Updated
	}
	return min(st.Updated, max(q.current.want.Replicas, q.current.living))
}

// moved reports whether the rollout has progressed since the status was last written.
func (q *input) moved(st Status) bool {
	last := q.d.Last
	return q.updated(st) > last.Updated || st.Replicas-st.Updated < last.Old || st.Ready > last.Ready || st.Available > last.Available
}

// heldBack returns which set deletes no machine before a user approves it; empty if none is held.
func (q *input) heldBack() string {
	for _, b := range q.all {
		if b.Failure != nil && b.Failure.Withheld {
			return fmt.Sprintf("set %s deletes no machine: %s", b.Name, b.Failure.Message)
		}
	}
	return ""
}

// standstill judges a rollout without progress since the last pass. A rollout that waits for a user, or for
// the soak time of its canary, is not late. While a guard holds machines the deadline is suspended, as in a
// pause, and begins again afterwards: no rollout is late the moment after the approval.
func (q *input) standstill(st Status, told func(Truth, Reason, string) Progress) Progress {
	if why := q.heldBack(); why != "" {
		return told(Unknown, HeldBack, why)
	}
	last := q.d.Last.Progress
	switch last.Reason {
	case InvalidObject, SelectsAll, Stopped, HeldBack, SetCreateError, SetAvailable:
		// The obstacle has been removed, or a new rollout begins with an existing set.
		return told(True, SetUpdated, q.line(st))
	}
	if q.d.Deadline > 0 && last.Reason != SetAvailable && last.Reason != DeadlineExceeded && !q.patient {
		left := q.d.Connectivity.Remaining(last.Since, q.d.Deadline, q.now)
		if left < 0 {
			message := fmt.Sprintf("no progress for %s: %s", q.d.Deadline, q.line(st))
			if q.unseen != "" {
				message += fmt.Sprintf("; the controller of set %s has not processed it", q.unseen)
			}
			return told(False, DeadlineExceeded, message)
		}
		q.again(left + time.Second)
	}
	if last.Reason == SetUpdated && last.Status == True && last.Message != q.line(st) {
		last.Message = q.line(st)
	}
	return last
}

// line returns the progress of the rollout, for users.
func (q *input) line(st Status) string {
	out := fmt.Sprintf("%d of %d machines updated", q.updated(st), q.d.Replicas)
	if old := st.Replicas - st.Updated; old > 0 {
		out += fmt.Sprintf(", %d old left", old)
	}
	out += fmt.Sprintf(", %d available", st.Available)
	if q.d.Guard.Estimate {
		out += q.estimate()
	}
	if q.waiting != "" {
		out += "; " + q.waiting
	}
	if a := q.alarm(); a.State == AlarmTold {
		out += "; " + a.Text
	}
	return out
}

// estimate returns how long the rest takes at the pace since the first new machine: 4 of 10 done after 8
// minutes leave 12. A machine that was updated in place is older than its set; a set that was returned to in
// place is older than the rollout, and allows no estimate.
func (q *input) estimate() string {
	n := q.current
	if n == nil || n.available == 0 {
		return ", no estimate before the first one is available"
	}
	left := q.d.Replicas - n.available
	begun := q.now
	for _, m := range n.Machines {
		if m.Counts() && m.Created.Before(begun) {
			begun = m.Created
		}
	}
	if q.d.Strategy == InPlace {
		begun = n.Created
	}
	returned := q.d.Strategy == InPlace && slices.ContainsFunc(q.old, func(b *setState) bool { return b.Created.After(n.Created) })
	if left <= 0 || returned {
		return ""
	}
	each := q.now.Sub(begun) / time.Duration(n.available)
	return fmt.Sprintf(", about %s to go at %s a machine", coarse(each*time.Duration(left)), coarse(each))
}

// coarse rounds so that the line does not change with every pass: to 5 s below a minute, to a minute below an
// hour, otherwise to 10 minutes.
func coarse(d time.Duration) string {
	switch {
	case d < time.Minute:
		return max(5*time.Second, d.Round(5*time.Second)).String()
	case d < time.Hour:
		d = d.Round(time.Minute)
	default:
		d = d.Round(10 * time.Minute)
	}
	return strings.TrimSuffix(d.String(), "0s")
}
