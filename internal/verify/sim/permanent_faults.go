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

// permanentFaultProfile is the fault that lasts until all objects are deleted. Affected machines cannot reach the desired
// state; all others must.
type permanentFaultProfile struct{ permanent permanentFault }

// permanentFault is a kind of permanent fault.
type permanentFault string

// The permanent faults. All but the last affect some machines only: the machines of one zone, account or
// pool.
const (
	// exhausted: the cloud has no capacity for their instances. denied: it denies all requests about them.
	exhausted permanentFault = "exhausted"
	denied    permanentFault = "denied"
	// undeletable: none of their instances can be removed.
	undeletable permanentFault = "undeletable"
	// joinless: their nodes do not join.
	joinless permanentFault = "joinless"
	// forbidden: a webhook denies updates of them.
	forbidden permanentFault = "forbidden"
	// crashing: the machine controller crashes before its third write.
	crashing permanentFault = "crashing"
)

func (c *permanentFaultProfile) draw(r *rand.Rand) {
	all := []permanentFault{exhausted, denied, undeletable, joinless, forbidden, crashing}
	if r.IntN(6) == 0 {
		c.permanent = all[r.IntN(len(all))]
	}
}

// writesToCrash is how many writes a crashing process makes.
const writesToCrash = 2

// affects reports whether the fault affects the machine, set or deployment: the first of each kind, and the objects that
// it created.
func (c permanentFaultProfile) affects(name string) bool {
	first, _, _ := strings.Cut(name, "-")
	return c.permanent != "" && c.permanent != crashing && strings.HasSuffix(first, "1")
}

// hopeless reports whether o cannot reach the desired state: the fault affects it, or affects a set that adopted it. A set
// that cannot release a machine does not know how many machines it has, and changes none.
func (w *World) hopeless(o client.Object) bool {
	by := metav1.GetControllerOf(o)
	return w.profile.affects(o.GetName()) || w.profile.permanent == forbidden && by != nil && w.profile.affects(by.Name)
}

// hopelessOn reports whether the machine of i cannot reach the desired state.
func (w *World) hopelessOn(i *cloud.Machine) bool {
	m := w.machineOf(w.uidOf(i))
	return m != nil && w.hopeless(m)
}

// permanentCallFault is the error of a call to the cloud; nil: the fault does not affect it.
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

// permanentWriteFault is the error of a write to an API server.
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

// restartIfCrashed restarts a process that crashed.
func (p *process) restartIfCrashed() {
	if p.doomed {
		p.kill()
		p.w.start(p.role, p.adapter, 0)
	}
}

const (
	// permanentFaultTime is for how long the judge watches a world with a permanent fault.
	permanentFaultTime = 2 * time.Hour
	// mostCalls bounds the calls in an hour for each affected machine.
	mostCalls = 2000
)

// watchPermanentFault checks that controllers do not retry too often, and that the affected machines report the
// reason.
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
		w.broken(judge.NotBusy, "%d calls in %v for %d affected machines", n, permanentFaultTime, affected-1)
	}
	w.storms(made, affected)
	w.resync()
	for _, m := range w.machines() {
		if w.hopeless(m) && w.now.Sub(m.GetCreationTimestamp().Time) > time.Hour && !w.judge.Well(m) && w.judge.Silent(m) && !w.warned(m) {
			w.broken(judge.SaysWhy, "machine %s has been there since %s", m.GetName(), m.GetCreationTimestamp())
		}
	}
}

// resync delivers all objects once more, as informers do every ten minutes. Without a resync, no event reports the death of
// an instance whose node was already silent.
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

// endPermanentFault ends the fault. Collectors get time to remove what they could not remove before: later the approval
// is deleted together with the last machine and its set.
func (w *World) endPermanentFault() {
	if w.profile.permanent == "" {
		return
	}
	w.profile.permanent = ""
	w.intervene() // for machines that were affected until now
	if w.profile.collects {
		w.until(w.now.Add(time.Hour))
	}
}

// warned reports whether a recent event warns about o: API servers keep events for an hour.
func (w *World) warned(o client.Object) bool {
	at, told := w.told[o.GetName()]
	return told && w.now.Sub(at) < time.Hour
}

// until lets the world continue by itself until the time.
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

// failing counts the failed passes of p that must be repeated, without passes over affected objects.
func (w *World) failing(p *process) (n int) {
	for key := range p.queue.failures {
		if !w.profile.affects(key.Name) {
			n++
		}
	}
	return n
}
