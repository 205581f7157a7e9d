package sim

import (
	"math/rand/v2"
	"time"
	"unsafe"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/sim/judge"
)

// clockwork is what the clocks of a world do.
type clockwork struct {
	// set: somebody sets the wall clocks of processes, by up to mostSet.
	set bool
}

func (c *clockwork) draw(r *rand.Rand) { c.set = r.IntN(4) == 0 }

// mostSet is how far a wall clock that was set is off at most, mostWrong for how
// long: timers begin at times that others wrote down, by clocks that are right, and
// nobody can tell those from times that are long ago.
const (
	mostSet   = time.Hour
	mostWrong = 4
)

// dial is the wall clock of a process, besides its constant error: by how much it
// was set, of which so much before the process began, and for how many looks more it
// is off, by how much more at each.
type dial struct {
	ahead, atBirth, step time.Duration
	looks                int
}

// looks reports whether processes look how well they see.
func (w *World) looks() bool { return w.is.outages || w.is.clockwork.set }

// dialOf is the wall clock of a new process. Some begin with one that is wrong.
func (w *World) dialOf() (d dial) {
	if w.is.clockwork.set && w.chance(20) && !w.calm {
		d.ahead, d.looks = []time.Duration{mostSet, -mostSet}[w.roll(2)], w.between(2, mostWrong)
	}
	d.atBirth = d.ahead
	return d
}

// setClock sets the wall clock of a process, at once or in small steps. Soon after it
// is set right, but not before a look: what was set right sooner nobody can know.
func (w *World) setClock() {
	p, ok := pick(w, w.procs)
	if !ok || p.dial.looks > 0 {
		return
	}
	by := []time.Duration{mostSet, mostSet, -mostSet, time.Duration(w.between(-3600, 3600)) * time.Second}[w.roll(4)]
	p.dial.looks, p.dial.step = w.between(2, mostWrong), 0
	if w.chance(30) {
		p.dial.step, by = time.Duration(w.between(-25, 25))*time.Second, 0
	}
	p.dial.ahead = by
	p.resetPlans()
	w.tracef(p.name(), "the wall CLOCK IS SET to %v ahead, and by %v at each of %d looks", by, p.dial.step, p.dial.looks)
}

// tick is what happens to the clock before a look.
func (p *process) tick() {
	d := &p.dial
	if d.looks == 0 {
		return
	}
	if d.looks--; d.looks == 0 {
		d.ahead = 0
	} else {
		d.ahead += d.step
	}
	p.resetPlans()
}

// resetPlans says of the passes under way that nobody knows by which time they decide.
func (p *process) resetPlans() {
	for _, t := range p.tasks {
		if t.saw != nil {
			t.saw.reset = true
		}
	}
}

// Now implements clock.PassiveClock: it is what the process takes for the time.
func (p *process) Now() time.Time {
	wall := p.w.now.Add(p.skew + p.dial.ahead)
	if !p.w.is.clockwork.set || p.wallOnly() {
		return wall
	}
	return reading(wall, p.w.now.Sub(epoch))
}

// Since implements clock.PassiveClock.
func (p *process) Since(t time.Time) time.Duration { return p.Now().Sub(t) }

func (p *process) wallOnly() bool { return p.w.o.Mutation != nil && p.w.o.Mutation.WallClock }

// skipped is what [sight.Round] calls Ahead.
func (p *process) skipped() time.Duration {
	if p.wallOnly() {
		return 0
	}
	return p.dial.ahead - p.dial.atBirth
}

// begun is a reading of both clocks: only the kernel gives one.
var begun = clock.RealClock{}.Now()

// reading is what a process reads off its two clocks: that on the wall, and one that
// nobody sets, which has run for so long.
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

// clockRules are what the judge has to know of clocks: of what lies between two looks
// nothing is known.
func (w *World) clockRules(r *judge.Rules) {
	if w.looks() {
		r.LookEvery, r.LookFor = looks.Interval, looks.Timeout
	}
	if w.is.clockwork.set {
		r.Stepped, r.Unnoticed = mostSet, 3*looks.Interval+mostWrong*looks.Interval
	}
}
