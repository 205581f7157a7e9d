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

// The following interfaces are those that a reader needs of lenses, for any types of the API. They panic for
// an object of another kind.

// Machines shows machines. [dialect.As] finds the lens's other interfaces.
type Machines interface {
	View(m client.Object) lifecycle.Machine
	Policy(m client.Object) lifecycle.Policy
}

// Sets shows sets.
type Sets interface {
	View(s client.Object) replicas.Set
	Selector(s client.Object) labels.Selector
	// Makes returns the labels of the machines that s creates.
	Makes(s client.Object) labels.Set
	// Decide returns the decision of the controller of s with the machines.
	Decide(now time.Time, s client.Object, machines []client.Object, nodes dialect.Nodes) replicas.Decision
}

// Deployments shows deployments.
type Deployments interface {
	View(d client.Object, now time.Time) rollout.Deployment
	// Rollout returns the input of the controller of d with the sets and their machines.
	Rollout(now time.Time, d client.Object, sets []client.Object, machines func(set client.Object) []client.Object, nodes dialect.Nodes) (rollout.Deployment, []rollout.Set, rollout.Policy)
}

// Checks shows health checks.
type Checks interface {
	Kind() schema.GroupVersionKind
	View(c client.Object) health.Check
	Selector(c client.Object) labels.Selector
}

// Faults returns the errors for which controllers do not act on an object; none if it is of no API. Errors
// outside of the object are not included.
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

// View leaves out the conditions that all checks share, because no check has them.
func (r checks[C]) View(c client.Object) health.Check {
	return r.lens.View(c.(C), dialect.CommonConditions{})
}
