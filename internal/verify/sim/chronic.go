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

// chronic is what never stops in a world before all is to end. What it affects cannot
// come to what was asked for, and everything else has to.
type chronic struct{ ill illness }

// illness is one kind of it.
type illness string

// The illnesses. All but the last are those of some machines: of one zone, account or
// pool.
const (
	// exhausted: there is no room for their instances. denied: nothing may be asked
	// about them.
	exhausted illness = "exhausted"
	denied    illness = "denied"
	// undeletable: no instance of theirs can be removed.
	undeletable illness = "undeletable"
	// joinless: their nodes do not join.
	joinless illness = "joinless"
	// forbidden: a webhook lets nobody update them.
	forbidden illness = "forbidden"
	// crashing: the process of machines crashes before its third write.
	crashing illness = "crashing"
)

func (c *chronic) draw(r *rand.Rand) {
	all := []illness{exhausted, denied, undeletable, joinless, forbidden, crashing}
	if r.IntN(6) == 0 {
		c.ill = all[r.IntN(len(all))]
	}
}

// writesToCrash is how many writes a process makes that always crashes.
const writesToCrash = 2

// ails reports whether the machine, set or deployment is affected: the first of each
// sort is, and what it made.
func (c chronic) ails(name string) bool {
	first, _, _ := strings.Cut(name, "-")
	return c.ill != "" && c.ill != crashing && strings.HasSuffix(first, "1")
}

// hopeless reports whether nothing can be done about o: it is affected, or was adopted
// by a set that is. A set that may not release a machine does not know how many it has,
// and leaves all as they are.
func (w *World) hopeless(o client.Object) bool {
	by := metav1.GetControllerOf(o)
	return w.profile.ails(o.GetName()) || w.profile.ill == forbidden && by != nil && w.profile.ails(by.Name)
}

// hopelessOn reports whether that is so of the machine of i.
func (w *World) hopelessOn(i *cloud.Machine) bool {
	m := w.machineOf(w.uidOf(i))
	return m != nil && w.hopeless(m)
}

// ailingCall is what a call to the infrastructure comes to; nil: it is not affected.
func (w *World) ailingCall(p *process, c cloud.Call) error {
	if err := w.tardyCall(p, c); err != nil {
		return err
	}
	if p.role != machineRole || !w.profile.ails(c.Ref.Name) {
		return nil
	}
	switch ill := w.profile.ill; {
	case ill == exhausted && c.Verb == "create":
		return provider.Errorf(provider.Exhausted, "no room in zone 1")
	case ill == denied:
		return provider.Errorf(provider.Denied, "not authorized to %s in account 1", c.Verb)
	case ill == undeletable && c.Verb == "delete":
		return provider.Errorf(provider.Transient, "internal error in zone 1")
	}
	return nil
}

// ailingWrite is what a write to an API server comes to.
func (w *World) ailingWrite(p *process, c store.Call) error {
	if !c.Writes() {
		return nil
	}
	if w.profile.ill == crashing && p.role == machineRole {
		if p.writes++; p.writes > writesToCrash {
			w.tracef(p.name(), "CRASHES, as always")
			p.doomed = true
			panic(killed{})
		}
	}
	if w.profile.ill == forbidden && c.Kind.Kind == "Machine" && sortOf(c) == "update" && w.profile.ails(c.Key.Name) {
		return apierrors.NewForbidden(schema.GroupResource{Group: c.Kind.Group, Resource: c.Kind.Kind}, c.Key.Name, errors.New(`admission webhook "policy.example.com" denied the request: never`))
	}
	return nil
}

// mourn starts a process anew that crashed.
func (p *process) mourn() {
	if p.doomed {
		p.kill()
		p.w.start(p.role, p.adapter, 0)
	}
}

const (
	// chronicTime is for how long a world is watched in which something never stops.
	chronicTime = 2 * time.Hour
	// mostCalls is how many calls in an hour may be made for what is affected.
	mostCalls = 2000
)

// endure watches that nobody gets busy with what cannot be done, and that it says why.
func (w *World) endure() {
	if w.profile.ill == "" || w.profile.ill == crashing {
		return
	}
	w.breathe()
	calls, made, end, affected := w.counts.cloudCalls+w.counts.writes, w.madeInVain(), w.now.Add(chronicTime), 1
	for _, m := range w.machines() {
		if w.hopeless(m) {
			affected++
		}
	}
	w.until(end)
	if n := w.counts.cloudCalls + w.counts.writes - calls; n > affected*mostCalls*int(chronicTime/time.Hour) {
		w.broken(judge.NotBusy, "%d calls in %v for %d machines that are affected", n, chronicTime, affected-1)
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

// cure ends it. Collectors get the time to remove what machines left behind that
// could not go before: with the last machine and its set goes who approves of that.
func (w *World) cure() {
	if w.profile.ill == "" {
		return
	}
	w.profile.ill = ""
	w.nurse() // who had no hope until now
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
		if !w.profile.ails(key.Name) {
			n++
		}
	}
	return n
}
