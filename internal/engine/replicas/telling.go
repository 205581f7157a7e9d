package replicas

import "time"

// A set reports each machine that it creates or deletes in an event of its own, up to tellBurst at once and one in
// tellEvery after that. It reports the others by their number. In a rollout of a hundred machines, events would
// otherwise be a twentieth of all writes.
const (
	tellBurst = 11
	tellEvery = 6 * time.Second
)

// Telling bounds the events of a set about machines. The zero value has reported nothing.
type Telling struct {
	// credit pays for events at the time at: each costs tellEvery.
	credit time.Duration
	at     time.Time
	// pending is how many machines no event has reported yet.
	pending int
}

// Take returns how many of n further machines have an event of their own now, and for how many other machines, including
// earlier ones, one event has the number (0: there is no such event). If again is not zero, Take has to be called
// again after that time, because machines are not reported yet.
func (t *Telling) Take(now time.Time, n int) (named, more int, again time.Duration) {
	t.earn(now)
	if t.pending == 0 {
		events := int(t.credit / tellEvery)
		if named = n; n > events {
			named = max(0, events-1)
		}
		t.credit -= time.Duration(named) * tellEvery
	}
	t.pending += n - named
	switch {
	case t.pending == 0:
	case t.credit >= tellEvery:
		more, t.pending = t.pending, 0
		t.credit -= tellEvery
	default:
		again = tellEvery - t.credit
	}
	return named, more, again
}

// earn adds the time that has passed to the credit.
func (t *Telling) earn(now time.Time) {
	switch passed := now.Sub(t.at); {
	case t.at.IsZero():
		t.credit = tellBurst * tellEvery
	case passed > 0:
		t.credit = min(tellBurst*tellEvery, t.credit+passed)
	}
	t.at = now
}
