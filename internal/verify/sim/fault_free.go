package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// FaultFree is a world without faults. Its caller changes objects and looks at the result.
type FaultFree struct{ w *World }

// faultFreeSource is the source of random numbers of these worlds alone.
const faultFreeSource = widerSource + 0xca14

// quietTime is how long a world has no write before it counts as at rest. Every delay of a controller is shorter, except
// timeouts, and a world without faults reaches no timeout.
const quietTime = 12 * time.Minute

// NewFaultFree creates the world of a seed and lets it come to rest.
func NewFaultFree(seed uint64, dialect string) *FaultFree {
	calm := func(c *profile) {
		apps := c.apps
		quiet(c)
		c.viewLag, c.pausePercent, c.singles, c.sets, c.deployments, c.apps = 0, 0, 1, 1, 1, apps
	}
	w := newWorld(seed, Options{Dialect: dialect, Mutation: &Mutation{Name: "only calm", Setting: calm}})
	w.rng, w.step, w.calm = rand.New(rand.NewPCG(seed, faultFreeSource)), -1, true
	c := &FaultFree{w}
	c.Settle()
	return c
}

// Now is the time in the world.
func (c *FaultFree) Now() time.Time { return c.w.now }

// Violation is the first broken promise; empty if all were kept.
func (c *FaultFree) Violation() string {
	if c.w.violation == nil {
		return ""
	}
	return c.w.violation.String()
}

// All are the objects of the same kind as example.
func (c *FaultFree) All(example client.Object) []client.Object { return c.w.home(example).All(example) }

// Machine is an empty machine of the world's API.
func (c *FaultFree) Machine() client.Object { return c.w.apis[0].machine }

// Set is an empty set of the world's API.
func (c *FaultFree) Set() client.Object { return c.w.apis[0].set }

// Fleet are all deployments, sets and machines.
func (c *FaultFree) Fleet() (out []client.Object) {
	c.w.each(func() {
		out = append(out, c.w.deployments()...)
		out = append(out, c.w.store.All(c.w.adapter.set)...)
		out = append(out, c.w.store.All(c.w.adapter.machine)...)
	})
	return out
}

// Propose draws a change that a user might make: the object as it is (nil to create it), and as the user wants it (nil to
// delete it). An empty `what` says that there was nothing to change.
func (c *FaultFree) Propose(r *rand.Rand) (what string, before, after client.Object) {
	w := c.w
	w.rng = r
	one := func(all []client.Object) client.Object { o, _ := pick(w, all); return o }
	w.each(func() {
		set, d, m := one(w.free()), one(w.deployments()), one(w.store.All(w.adapter.machine))
		type action struct {
			what string
			of   client.Object
			do   func(client.Object)
		}
		actions := []action{
			{"scale", set, func(o client.Object) { w.adapter.resize(o, r.IntN(7)) }},
			{"scale", d, func(o client.Object) { w.adapter.fleet.resize(o, r.IntN(7)) }},
			{"roll", d, func(o client.Object) { w.adapter.fleet.roll(o, r.IntN(templates)) }},
			{"roll and scale", d, func(o client.Object) {
				w.adapter.fleet.roll(o, r.IntN(templates))
				w.adapter.fleet.resize(o, r.IntN(7))
			}},
			{"touch", d, w.adapter.fleet.touch},
			{"pause and roll", d, func(o client.Object) { w.adapter.fleet.pause(o, r.IntN(2) == 0); w.adapter.fleet.roll(o, 2) }},
			{"go back", d, func(o client.Object) { w.adapter.fleet.goBack(o, int64(r.IntN(3))) }},
			{"restyle and roll", d, func(o client.Object) { w.adapter.fleet.restyle(o); w.adapter.fleet.roll(o, 1) }},
			{"delete", m, nil},
			{"delete", set, nil},
			{"delete", d, nil},
		}
		if set != nil && r.IntN(len(actions)) == 0 {
			what, before, after = "offer a machine to set "+set.GetName(), nil, w.adoptableMachine(set)
			return
		}
		x := actions[r.IntN(len(actions))]
		if x.of == nil {
			return
		}
		what, before = fmt.Sprintf("%s %T %s", x.what, x.of, x.of.GetName()), x.of
		if x.do != nil {
			after = x.of.DeepCopyObject().(client.Object)
			x.do(after)
		}
	})
	return what, before, after
}

// free are the sets without a deployment.
func (w *World) free() (out []client.Object) {
	for _, s := range w.store.All(w.adapter.set) {
		if w.deploymentOf(s) == nil {
			out = append(out, s)
		}
	}
	return out
}

// adoptableMachine is a machine that the set will adopt.
func (w *World) adoptableMachine(set client.Object) client.Object {
	w.named++
	m := w.adapter.newMachine(fmt.Sprint("recruit", w.named))
	labels := m.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	all, _ := w.adapter.selector(set).Requirements()
	for _, r := range all {
		if values := r.Values().List(); len(values) == 1 {
			labels[r.Key()] = values[0]
		}
	}
	m.SetLabels(labels)
	return m
}

// Make applies a change.
func (c *FaultFree) Make(before, after client.Object) {
	if before == nil {
		_, err := c.w.store.Create(after)
		c.w.must("create "+after.GetName(), err)
		return
	}
	if after == nil {
		c.w.deleteObject(before)
		return
	}
	_, err := c.w.store.Update(after, "")
	c.w.must("change "+after.GetName(), err)
}

// Settle lets the world continue until no writes happen.
func (c *FaultFree) Settle() {
	for end := c.w.now.Add(patience); c.w.now.Before(end) && c.w.violation == nil; {
		before := c.w.counts.writes
		c.w.until(c.w.now.Add(quietTime))
		if c.w.counts.writes == before {
			return
		}
	}
}

// Watch returns a function that returns all changes of the same kind as example since its last call.
func (c *FaultFree) Watch(example client.Object) func() []store.Event {
	s := c.w.home(example)
	v := s.View(s.KindOf(example), 0)
	return func() (out []store.Event) {
		for v.Behind() > 0 {
			out = append(out, v.Advance())
		}
		return out
	}
}
