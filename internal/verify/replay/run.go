package replay

import "time"

// rule is what one system would do.
type rule interface {
	// look is called with every tick at which the API server is reached, and
	// deletes machines ([world.remove]).
	look(w *world)
	// dark is called instead where it is not.
	dark(w *world)
}

// Result is what came of an outage under a rule.
type Result struct {
	// Replaced machines, Vain of which would have come back by themselves.
	Replaced, Vain int
	// Missing is how long machines were wanted and did not work, added up.
	Missing time.Duration
	// Down is how many did not work in the end.
	Down int
}

// play plays an outage to a rule.
func play(o Outage, r rule) (out Result) {
	w := newWorld(&o)
	for w.now < o.Lasts.Duration {
		w.step()
		if w.blind {
			r.dark(w)
		} else {
			r.look(w)
		}
		out.Down = w.missing()
		out.Missing += time.Duration(out.Down) * tick
	}
	out.Replaced = len(w.removed)
	for _, m := range w.removed {
		if !w.lost(m) {
			out.Vain++
		}
	}
	return out
}

// idle is the rule of those who do nothing.
type idle struct{}

func (idle) look(*world) {}
func (idle) dark(*world) {}
