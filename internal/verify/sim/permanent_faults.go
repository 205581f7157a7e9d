package sim

import (
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
	"github.com/millwright-dev/millwright/provider"
)

// permanentFaultProfile is what never stops in a world before all is to end. What it affects cannot
// come to what was asked for, and everything else has to.
type permanentFaultProfile struct{ permanent permanentFault }

// permanentFault is one kind of it.
type permanentFault string

// The illnesses. All but the last are those of some machines: of one zone, account or
// pool.
const (
	// exhausted: there is no room for their instances. denied: nothing may be asked
	// about them.
	exhausted permanentFault = "exhausted"
	denied    permanentFault = "denied"
	// undeletable: no instance of theirs can be removed.
	undeletable permanentFault = "undeletable"
	// joinless: their nodes do not join.
	joinless permanentFault = "joinless"
	// forbidden: a webhook lets nobody update them.
	forbidden permanentFault = "forbidden"
	// crashing: the process of machines crashes before its third write.
	crashing permanentFault = "crashing"
)

func (c *permanentFaultProfile) draw(r *rand.Rand) {
	all := []permanentFault{exhausted, denied, undeletable, joinless, forbidden, crashing}
	if r.IntN(6) == 0 {
		c.permanent = all[r.IntN(len(all))]
	}
}

// writesToCrash is how many writes a process makes that always crashes.
const writesToCrash = 2

// affects reports whether the machine, set or deployment is affected: the first of each
// sort is, and what it made.
func (c permanentFaultProfile) affects(name string) bool {
	first, _, _ := strings.Cut(name, "-")
	return c.permanent != "" && c.permanent != crashing && strings.HasSuffix(first, "1")
}

// hopeless reports whether nothing can be done about o: it is affected, or was adopted
// by a set that is. A set that may not release a machine does not know how many it has,
// and leaves all as they are.
func (w *World) hopeless(o client.Object) bool {
	by := metav1.GetControllerOf(o)
	return w.profile.affects(o.GetName()) || w.profile.permanent == forbidden && by != nil && w.profile.affects(by.Name)
}

// hopelessOn reports whether that is so of the machine of i.
func (w *World) hopelessOn(i *cloud.Machine) bool {
	m := w.machineOf(w.uidOf(i))
	return m != nil && w.hopeless(m)
}

// permanentCallFault is what a call to the infrastructure comes to; nil: it is not affected.
func (w *World) permanentCallFault(p *process, c cloud.Call) error {
	if err := w.delayedRemoval(p, c); err != nil {
		return err
	}
	if p.role != machineRole || !w.profile.affects(c.Ref.Name) {
		return nil
	}
	switch lasting := w.profile.permanent; {
	case lasting == exhausted && c.Verb == "create":
		return provider.Errorf(provider.Exhausted, "no room in zone 1")
	case lasting == denied:
		return provider.Errorf(provider.Denied, "not authorized to %s in account 1", c.Verb)
	case lasting == undeletable && c.Verb == "delete":
		return provider.Errorf(provider.Transient, "internal error in zone 1")
	}
	return nil
}

// permanentWriteFault is what a write to an API server comes to.
func (w *World) permanentWriteFault(p *process, c store.Call) error {
	if !c.Writes() {
		return nil
	}
	if w.profile.permanent == crashing && p.role == machineRole {
		if p.writes++; p.writes > writesToCrash {
			w.tracef(p.name(), "CRASHES, as always")
			p.doomed = true
			panic(killed{})
		}
	}
	if w.profile.permanent == forbidden && c.Kind.Kind == "Machine" && sortOf(c) == "update" && w.profile.affects(c.Key.Name) {
		return apierrors.NewForbidden(schema.GroupResource{Group: c.Kind.Group, Resource: c.Kind.Kind}, c.Key.Name, errors.New(`admission webhook "policy.example.com" denied the request: never`))
	}
	return nil
}

// restartIfCrashed starts a process anew that crashed.
func (p *process) restartIfCrashed() {
	if p.doomed {
		p.kill()
		p.w.start(p.role, p.adapter, 0)
	}
}

const (
	// permanentFaultTime is for how long a world is watched in which something never stops.
	permanentFaultTime = 2 * time.Hour
	// mostCalls is how many calls in an hour may be made for what is affected.
	mostCalls = 2000
)

// watchPermanentFault watches that nobody gets busy with what cannot be done, and that it says why.
func (w *World) watchPermanentFault() {
	if w.profile.permanent == "" || w.profile.permanent == crashing {
		return
	}
	w.waitOutDelays()
	calls, made, end, affected := w.counts.cloudCalls+w.counts.writes, w.instancesOfAffected(), w.now.Add(permanentFaultTime), 1
	for _, m := range w.machines() {
		if w.hopeless(m) {
			affected++
		}
	}
	w.until(end)
	if n := w.counts.cloudCalls + w.counts.writes - calls; n > affected*mostCalls*int(permanentFaultTime/time.Hour) {
		w.broken(judge.NotBusy, "%d calls in %v for %d machines that are affected", n, permanentFaultTime, affected-1)
	}
	w.storms(made, affected)
	w.resync()
	for _, m := range w.machines() {
		if w.hopeless(m) && w.now.Sub(m.GetCreationTimestamp().Time) > time.Hour && !w.judge.Well(m) && w.judge.Silent(m) && !w.warned(m) {
			w.broken(judge.SaysWhy, "machine %s has been there since %s", m.GetName(), m.GetCreationTimestamp())
		}
	}
}

// resync has everything looked at once more, as informers do every ten minutes: nothing
// else tells that an instance died whose node was silent already.
func (w *World) resync() {
	for _, p := range w.procs {
		for _, v := range p.views {
			for _, o := range v.Shown() {
				p.hear(store.Event{Kind: v.Kind(), Old: o, New: o, At: w.now})
			}
		}
	}
	w.until(w.now.Add(time.Minute))
}

// endPermanentFault ends it. Collectors get the time to remove what machines left behind that
// could not go before: with the last machine and its set goes who approves of that.
func (w *World) endPermanentFault() {
	if w.profile.permanent == "" {
		return
	}
	w.profile.permanent = ""
	w.intervene() // who had no hope until now
	if w.profile.collects {
		w.until(w.now.Add(time.Hour))
	}
}

// warned reports whether an event warns of o: API servers keep events for an hour.
func (w *World) warned(o client.Object) bool {
	at, told := w.told[o.GetName()]
	return told && w.now.Sub(at) < time.Hour
}

// until lets the world go on by itself.
func (w *World) until(end time.Time) {
	for w.now.Before(end) && w.violation == nil {
		if w.workOnce() {
			continue
		}
		next := w.nextTime()
		if next.IsZero() || next.After(end) {
			next = end
		}
		w.advanceTo(next)
	}
}

// failing counts the passes that p has to repeat, for what can be helped.
func (w *World) failing(p *process) (n int) {
	for key := range p.queue.failures {
		if !w.profile.affects(key.Name) {
			n++
		}
	}
	return n
}
