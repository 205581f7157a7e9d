package rollout

import (
	"slices"
	"time"
)

// Alarm is what health checks say about what the machines of a set are made
// from. The zero Alarm is none.
type Alarm struct {
	State AlarmState
	// Template names what the machines are made from, as far as that can be to
	// blame: sets of the same name share the alarm.
	Template string
	// Text says who gives the alarm and by which numbers, for people.
	Text string
	// Until is when [AlarmWaits] ends.
	Until time.Time
}

// AlarmState is what an alarm means to a rollout.
type AlarmState string

// The states of an alarm.
const (
	AlarmNone AlarmState = ""
	// AlarmTold is named where people look, and changes nothing.
	AlarmTold AlarmState = "Told"
	// AlarmUnsure: nobody could ask. What is stopped stays so, and what goes on
	// goes on.
	AlarmUnsure AlarmState = "Unsure"
	// AlarmWaits stops a rollout for a while after what gave the alarm is over.
	AlarmWaits AlarmState = "Waits"
	// AlarmStops stops a rollout.
	AlarmStops AlarmState = "Stops"
)

// stops reports whether a keeps a rollout to it from going on.
func (a Alarm) stops() bool { return a.State == AlarmStops || a.State == AlarmWaits }

// alarm is that of the current set. One that an old set in use shares is only
// told: what the rollout changes is not to blame, and may be the cure.
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

// alarmed says why an alarm stops the rollout, empty when none does, and
// whether to go back. That takes what gave the alarm to be under way, and sight
// that has settled: machines that nobody sees are no bad machines. The canary
// has to stand its time anew.
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

// settled reports whether the clusters are seen, and have been for long enough
// to believe what was found out about nodes.
func (q *input) settled() bool {
	left := q.d.Connectivity.SettlesIn(q.now)
	q.again(left)
	return q.d.Connectivity.Connected() && left <= 0
}
