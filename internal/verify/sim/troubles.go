package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// troubles are those of API servers, of networks and of what stands between, which
// worlds got one after the other. Each is drawn from a source of its own, so that a
// seed goes on meaning what it meant where it has none of them.
type troubles struct {
	stalling
	hanging
	strain
	holding
	chronic
	ending
	remaking
	spoiling
	usurping
	uidless
	forsaking
	clearing
	failing
	choosing
	hazard hazard
	// dallies: of all that is written, only deletions come late. No seed draws it.
	dallies bool
}

// The sources: streams of random numbers that nothing else has.
const (
	stallSource   = widerSource + 0x57a11
	hangSource    = widerSource + 0x4a461
	chronicSource = widerSource + 0xc4801c
	holdSource    = widerSource + 0x401d
	strainSource  = widerSource + 0x57a14
	endSource     = widerSource + 0xe4d
	remadeSource  = widerSource + 0x4e3ade
)

// bother draws the troubles of the seed's world.
func (c *profile) bother(seed uint64) {
	from := func(source uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, source)) }
	if c.stalling.draw(from(stallSource)); c.stalls {
		c.trouble = max(c.trouble, 4)
	}
	c.hanging.draw(from(hangSource))
	if c.strain.draw(from(strainSource)); c.overloads || c.forbids {
		c.trouble = max(c.trouble, 3)
	}
	if c.chronic.draw(from(chronicSource)); c.ill != "" {
		c.frailty = frailty{} // nobody else looks after what is affected
	}
	c.spoil(from(spoilSource))
	if c.holding.draw(from(holdSource)); c.holders {
		c.trouble = max(c.trouble, 5)
	}
	c.ending.draw(from(endSource))
	if c.remaking.draw(from(remadeSource)); c.remakes {
		c.trouble = max(c.trouble, 3)
	}
	if c.failing.draw(from(failSource)); c.gives {
		c.fails()
	}
	if c.choosing.draw(from(chooseSource)); c.choices > 0 {
		c.chooses()
	}
}

// bothers are the deeds of the troubles.
func (w *World) bothers() (out []func()) {
	if w.profile.stalls {
		out = append(out, w.stall, w.stall, w.stall)
	}
	if w.profile.holders {
		out = append(out, w.holdOn, w.holdOn)
	}
	if w.profile.forsakes {
		out = append(out, w.forsake)
	}
	if w.profile.usurps {
		out = append(out, w.usurp)
	}
	if w.profile.clears {
		out = append(out, w.clearNodes)
	}
	if w.profile.gives {
		out = append(out, w.spend)
	}
	if w.profile.choices > 0 {
		out = append(out, shop{w}.sellOut, shop{w}.sellOut)
	}
	return slices.Concat(out, w.uidlessDeeds(), w.strains(), risk{w}.deeds())
}

// botherTimes are when troubles end by themselves.
func (w *World) botherTimes() (out []time.Time) {
	for _, p := range w.procs {
		for _, v := range p.views {
			out = append(out, p.stalled[v])
		}
		for _, t := range p.tasks {
			out = append(out, t.hang.until)
		}
	}
	return append(out, w.turned.overload.until, w.turned.denial.until)
}

// relent ends the troubles that do not last.
func (w *World) relent() {
	w.registerAgain()
	risk{w}.returnTarget()
	w.turned = turned{}
	for _, p := range w.procs {
		for v := range p.stalled {
			p.stalled[v] = w.now
		}
		p.listen()
		for _, t := range p.tasks {
			t.hang.until = time.Time{}
		}
	}
}
