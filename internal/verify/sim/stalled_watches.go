package sim

import (
	"math/rand/v2"
	"time"

	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// stallProfile says whether watches stall.
type stallProfile struct {
	// stalls: in one process the watch of one kind stops without an error, while the other watches continue. The connection is
	// half open, or a proxy keeps it.
	stalls bool
}

func (s *stallProfile) draw(r *rand.Rand) { s.stalls = r.IntN(5) == 0 }

// stallWatch stops a watch until its connection ends. The process then lists the kind again: it sees the last of several
// changes, and sees a recreated object as a changed one.
func (w *World) stallWatch() {
	p, ok := pick(w, w.leading())
	if !ok {
		return
	}
	v, _ := pick(w, p.views)
	if !p.stalled[v].IsZero() {
		return
	}
	p.stalled[v] = w.now.Add(time.Duration(w.between(30, []int{120, 600, 1800}[w.roll(3)])) * time.Second)
	w.tracef(p.name(), "the WATCH of %s STALLS until %v", v.Kind().Kind, p.stalled[v].Sub(epoch))
}

// watchStalled reports whether the process receives no events for the view v.
func (p *process) watchStalled(v *store.View) bool {
	return p.w.out(v.Store(), p.w.now) || p.w.now.Before(p.stalled[v])
}

// resumeWatches lists again the kinds of stalled watches.
func (p *process) resumeWatches() {
	for _, v := range p.views {
		if end := p.stalled[v]; !end.IsZero() && !p.watchStalled(v) {
			delete(p.stalled, v)
			p.relist(v)
		}
	}
}

func (p *process) relist(v *store.View) {
	for _, e := range v.Relist() {
		p.w.tracef(p.name(), "lists %s", describe(e))
		p.hear(e)
	}
}
