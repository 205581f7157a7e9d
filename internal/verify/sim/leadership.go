package sim

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/runtime/leading"
)

// OnlyLeaders is judged here, because only the world knows which process leads. A request that a process sent before another
// process became the leader may still arrive.
const OnlyLeaders = "a process begins no call when another may lead"

// leadership is a process's time as the leader.
type leadership struct {
	term *leading.Term
	// passed is the time on each of its clocks between its last renewal of the lease and the moment at which another process
	// began to lead.
	passed struct{ wall, steady time.Duration }
}

// The durations of every process's lease.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
)

// replaceLeader lets another process lead instead of p, which has renewed its lease up to now.
func (w *World) replaceLeader(p *process) {
	at := w.now
	p.deposed = &at
	p.leadership.term = leading.NewTerm(leaseDuration, renewDeadline, leaseClock{p: p})
	p.leadership.term.Renewed(leaseClock{p: p}.Now())
}

// expireLease lets the lease of a process expire. The process was suspended and only its wall clock continued, or it hung
// while a user set that clock back, or it could not reach the API server.
func (w *World) expireLease(p *process) {
	w.replaceLeader(p)
	over := leaseDuration + time.Second
	switch p.serial % 3 {
	case 0:
		p.leadership.passed.wall = over
	case 1:
		p.leadership.passed.steady = over
	default:
		p.leadership.passed.wall, p.leadership.passed.steady = over, over
	}
}

// releaseLease has a process release its lease.
func (w *World) releaseLease(p *process) {
	w.replaceLeader(p)
	p.leadership.term.Ended()
}

// checkLeadership ends a process that has noticed that it no longer leads.
func (p *process) checkLeadership() {
	if p.deposed == nil {
		return
	}
	if p.leadership.term.Err() == nil {
		p.w.broken(OnlyLeaders, "%s goes on with %s", p.name(), p.running.key)
	}
	panic(killed{})
}

// leaseClock reads both clocks of the process for its lease.
type leaseClock struct {
	clock.WithTicker
	p *process
}

// Now implements clock.PassiveClock.
func (c leaseClock) Now() time.Time {
	t := c.p.leadership.passed
	return reading(c.p.w.now.Add(t.wall), c.p.w.now.Sub(epoch)+t.steady)
}
