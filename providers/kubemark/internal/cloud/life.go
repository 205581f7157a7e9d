package cloud

import (
	"hash/fnv"
	"math"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Want is what the body of an instance should be like.
type Want string

// What can be wanted of a body.
const (
	// Absent: nothing runs yet, and nothing has to be done.
	Absent Want = ""
	// Up: it runs and answers.
	Up Want = "up"
	// Silent: it runs and does not answer.
	Silent Want = "silent"
	// Down: it does not run.
	Down Want = "down"
	// Removed: the instance is to go, with all that belongs to it.
	Removed Want = "removed"
)

// never is later than every clock.
var never = time.Unix(1<<40, 0)

// Life is what the clock says of an instance.
type Life struct {
	// Want is what the body should be like now.
	Want Want
	// State is the instance's, for a body that is as wanted.
	State provider.State
	// Next is when Want or State changes by itself; zero when it does not.
	Next time.Time
}

// LifeAt says how the instance is doing at now.
func (r Record) LifeAt(now time.Time) Life {
	going := r.going()
	if !now.Before(going) {
		gone := going.Add(r.Traits.DeleteLatency)
		if !now.Before(gone) {
			return Life{Want: Removed, State: provider.Stopping}
		}
		// It keeps running while it shuts down.
		return Life{Want: r.Body.Want, State: provider.Stopping, Next: gone}
	}
	l := r.poweredAt(now)
	if going != never {
		l.Next = earlier(l.Next, going)
	}
	return l
}

// going is the moment from which the instance is on its way out, or never.
func (r Record) going() time.Time {
	t := never
	if !r.Deleted.IsZero() {
		t = r.Deleted
	}
	if i := r.InterruptedAt(); !i.IsZero() && i.Before(t) {
		t = i
	}
	return t
}

// running is the first moment of running.
func (r Record) running() time.Time { return r.Created.Add(r.Traits.CreateLatency) }

// poweredAt is LifeAt for an instance that is not on its way out.
func (r Record) poweredAt(now time.Time) Life {
	since := r.running()
	if now.Before(since) {
		return Life{Want: Absent, State: provider.Pending, Next: since}
	}
	if r.Traits.Fault != "" {
		return Life{Want: Absent, State: provider.Stopped}
	}
	if r.Power == PowerOff {
		return Life{Want: Down, State: provider.Stopped}
	}
	if r.PowerAt.After(since) {
		since = r.PowerAt
	}
	booted := since.Add(r.Traits.BootLatency + r.bootShift())
	l := r.upAt(now, booted)
	if r.Traits.DiesAfter == 0 {
		return l
	}
	dead := since.Add(r.Traits.DiesAfter)
	if !now.Before(dead) {
		return Life{Want: Down, State: provider.Stopped}
	}
	l.Next = earlier(l.Next, dead)
	return l
}

// bootShift is by how much the instance boots longer or shorter than others: the same each time.
func (r Record) bootShift() time.Duration {
	if r.Traits.BootSpread == 0 {
		return 0
	}
	h := fnv.New32a()
	h.Write([]byte(r.ID))
	return time.Duration((float64(h.Sum32())/math.MaxUint32*2 - 1) * float64(r.Traits.BootSpread))
}

// earlier is the earlier of two moments of which the first may be zero: never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// upAt is LifeAt for an instance that is powered on and booted at booted.
func (r Record) upAt(now, booted time.Time) Life {
	l := Life{Want: Absent, State: provider.Running}
	if r.Power == PowerReboot && r.Body.Want != Absent {
		// The old body has to go before the new one comes.
		l.Want = Down
		return l
	}
	if r.Traits.NeverJoins {
		return l
	}
	if now.Before(booted) {
		l.Next = booted
		return l
	}
	l.Want, l.Next = r.moodAt(now, booted)
	return l
}

// moodAt says whether the body answers: for Healthy, then not for Silent, and
// so on. With Healthy 30s and Silent 10s it is silent at 30–40 s, 70–80 s, ...
func (r Record) moodAt(now, booted time.Time) (Want, time.Time) {
	healthy, silent := r.Traits.Healthy, r.Traits.Silent
	if healthy == 0 {
		return Up, time.Time{}
	}
	age := now.Sub(booted)
	if silent == 0 {
		if age >= healthy {
			return Silent, time.Time{}
		}
		return Up, booted.Add(healthy)
	}
	period := healthy + silent
	start := booted.Add(age - age%period)
	if age%period >= healthy {
		return Silent, start.Add(period)
	}
	return Up, start.Add(healthy)
}
