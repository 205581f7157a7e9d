package sim

import "testing"

// TestKilledPassLeavesNoRoutine: a loop over the passes of a process may reach a pass that was killed with the process. The
// routine of that pass is stopped for good, and no later pass may get it.
func TestKilledPassLeavesNoRoutine(t *testing.T) {
	w := newWorld(1, Options{Dialect: Gardener})
	defer w.shutdown()
	p := w.procs[0]
	pass := &task{by: p}
	pass.on = w.routine(func() { pass.on.pause(); panic(killed{}) })
	p.tasks = append(p.tasks, pass)
	p.run(pass)
	p.kill()
	p.run(pass)
	p.run(pass)
	if len(w.spare) != 0 {
		t.Errorf("%d routines are there for later passes, want none", len(w.spare))
	}
	ran := false
	next := w.routine(func() { ran = true })
	if ended := next.resume(); !ended || !ran {
		t.Errorf("the next pass ran %v, ended %v", ran, ended)
	}
	w.spare = append(w.spare, next)
}
