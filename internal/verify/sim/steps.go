package sim

import (
	"slices"
	"time"
)

// Bounds on how far parts of the world may fall behind the clock.
const (
	// longestPause is how long the rest of the world may continue while a pass stops.
	longestPause = 10 * time.Second
	// longestLate is how late an effect whose reply was lost may arrive, if the cloud's listings set no bound.
	longestLate = 3 * time.Second
	// longestDeposed is how long the requests of a deposed process take to arrive.
	longestDeposed = time.Second
)

// stepInformer lets an informer process more changes.
func (w *World) stepInformer() {
	p, ok := pick(w, w.procs)
	if !ok {
		return
	}
	if w.chance(25) {
		w.catchUp(p)
		return
	}
	behind := p.views[:0:0]
	for _, v := range p.views {
		if v.Behind() > 0 && !p.watchStalled(v) {
			behind = append(behind, v)
		}
	}
	if v, ok := pick(w, behind); ok {
		p.advance(v, w.between(1, v.Behind()))
	}
}

func (w *World) catchUp(p *process) bool {
	did := false
	for _, v := range p.views {
		if v.Behind() > 0 && !p.watchStalled(v) {
			p.advance(v, v.Behind())
			did = true
		}
	}
	return did
}

// stepWork begins a pass.
func (w *World) stepWork() {
	alive := w.leading()
	p, ok := pick(w, alive)
	if !ok {
		return
	}
	if key, ok := pick(w, p.startable()); ok {
		p.begin(key)
	}
}

// leading are the processes that may begin passes.
func (w *World) leading() []*process {
	return slices.DeleteFunc(slices.Clone(w.procs), func(p *process) bool { return p.deposed != nil })
}

// stepResume resumes a pass that had stopped.
func (w *World) stepResume() {
	var busy []*process
	for _, p := range w.procs {
		if len(p.tasks) > 0 {
			busy = append(busy, p)
		}
	}
	if p, ok := pick(w, busy); ok {
		t, _ := pick(w, p.tasks)
		p.run(t)
	}
}

// stepTime lets time pass.
func (w *World) stepTime() {
	switch n := w.roll(100); {
	case n < 40:
		w.advanceTo(w.now.Add(time.Duration(w.between(10, 500)) * time.Millisecond))
	case n < 70:
		w.advanceTo(w.now.Add(time.Duration(w.between(500, 5000)) * time.Millisecond))
	case n < 90:
		if next := w.nextTime(); !next.IsZero() {
			w.advanceTo(next)
		}
	case n < 98:
		w.advanceTo(w.now.Add(time.Duration(w.between(5, 60)) * time.Second))
	default:
		w.advanceTo(w.now.Add(time.Duration(w.between(1, 15)) * time.Minute))
	}
}

// advanceTo moves the clock and lets the effects arrive that must arrive before t.
func (w *World) advanceTo(t time.Time) {
	if !t.After(w.now) {
		return
	}
	for until, some := w.nextHang(t); some; until, some = w.nextHang(t) {
		w.advanceTo(until)
	}
	for _, p := range slices.Clone(w.procs) {
		for _, task := range slices.Clone(p.tasks) {
			if t.Sub(task.started) > longestPause {
				w.finish(p, task)
			}
		}
	}
	for {
		due, some := w.nextOnWire()
		if !some || due.After(t) {
			break
		}
		w.advanceNodes(due)
		w.now = due
		w.arriveLate()
		w.expire()
	}
	w.advanceNodes(t)
	w.now = t
	for _, p := range slices.Clone(w.procs) {
		p.look(t)
		p.resumeWatches()
		for _, v := range p.views {
			for v.Behind() > 0 && w.now.Sub(v.Oldest()) > w.profile.viewLag && !p.watchStalled(v) {
				p.advance(v, 1)
			}
		}
		p.queue.fire(w.now)
	}
	w.endless()
}

// finish runs a pass to its end.
func (w *World) finish(p *process, t *task) {
	for slices.Contains(p.tasks, t) && w.violation == nil && !t.hanging() {
		if first := t.waitsFor; first != nil && first == p.asking {
			w.finish(p, first)
		}
		p.run(t)
	}
}

// nextOnWire is the time by which the next request on the wire must arrive.
func (w *World) nextOnWire() (due time.Time, some bool) {
	for _, l := range w.late {
		if !some || l.due.Before(due) {
			due, some = l.due, true
		}
	}
	for _, p := range w.procs {
		if p.deposed == nil {
			continue
		}
		if end := p.deposed.Add(longestDeposed); !some || end.Before(due) {
			due, some = end, true
		}
	}
	return due, some
}

// expire ends the deposed processes whose time has passed.
func (w *World) expire() {
	for _, p := range slices.Clone(w.procs) {
		if p.deposed != nil && w.now.Sub(*p.deposed) >= longestDeposed {
			w.lapse(p)
		}
	}
}

// lapse delivers the requests of a deposed process and ends the process.
func (w *World) lapse(p *process) {
	for _, t := range slices.Clone(p.tasks) {
		if w.roll(2) == 0 {
			p.run(t)
		}
	}
	w.tracef(p.name(), "ends")
	p.kill()
}

// stepLate delivers an effect whose reply was lost.
func (w *World) stepLate() {
	if len(w.late) == 0 {
		return
	}
	i := w.roll(len(w.late))
	l := w.late[i]
	w.late = slices.Delete(w.late, i, i+1)
	l.do()
}

// arriveLate delivers the effects that are due.
func (w *World) arriveLate() {
	due := slices.Clone(w.late)
	w.late = slices.DeleteFunc(w.late, func(l lateEffect) bool { return !l.due.After(w.now) })
	for _, l := range due {
		if !l.due.After(w.now) {
			l.do()
		}
	}
}

// stepCrash ends a process at any point and restarts it without its memory.
func (w *World) stepCrash() {
	p, ok := pick(w, w.leading())
	if !ok || !w.faulty(processCrashes) {
		return
	}
	w.tracef(p.name(), "CRASHES with %d passes under way", len(p.tasks))
	p.kill()
	w.start(p.role, p.adapter, w.staleness())
}

// staleness is how many changes the first listings of a process are behind.
func (w *World) staleness() int {
	if w.profile.viewLag > 0 && w.faulty(listsStale) {
		return w.between(1, 3)
	}
	return 0
}

// stepLeader makes another process the leader during passes of the old one: its requests may still arrive.
func (w *World) stepLeader() {
	p, ok := pick(w, w.leading())
	if !ok || !w.faulty(leaderChanges) {
		return
	}
	w.expireLease(p)
	w.tracef(p.name(), "IS DEPOSED with %d passes under way", len(p.tasks))
	w.start(p.role, p.adapter, w.staleness())
}

// stepDeath kills an instance.
func (w *World) stepDeath() {
	i, ok := pick(w, w.cloud.Existing(""))
	if !ok || !w.chance(40) || !w.faulty(instanceDies) {
		return
	}
	w.tracef("cloud", "instance %s of %s DIES", i.ID, i.Name)
	w.cloud.Kill(i)
}

// nextTime is the time of the next event; zero: never.
func (w *World) nextTime() time.Time {
	next := w.cloud.Next()
	sooner := func(t time.Time) {
		if t.After(w.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, o := range w.outages {
		sooner(o.to)
	}
	for _, p := range w.procs {
		sooner(p.queue.next())
	}
	for _, t := range w.nodeTimes() {
		sooner(t)
	}
	for _, t := range w.volumes.due {
		sooner(t)
	}
	sooner(w.healthState.cut.to)
	for _, t := range slices.Concat(w.troubleTimes(), w.repairTimes(), w.requestTimes()) {
		sooner(t)
	}
	return next
}
