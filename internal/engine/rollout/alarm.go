package rollout

import (
	"slices"
	"time"
)

// Alarm is the report of health checks about the template of a set's machines. The zero Alarm means no alarm.
type Alarm struct {
	State AlarmState
	// Template identifies the part of the template that can be the cause: sets with the same value share the
	// alarm.
	Template string
	// Text names the source of the alarm and its counts, for users.
	Text string
	// Until is when [AlarmWaits] ends.
	Until time.Time
}

// AlarmState is the effect of an alarm on a rollout.
type AlarmState string

// The states of an alarm.
const (
	AlarmNone AlarmState = ""
	// AlarmTold is reported to users, and changes nothing.
	AlarmTold AlarmState = "Told"
	// AlarmUnsure: the health checks could not be read. A stopped rollout stays stopped, and an active one
	// continues.
	AlarmUnsure AlarmState = "Unsure"
	// AlarmWaits stops a rollout for a while after the cause of the alarm has ended.
	AlarmWaits AlarmState = "Waits"
	// AlarmStops stops a rollout.
	AlarmStops AlarmState = "Stops"
)

// stops reports whether a stops a rollout to its template.
func (a Alarm) stops() bool { return a.State == AlarmStops || a.State == AlarmWaits }

// alarm returns the alarm of the current set. If an old set in use shares it, it is only reported: then the
// change is not the cause, and may be the fix.
func (q *input) alarm() Alarm {
	if q.current == nil {
		return Alarm{}
	}
	a := q.current.Alarm
	if a.stops() && slices.ContainsFunc(q.old, func(b *setState) bool { return b.inUse() && b.Alarm.Template == a.Template }) {
		a.State = AlarmTold
	}
	return a
}

// alarmed returns why an alarm stops the rollout, empty if none does, and whether to roll back. A rollback
// requires that the cause is still present, and that the connection has settled: machines that cannot be
// observed are not bad machines. The canary has to soak again.
func (q *input) alarmed() (why string, back bool) {
	a := q.alarm()
	switch a.State {
	case AlarmNone, AlarmTold:
		return "", false
	case AlarmUnsure:
		if q.d.Last.Progress.Reason != Stopped {
			return "", false
		}
	case AlarmWaits:
		q.again(a.Until.Sub(q.now))
	case AlarmStops:
		back = q.d.Guard.RollBack && q.settled()
	}
	q.current.want.Notes.CanarySince = time.Time{}
	return a.Text + keeping, back
}

// settled reports whether the clusters are connected, and have been for long enough to trust facts about
// nodes.
func (q *input) settled() bool {
	left := q.d.Connectivity.SettlesIn(q.now)
	q.again(left)
	return q.d.Connectivity.Connected() && left <= 0
}
