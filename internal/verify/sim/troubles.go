package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// troubles are the faults of API servers and networks that were added to worlds later. Each is drawn from a random source of
// its own, so that the world of a seed without this fault does not change.
type troubles struct {
	stallProfile
	hangProfile
	refusalProfile
	finalizerProfile
	permanentFaultProfile
	namespaceDeletionProfile
	recreationProfile
	badImageProfile
	takeoverProfile
	uidlessProfile
	lostObjectsProfile
	nodeDeletionProfile
	instanceFailureProfile
	choiceProfile
	disruptionProfile
	hazard hazard
	// dallies: deletions arrive late, other writes do not. No seed draws it.
	dallies bool
}

// The sources of random numbers, each for one profile alone.
const (
	stallSource          = widerSource + 0x57a11
	hangSource           = widerSource + 0x4a461
	permanentFaultSource = widerSource + 0xc4801c
	holdSource           = widerSource + 0x401d
	refusalSource        = widerSource + 0x57a14
	endSource            = widerSource + 0xe4d
	recreationSource     = widerSource + 0x4e3ade
)

// drawTroubles draws the troubles of the seed's world.
func (c *profile) drawTroubles(seed uint64) {
	from := func(source uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, source)) }
	if c.stallProfile.draw(from(stallSource)); c.stalls {
		c.trouble = max(c.trouble, 4)
	}
	c.hangProfile.draw(from(hangSource))
	if c.refusalProfile.draw(from(refusalSource)); c.overloads || c.forbids {
		c.trouble = max(c.trouble, 3)
	}
	if c.permanentFaultProfile.draw(from(permanentFaultSource)); c.permanent != "" {
		c.healthProfile = healthProfile{} // no controller handles the machines that the fault affects
	}
	c.drawBadImages(from(badImageSource))
	if c.finalizerProfile.draw(from(holdSource)); c.foreignFinalizers {
		c.trouble = max(c.trouble, 5)
	}
	c.namespaceDeletionProfile.draw(from(endSource))
	if c.recreationProfile.draw(from(recreationSource)); c.recreates {
		c.trouble = max(c.trouble, 3)
	}
	if c.instanceFailureProfile.draw(from(failSource)); c.failsInstances {
		c.fails()
	}
	if c.choiceProfile.draw(from(chooseSource)); c.choices > 0 {
		c.chooses()
	}
}

// troubleActions are the actions of the troubles.
func (w *World) troubleActions() (out []func()) {
	if w.profile.stalls {
		out = append(out, w.stallWatch, w.stallWatch, w.stallWatch)
	}
	if w.profile.foreignFinalizers {
		out = append(out, w.toggleForeignFinalizer, w.toggleForeignFinalizer)
	}
	if w.profile.losesAllObjects {
		out = append(out, w.loseAllObjects)
	}
	if w.profile.takeovers {
		out = append(out, w.takeOverMidPass)
	}
	if w.profile.deletesAllNodes {
		out = append(out, w.deleteAllNodes)
	}
	if w.profile.failsInstances {
		out = append(out, w.exhaustCloud)
	}
	if w.profile.choices > 0 {
		out = append(out, choiceStock{w}.sellOut, choiceStock{w}.sellOut)
	}
	return slices.Concat(out, w.uidlessActions(), w.refusalActions(), hazardEffects{w}.actions())
}

// troubleTimes are the times at which troubles end by themselves.
func (w *World) troubleTimes() (out []time.Time) {
	for _, p := range w.procs {
		for _, v := range p.views {
			out = append(out, p.stalled[v])
		}
		for _, t := range p.tasks {
			out = append(out, t.hang.until)
		}
	}
	return append(out, w.refusals.overload.until, w.refusals.denial.until)
}

// endTroubles ends the troubles that are not permanent.
func (w *World) endTroubles() {
	w.reregisterNodes()
	hazardEffects{w}.returnTarget()
	w.refusals = refusals{}
	for _, p := range w.procs {
		for v := range p.stalled {
			p.stalled[v] = w.now
		}
		p.resumeWatches()
		for _, t := range p.tasks {
			t.hang.until = time.Time{}
		}
	}
}
