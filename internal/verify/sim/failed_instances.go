package sim

import (
	"math/rand/v2"
	"time"

	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/provider"
)

// instanceFailureProfile says whether accepted instances fail to start.
type instanceFailureProfile struct {
	// failsInstances: some accepted instances fail to start.
	failsInstances bool
	// endless is the permanent fault of a world in which instances fail; empty: no permanent fault.
	endless permanentFault
}

// The permanent faults of accepted instances.
const (
	// full: the cloud has no capacity for the instances of some machines after it has accepted them. unfit: their
	// image does not start.
	full  permanentFault = "full"
	unfit permanentFault = "unfit"
)

// failSource is the source of random numbers of this profile alone.
const failSource = widerSource + 0xfa17

func (f *instanceFailureProfile) draw(r *rand.Rand) {
	f.failsInstances = r.IntN(12) == 0
	f.endless = []permanentFault{"", "", full, unfit}[r.IntN(4)]
}

// fails makes a world in which accepted instances fail.
func (c *profile) fails() {
	c.failsInstances, c.trouble = true, max(c.trouble, 3)
	if c.endless != "" && c.permanent == "" && !c.badImages {
		c.permanent, c.healthProfile = c.endless, healthProfile{} // no controller handles the machines that the fault affects
	}
}

// failPercent is the probability that an accepted instance fails, in percent.
const failPercent = 25

// startFailure is the failure of an accepted instance; nil: it starts.
func (w *World) startFailure(i *cloud.Machine) *cloud.StartFailure {
	if f := (choiceStock{w}).startFailure(i); f != nil {
		return f
	}
	switch lasting := w.profile.permanent; {
	case lasting == full && w.profile.affects(i.Name):
		return w.ends(i, &cloud.StartFailure{Why: exhaustedZone()})
	case lasting == unfit && w.profile.affects(i.Name):
		return w.ends(i, &cloud.StartFailure{Why: provider.InvalidField("image", "does not start")})
	case !w.profile.failsInstances:
		return nil
	}
	if spent := w.now.Before(w.falseAnswers.spent); !w.chance(failPercent) && !spent || w.calm {
		return nil
	}
	f := &cloud.StartFailure{Why: []*provider.Error{
		exhaustedZone(),
		provider.Errorf(provider.Exhausted, "the quota of instances is used up"),
		provider.InvalidField("image", "does not start"),
		provider.Errorf(provider.Denied, "the policy forbids it"),
		provider.Errorf(provider.Conflict, "the host restarts"),
		provider.Errorf(provider.Transient, "the host has failed"),
	}[w.roll(6)]}
	if k := f.Why.Kind; k == provider.Conflict || k == provider.Transient {
		f.Recovers = time.Duration(w.between(1, []int{30, 300, 1800}[w.roll(3)])) * time.Second
	}
	return w.ends(i, f)
}

func exhaustedZone() *provider.Error { return provider.Errorf(provider.Exhausted, "no room in zone 1") }

// ends decides when an instance fails: at once or later. Some instances vanish without a trace.
func (w *World) ends(i *cloud.Machine, f *cloud.StartFailure) *cloud.StartFailure {
	f.After = time.Duration(w.between(0, []int{0, 5, 60, 900}[w.roll(4)])) * time.Second
	f.Vanishes = f.Recovers == 0 && w.chance(30)
	if w.profile.cloud.Like != "" {
		f.Vanishes = f.Recovers == 0 && (cloudModel{w}).like().vanishes
	}
	w.tracef("cloud", "will GIVE UP instance %s of %s after %v, and mend it after %v: %s", i.ID, i.Name, f.After, f.Recovers, f.Why)
	return f
}

// exhaustCloud gives the cloud no capacity for accepted instances for some time.
func (w *World) exhaustCloud() {
	w.falseAnswers.spent = w.now.Add(time.Duration(w.between(10, []int{60, 600, 3600}[w.roll(3)])) * time.Second)
	w.tracef("cloud", "HAS NO ROOM for what it accepts until %v", w.falseAnswers.spent.Sub(epoch))
}

// causeOf is the reason for which an instance failed, if the cloud shows it.
func (w *World) causeOf(i *cloud.Machine) judge.Cause {
	why, since, final := i.Fault(w.now)
	if why == nil || !i.Exists(w.now) && !w.cloud.Records(i, w.now) {
		return judge.Cause{}
	}
	return judge.Cause{Text: why.Error(), Room: why.Kind == provider.Exhausted, Since: since, Final: final}
}

// hopelessInstance reports whether the instance never starts and its machine has failed.
func (w *World) hopelessInstance(i *cloud.Machine) bool {
	m := w.machineOf(w.uidOf(i))
	_, _, final := i.Fault(w.now)
	return final && m != nil && w.judge.GivenUp(m)
}

// storms checks how many instances were created for the affected machines since `made` instances existed. A machine has one
// instance, and its set creates another machine after its API has declared the machine failed.
func (w *World) storms(made, affected int) {
	each := 1
	for _, a := range w.apis {
		if wait := a.waits.JoinTimeout; wait > 0 && a.heals {
			each = 2 + int(permanentFaultTime/wait)
		}
	}
	if n := w.instancesOfAffected() - made; n > affected*each {
		w.broken(judge.NoStorm, "%d instances in %v for %d machines", n, permanentFaultTime, affected)
	}
}

// instancesOfAffected counts all instances ever created for affected machines.
func (w *World) instancesOfAffected() (n int) {
	for _, i := range w.cloud.Machines() {
		if w.profile.affects(i.Name) {
			n++
		}
	}
	return n
}
