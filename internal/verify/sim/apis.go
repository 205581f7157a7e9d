package sim

import (
	"math/rand/v2"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1Budgets "github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// breadth says how large a world is.
type breadth struct {
	// together: one process looks for orphans of both APIs, with caches of both. Otherwise each API has a process of its own,
	// which asks the API server for the machines of the other API.
	together bool
	// versions: processes of an earlier version run too, become the leader, and hand over again.
	versions bool
	// many is the approximate number of machines in a world with hundreds of machines; 0 for other worlds. All machines are
	// in sets, and the faults begin when the world is at rest.
	many int
	// hollow: the cloud is that of the provider kubemark, which gives a node name to one machine only. This has no effect
	// in a world of two APIs.
	hollow bool
}

// breadthSource is the source of random numbers of this profile alone.
const breadthSource = widerSource + 0xb4ead

func (b *breadth) draw(r *rand.Rand) {
	b.together, b.versions = r.IntN(2) == 0, r.IntN(6) == 0
	if r.IntN(400) == 0 { // such a world takes as long as a hundred others
		b.many = 100 + r.IntN(201)
	}
	b.hollow = r.IntN(10) == 0
}

// broaden draws the profile.
func (c *profile) broaden(r *rand.Rand) {
	c.breadth.draw(r)
	c.crowd()
	c.settle()
}

// crowds is the number of sets in a world of hundreds of machines.
const crowds = 3

// crowd removes the deployments from a world of hundreds of machines.
func (c *profile) crowd() {
	if c.many > 0 {
		c.sets, c.deployments, c.grown = crowds, 0, true
	}
}

// size is the size of a set that users create or scale.
func (w *World) size(least, most int) int {
	if n := w.profile.many / crowds / len(w.apis); n > 0 {
		return w.between(n/2, n)
	}
	return w.between(least, most)
}

// steps is the number of steps. It is lower if each step takes long.
func (w *World) steps() int {
	if w.profile.many > 0 {
		return w.o.Steps / 4
	}
	return w.o.Steps
}

// adapters are the adapters of the APIs, by dialect.
var adapters = map[string][]func(*World) *adapter{
	OpenShift: {openshiftAdapter}, Gardener: {gardenerAdapter}, Both: {openshiftAdapter, gardenerAdapter},
}

func (w *World) openAPIs() {
	for n, open := range adapters[w.o.Dialect] {
		w.apis = append(w.apis, open(w))
		w.apis[n].number = n
	}
	w.adapter = w.apis[0]
}

// schemes are the schemes of the dialects: their construction takes long.
var schemes sync.Map

// scheme knows the types of all APIs.
func (w *World) scheme() *runtime.Scheme {
	if known, ok := schemes.Load(w.o.Dialect); ok {
		return known.(*runtime.Scheme)
	}
	out := runtime.NewScheme()
	w.must("know health checks", lenient.AddToScheme(out))
	w.must("know the older health checks", v1alpha1.AddToScheme(out))
	for _, f := range w.apis {
		w.must("know "+f.api, f.knows(out))
	}
	w.must("know nodes", corev1.AddToScheme(out))
	w.must("know disruption budgets", v1alpha1Budgets.AddToScheme(out))
	known, _ := schemes.LoadOrStore(w.o.Dialect, out)
	return known.(*runtime.Scheme)
}

// kinds are the kinds of all APIs, each once.
func (w *World) kinds() (out []*store.Kind) {
	for _, f := range w.apis {
		for _, k := range f.kinds {
			if !slices.ContainsFunc(out, func(o *store.Kind) bool { return o.GroupVersionKind == k.GroupVersionKind }) {
				out = append(out, k)
			}
		}
	}
	return out
}

// has reports whether the world has machines of the API.
func (w *World) has(api string) bool {
	return slices.ContainsFunc(w.apis, func(f *adapter) bool { return f.api == api })
}

// chooseAPI chooses the API that the next step is about.
func (w *World) chooseAPI() {
	if len(w.apis) > 1 {
		w.adapter = w.apis[w.roll(len(w.apis))]
	}
}

// each calls do once for every API.
func (w *World) each(do func()) {
	was := w.adapter
	for _, f := range w.apis {
		w.adapter = f
		do()
	}
	w.adapter = was
}

// all collects the results for every API.
func all[T any](w *World, of func() []T) (out []T) {
	w.each(func() { out = append(out, of()...) })
	return out
}

// machines are the machines of every API.
func (w *World) machines() []client.Object {
	return all(w, func() []client.Object { return w.store.All(w.adapter.machine) })
}

// of is the API of a machine, set or deployment.
func (w *World) of(o client.Object) *adapter {
	group := w.store.KindOf(o).Group
	for _, f := range w.apis {
		if f.api == group {
			return f
		}
	}
	return w.adapter
}

// caches reports whether the process has a cache of the kind. It caches the kinds of its own API, and other kinds that
// its work needs.
func (p *process) caches(k *store.Kind) bool {
	if k.Kind == "Namespace" || k.Kind == "MachineDisruptionBudget" {
		return false
	}
	both := p.checks() || p.w.profile.checks && p.role == fleetRole && k.Kind == "MachineHealthCheck" ||
		p.w.profile.together && (p.role == orphanRole || p.role == nodeRole)
	if both {
		return true
	}
	for _, f := range p.w.apis {
		if f != p.adapter && k.Group == f.api {
			return false
		}
	}
	return true
}

// judgedAPIs describe the APIs to the judge.
func (w *World) judgedAPIs() (out []judge.API) {
	for _, f := range w.apis {
		out = append(out, judge.API{
			Machine: f.machine, Set: f.set, Deployment: f.fleet.deployment, Finalizer: f.finalizer, Waits: f.waits,
		})
	}
	return out
}
