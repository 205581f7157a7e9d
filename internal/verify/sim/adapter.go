package sim

import (
	"context"
	"io"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
	collector "github.com/millwright-dev/millwright/internal/controller/orphan"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/runtime/leading"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// Names in the world.
const (
	namespace   = "machines"
	clusterName = "sim"
	secretName  = "cloud"
	bootName    = "boot"
	appSpace    = "apps"
	memberLabel = "set"
	groupLabel  = "name"
)

// adapter has the differences between the dialects that the world's own actors need.
type adapter struct {
	// api is the API's name, number its position in the world, made the number of its sets that users created.
	api          string
	number, made int
	// knows adds the API's types to a scheme.
	knows func(*runtime.Scheme) error
	// kinds are the kinds of the dialect.
	kinds   []*store.Kind
	indexes []node.Index
	// machine and set are empty objects of the API.
	machine, set client.Object
	finalizer    string
	// waits are the timeouts of the dialect.
	waits judge.Waits
	// heals: sets replace unhealthy machines without help.
	heals bool
	// fixtures are the other objects that must exist for machines.
	fixtures   func() []client.Object
	newMachine func(name string) client.Object
	newSet     func(name string, n int) client.Object
	view       func(m client.Object) lifecycle.Machine
	size       func(set client.Object) int
	resize     func(set client.Object, n int)
	selector   func(set client.Object) labels.Selector
	// hook adds a hook before the drain or before termination, unhook removes all hooks; nil if the API has no hooks. hurry
	// requests a forced deletion.
	hook   func(m client.Object, drain bool)
	unhook func(m client.Object)
	hurry  func(m client.Object)

	// templateOf is the number of the template of m.
	templateOf func(m client.Object) int
	// fleet has the functions for deployments.
	fleet *fleet

	runMachines, runSets func(p *process)
	// seen are the API's machines as the collector of orphans sees them, from a cache or live.
	seen func(p *process, cached bool) collector.Kind
	// runNodes is nil if no controller handles nodes without a machine.
	runNodes func(p *process)
	// runHelpers runs the helper controllers: they hold classes or publish capacities.
	runHelpers func(p *process)
	// patients are the API's machines as health checks see them.
	patients dialect.Patients
	// anchors are the objects on which users approve the removal of orphans.
	anchors func() []client.Object
}

// coreKinds are the kinds of the target cluster.
func coreKinds() []*store.Kind {
	pod := store.NewKind(corev1.SchemeGroupVersion.WithKind("Pod"), &corev1.Pod{})
	n := store.NewKind(corev1.SchemeGroupVersion.WithKind("Node"), &corev1.Node{})
	for _, k := range []*store.Kind{pod, n} {
		k.Subresource, k.StatusAtBirth = true, true
	}
	return []*store.Kind{
		pod, n,
		secretKind(),
		store.NewKind(corev1.SchemeGroupVersion.WithKind("Namespace"), &corev1.Namespace{}),
		store.NewKind(certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"), &certificatesv1.CertificateSigningRequest{}),
		store.NewKind(policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), &policyv1.PodDisruptionBudget{}),
		store.NewKind(corev1.SchemeGroupVersion.WithKind("PersistentVolume"), &corev1.PersistentVolume{}),
		store.NewKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), &corev1.PersistentVolumeClaim{}),
		store.NewKind(storagev1.SchemeGroupVersion.WithKind("VolumeAttachment"), &storagev1.VolumeAttachment{}),
	}
}

func secretKind() *store.Kind {
	return store.NewKind(corev1.SchemeGroupVersion.WithKind("Secret"), &corev1.Secret{})
}

// zeros is a source of bytes that keeps runs reproducible.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

var _ io.Reader = zeros{}

// machineLens is a dialect with a defect.
type machineLens[M client.Object] struct {
	dialect.Machines[M]
	m   *Mutation
	now func() time.Time
}

// Unwrap lets [dialect.As] find the other interfaces of the lens.
func (l machineLens[M]) Unwrap() any { return l.Machines }

// View implements [dialect.Machines].
func (l machineLens[M]) View(o M) lifecycle.Machine {
	v := l.Machines.View(o)
	if l.m.View != nil {
		l.m.View(&v)
	}
	if l.m.Aged != nil {
		l.m.Aged(&v, l.now())
	}
	return v
}

// labelledResolver looks for instances in the place that the machine's present labels name.
type labelledResolver[M client.Object] struct{ dialect.Resolver[M] }

// Class implements [dialect.Resolver].
func (l labelledResolver[M]) Class(ctx context.Context, o M) (dialect.Class, error) {
	c, err := l.Resolver.Class(ctx, o)
	c.Cluster, c.Region = labelled(o)
	return c, err
}

// Once implements [dialect.Resolver].
func (l labelledResolver[M]) Once() dialect.Resolver[M] {
	return labelledResolver[M]{l.Resolver.Once()}
}

// Policy implements [dialect.Machines].
func (l machineLens[M]) Policy(o M) lifecycle.Policy {
	p := l.Machines.Policy(o)
	if l.m.Patience != nil {
		l.m.Patience(&p)
	}
	return p
}

// Record implements [dialect.Machines].
func (l machineLens[M]) Record(o M, out lifecycle.Outcome) {
	l.Machines.Record(o, out)
	if l.m.Record != nil {
		l.m.Record(o, out)
	}
}

// Group implements [dialect.Machines].
func (l machineLens[M]) Group(o M) (key, value string) {
	if l.m.Groupless {
		return "", ""
	}
	return l.Machines.Group(o)
}

// setLens is a dialect with a defect.
type setLens[S client.Object] struct {
	dialect.Sets[S]
	m *Mutation
}

// Unwrap lets [dialect.As] find the other interfaces of the lens.
func (l setLens[S]) Unwrap() any { return l.Sets }

// View implements [dialect.Sets].
func (l setLens[S]) View(s S) dialect.SetView {
	v := l.Sets.View(s)
	if l.m.Set != nil {
		l.m.Set(&v.Set)
	}
	return v
}

// Member implements [dialect.Sets].
func (l setLens[S]) Member(s S, o client.Object, nodes dialect.Nodes) replicas.Member {
	out := l.Sets.Member(s, o, nodes)
	if l.m.Member != nil {
		l.m.Member(&out)
	}
	return out
}

// freezingLens is a setLens whose sets freeze.
type freezingLens[S client.Object] struct {
	setLens[S]
	dialect.Freezer[S]
}

// broken adds the defect to a lens and keeps its other interfaces.
func broken[S client.Object](lens dialect.Sets[S], m *Mutation) dialect.Sets[S] {
	if f, ok := lens.(dialect.Freezer[S]); ok {
		return freezingLens[S]{setLens[S]{lens, m}, f}
	}
	return setLens[S]{lens, m}
}

// tenureOf returns the tenure of p, which leads from its start.
func tenureOf(p *process) *leading.Tenure {
	t := leading.NewTenure(p, leading.Handover)
	p.w.must("begin the tenure", t.Start(context.Background()))
	return t
}

// runMachines has p run the machine controller.
func runMachines[M client.Object](p *process, lens dialect.Machines[M], classes dialect.Resolver[M]) {
	w := p.w
	infra := p.infrastructure()
	m := w.o.Mutation
	if m != nil {
		lens = machineLens[M]{lens, m, p.Now}
		if m.Labelled {
			classes = labelledResolver[M]{classes}
		}
		if m.Provider != nil {
			infra = m.Provider(infra, p.target)
		}
	}
	deletions, tenure := &node.Deletions{Clock: p}, tenureOf(p)
	budgets := limitDisruptions(p, lens)
	build := func() *machine.Reconciler[M] {
		nodes := node.New(p.target, p.targetLive, p)
		nodes.Random, nodes.Deletions = zeros{}, deletions
		return machine.New(machine.Options[M]{
			Client: p.client, Live: p.live, Clock: p, Dialect: lens, Resolver: classes, Provider: infra, Nodes: nodes, Recorder: recorder{p},
			Connectivity: p.connectivity(), Settled: tenure.Settled, Budgets: budgets,
		})
	}
	r := build()
	w.must("index machines", r.Index(context.Background(), w.store))
	p.reconcile = r.Reconcile
	if m != nil && m.Forgetful {
		p.reconcile = func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			return build().Reconcile(ctx, req)
		}
	}
	wakes := wakesBy(r.Wakes, "Machine", "Node", "Pod", "VolumeAttachment", "PodDisruptionBudget")
	p.wakes = func(e store.Event) []enqueue.Request {
		if n, ok := e.Old.(*corev1.Node); ok && e.New == nil {
			deletions.Note(n)
		}
		return wakes(e)
	}
	p.runApprover(r)
	p.looksForDue(budgets)
}

// runSets has p run the machine set controller.
func runSets[S client.Object](p *process, lens dialect.Sets[S]) {
	w, m := p.w, p.w.o.Mutation
	if m != nil {
		lens = broken(lens, m)
	}
	o := machineset.Options{
		Client: p.client, Live: p.live, Nodes: p.target, Recorder: recorder{p}, Connectivity: p.connectivity(), Clock: p, Settled: tenureOf(p).Settled,
		Creates: replicas.Sequential, Deletes: replicas.Sequential,
		Names: func() string {
			w.named++
			return string([]byte{'p', byte('a' + p.number%26), byte('a' + w.named/676%26), byte('a' + w.named/26%26), byte('a' + w.named%26)})
		},
	}
	p.plans = planSets(lens)
	r := machineset.New(lens, o)
	w.must("index machines", r.Index(context.Background(), w.store))
	p.reconcile = r.Reconcile
	if m != nil && m.Forgetful {
		p.reconcile = func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			return machineset.New(lens, o).Reconcile(ctx, req)
		}
	}
	watched := []string{"MachineSet", "Machine"}
	if _, ok := dialect.As[dialect.NodeReader](lens); ok {
		watched = append(watched, "Node")
	}
	if _, ok := lens.(dialect.Freezer[S]); ok {
		watched = append(watched, "MachineDeployment")
	}
	p.wakes = wakesBy(r.Wakes, watched...)
}

// alsoBy returns the keys that either function wakes.
func alsoBy(a, b func(store.Event) []enqueue.Request) func(store.Event) []enqueue.Request {
	return func(e store.Event) []enqueue.Request { return append(a(e), b(e)...) }
}

// wakesBy returns the wakes of a controller that watches objects of these kinds.
func wakesBy(f enqueue.Func, watched ...string) func(store.Event) []enqueue.Request {
	return func(e store.Event) []enqueue.Request {
		if !slices.Contains(watched, e.Kind.Kind) {
			return nil
		}
		return f(context.Background(), e.Old, e.New)
	}
}
