package sim

import (
	"math/rand/v2"
	"time"
	"unsafe"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/runtime/serverclock"
)

// clockwork says what happens to clocks. The clocks of the API servers are right.
type clockwork struct {
	// set: users set the wall clocks of processes, by up to mostSet.
	set bool
}

func (c *clockwork) draw(r *rand.Rand) { c.set = r.IntN(4) == 0 }

// mostSet bounds the error of a wall clock that was set.
const mostSet = time.Hour

// mostWrong bounds the error of a process's time. The time comes from the API server, which reports whole seconds, and the API
// servers of one cluster differ by up to two seconds.
const mostWrong = 3 * time.Second

// looks reports whether processes probe their connectivity.
func (w *World) looks() bool { return w.profile.outages || w.profile.clockwork.set }

// setClock sets the wall clock of a process.
func (w *World) setClock() {
	if p, ok := pick(w, w.procs); ok {
		p.ahead = []time.Duration{mostSet, -mostSet, time.Duration(w.between(-3600, 3600)) * time.Second}[w.roll(3)]
		w.tracef(p.name(), "the wall CLOCK IS SET to %v ahead", p.ahead)
	}
}

// ownClock is the clock of the machine that a process runs on, without timers.
type ownClock struct {
	clock.WithTicker
	p *process
}

// Now implements clock.PassiveClock.
func (c ownClock) Now() time.Time {
	wall := c.p.w.now.Add(c.p.ahead)
	if !c.p.w.profile.clockwork.set {
		return wall
	}
	return reading(wall, c.p.w.now.Sub(epoch))
}

// Since implements clock.PassiveClock.
func (c ownClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// passiveClock is the clock of a process, without timers.
type passiveClock struct {
	clock.Clock
	p *process
}

// Now implements clock.PassiveClock.
func (c passiveClock) Now() time.Time { return c.p.Now() }

// Since implements clock.PassiveClock.
func (c passiveClock) Since(t time.Time) time.Duration { return c.p.Since(t) }

// Now implements clock.PassiveClock. It is the time that the process assumes.
func (p *process) Now() time.Time {
	if p.wallOnly() {
		return ownClock{p: p}.Now().Round(0)
	}
	return p.clock.Now()
}

// Since implements clock.PassiveClock.
func (p *process) Since(t time.Time) time.Duration { return p.Now().Sub(t) }

func (p *process) wallOnly() bool { return p.w.o.Mutation != nil && p.w.o.Mutation.WallClock }

// hearsTime lets the process read the time from an answer.
func (p *process) hearsTime() {
	p.clock.Answered(ownClock{p: p}.Now(), p.w.now.Truncate(serverclock.Precision))
}

// wrong is the error of the process's time, within its bounds.
func (p *process) wrong() time.Duration {
	return min(max(p.Now().Sub(p.w.now), -mostWrong), mostWrong)
}

// begun is a reading of both clocks. Only the kernel provides such a reading.
var begun = clock.RealClock{}.Now()

// reading is a process's reading of its two clocks: the wall clock, and the monotonic one, which has run for `up`.
func reading(wall time.Time, up time.Duration) time.Time {
	by := wall.Sub(begun.Round(0))
	out := begun.Add(by)
	(*struct {
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&out)).ext += int64(up - by)
	return out
}
