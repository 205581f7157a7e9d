package sim

import "iter"

// routine is a coroutine that runs one pass after the other. A new coroutine for each pass would grow its stack
// each time, which took a twentieth of the simulator's time.
type routine struct {
	next func() (struct{}, bool)
	// stop ends the routine: the call of pause that its pass waits in returns false.
	stop  func()
	yield func(struct{}) bool
	pass  func()
}

// killed unwinds the code of a process that crashed.
type killed struct{}

// routine returns a routine that will run the pass.
func (w *World) routine(pass func()) *routine {
	var r *routine
	if last := len(w.spare) - 1; last >= 0 {
		r, w.spare = w.spare[last], w.spare[:last]
	} else {
		r = &routine{}
		r.next, r.stop = iter.Pull(r.run)
	}
	r.pass = pass
	return r
}

// run runs one pass after the other, until the routine is stopped.
func (r *routine) run(yield func(struct{}) bool) {
	r.yield = yield
	for r.perform(); r.pause(); r.perform() {
	}
}

// perform runs the pass up to its end, or until its process is killed.
func (r *routine) perform() {
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(killed); !ok {
				panic(v)
			}
		}
		r.pass = nil
	}()
	r.pass()
}

// resume runs the pass up to its next pause, and reports whether the pass has ended.
func (r *routine) resume() (ended bool) {
	r.next()
	return r.pass == nil
}

// pause stops the pass, from inside, until the world resumes it; false: the pass has to end.
func (r *routine) pause() bool { return r.yield(struct{}{}) }
