package cloud

import (
	"hash/fnv"
	"math"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Want is the wanted state of the body of an instance.
type Want string

// The wanted states of a body.
const (
	// Absent: nothing runs yet, and nothing has to be done.
	Absent Want = ""
	// Up: the body runs and answers.
	Up Want = "up"
	// Silent: the body runs and does not answer.
	Silent Want = "silent"
	// Down: the body does not run.
	Down Want = "down"
	// Removed: the instance is to be deleted, with its dependants.
	Removed Want = "removed"
)

// never is later than every clock.
var never = time.Unix(1<<40, 0)

// Life is the state of an instance by the clock.
type Life struct {
	// Want is the wanted state of the body now.
	Want Want
	// State is the state of the instance, if the body is as wanted.
	State provider.State
	// Next is when Want or State changes by itself; zero: they do not change.
	Next time.Time
}

// LifeAt is the state of the instance at now.
func (r Record) LifeAt(now time.Time) Life {
	going := r.going()
	if !now.Before(going) {
		gone := going.Add(r.Traits.DeleteLatency)
		if !now.Before(gone) {
			return Life{Want: Removed, State: provider.Stopping}
		}
		// The body keeps running during the shutdown.
		return Life{Want: r.Body.Want, State: provider.Stopping, Next: gone}
	}
	l := r.poweredAt(now)
	if going != never {
		l.Next = earlier(l.Next, going)
	}
	return l
}

// going is when the termination of the instance begins, or never.
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

// running is when the instance starts.
func (r Record) running() time.Time { return r.Created.Add(r.Traits.CreateLatency) }

// poweredAt is LifeAt for an instance that is not being terminated.
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

// bootShift is the individual difference of the instance's boot latency: the same each time.
func (r Record) bootShift() time.Duration {
	if r.Traits.BootSpread == 0 {
		return 0
	}
	h := fnv.New32a()
	h.Write([]byte(r.ID))
	return time.Duration((float64(h.Sum32())/math.MaxUint32*2 - 1) * float64(r.Traits.BootSpread))
}

// earlier is the earlier of two times, of which the first may be zero: never.
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
		// The old body must end before the new one starts.
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
	l.Want, l.Next = r.wantAt(now, booted)
	return l
}

// wantAt is whether the body answers: it answers for Healthy, then does not answer for Silent, and so on.
// With Healthy 30s and Silent 10s it is silent at 30–40 s, 70–80 s, ...
func (r Record) wantAt(now, booted time.Time) (Want, time.Time) {
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
