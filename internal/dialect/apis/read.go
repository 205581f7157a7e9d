package apis

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// What follows is what a reader asks of lenses, whatever the types of the API are. Given an
// object of another kind they panic.

// Machines shows machines. [dialect.As] finds what else the lens is.
type Machines interface {
	View(m client.Object) lifecycle.Machine
	Policy(m client.Object) lifecycle.Policy
}

// Sets shows sets.
type Sets interface {
	View(s client.Object) replicas.Set
	Selector(s client.Object) labels.Selector
	// Makes are the labels of the machines that s makes.
	Makes(s client.Object) labels.Set
	// Decide is what the controller of s decides where it has the machines.
	Decide(now time.Time, s client.Object, machines []client.Object, nodes dialect.Nodes) replicas.Decision
}

// Deployments shows deployments.
type Deployments interface {
	View(d client.Object, now time.Time) rollout.Deployment
	// Rollout is what the controller of d looks at where d has the sets, and these have the machines.
	Rollout(now time.Time, d client.Object, sets []client.Object, machines func(set client.Object) []client.Object, nodes dialect.Nodes) (rollout.Deployment, []rollout.Set, rollout.Policy)
}

// Checks shows health checks.
type Checks interface {
	Kind() schema.GroupVersionKind
	View(c client.Object) health.Check
	Selector(c client.Object) labels.Selector
}

// Faults are what controllers find wrong with an object, and do nothing about it for; none where it is of no API. What
// is at fault outside of the object is not known.
func Faults(o client.Object, now time.Time) []lifecycle.Fault {
	name, kind := KindOf(o)
	a, known := Of(name)
	switch {
	case !known:
		return otherFaults(o)
	case kind == "Machine":
		return a.Machines.View(o).Faults
	case kind == "MachineSet":
		return a.Sets.View(o).Faults
	case kind == "MachineDeployment":
		return a.Deployments.View(o, now).Faults
	case kind == "MachineHealthCheck":
		return a.Checks.View(o).Faults
	case kind == "MachineClass":
		return a.classFaults(o)
	}
	return nil
}

func otherFaults(o client.Object) (out []lifecycle.Fault) {
	for _, a := range All {
		if a.otherFaults != nil {
			out = append(out, a.otherFaults(o)...)
		}
	}
	return out
}

type machines[M client.Object] struct{ lens dialect.Machines[M] }

func (r machines[M]) Unwrap() any                             { return r.lens }
func (r machines[M]) View(m client.Object) lifecycle.Machine  { return r.lens.View(m.(M)) }
func (r machines[M]) Policy(m client.Object) lifecycle.Policy { return r.lens.Policy(m.(M)) }

type sets[S client.Object] struct{ lens dialect.Sets[S] }

func (r sets[S]) View(s client.Object) replicas.Set        { return r.lens.View(s.(S)).Set }
func (r sets[S]) Selector(s client.Object) labels.Selector { return r.lens.View(s.(S)).Selector }

func (r sets[S]) Makes(s client.Object) labels.Set {
	return r.lens.NewMachine(s.(S), s.GetName()).GetLabels()
}

func (r sets[S]) Decide(now time.Time, o client.Object, machines []client.Object, nodes dialect.Nodes) replicas.Decision {
	s := o.(S)
	var members []replicas.Member
	for _, m := range machines {
		members = append(members, r.lens.Member(s, m, nodes))
	}
	v := r.lens.View(s)
	return replicas.Decide(now, v.Set, members, v.Policy)
}

type deployments[D, S client.Object] struct{ lens dialect.Deployments[D, S] }

func (r deployments[D, S]) View(d client.Object, now time.Time) rollout.Deployment {
	return r.lens.View(d.(D), now).Deployment
}

func (r deployments[D, S]) Rollout(now time.Time, d client.Object, sets []client.Object, machines func(client.Object) []client.Object, nodes dialect.Nodes) (rollout.Deployment, []rollout.Set, rollout.Policy) {
	v := r.lens.View(d.(D), now)
	var out []rollout.Set
	for _, s := range sets {
		set := r.lens.Sets().View(d.(D), s.(S))
		for _, m := range machines(s) {
			set.Machines = append(set.Machines, r.lens.Machines().View(m, nodes))
		}
		out = append(out, set)
	}
	return v.Deployment, out, v.Policy
}

type checks[C client.Object] struct{ lens dialect.HealthChecks[C] }

func (r checks[C]) Kind() schema.GroupVersionKind            { return r.lens.Traits().Kind }
func (r checks[C]) Selector(c client.Object) labels.Selector { return r.lens.Selector(c.(C)) }

// View leaves out the conditions that all checks share: they are in no check.
func (r checks[C]) View(c client.Object) health.Check {
	return r.lens.View(c.(C), dialect.CommonConditions{})
}
