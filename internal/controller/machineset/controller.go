// Package machineset keeps sets of machines at their size, in every API group
// that has such sets.
//
// One pass over a set reads its machines, settles which of them belong to it, judges whether they are far
// too many ([limits.Judge]), decides ([replicas.Decide]), creates or deletes, and records. It creates by
// the cache, once that shows all its own writes. It deletes by a live listing, because a user may have
// marked a machine for deletion a moment ago.
package machineset

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/expectations"
	"github.com/millwright-dev/millwright/internal/controller/parallel"
	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// Options are what a [Reconciler] works with.
type Options struct {
	// Client reads sets and machines from a cache with the index
	// [index.Owner], and writes them. Required.
	Client client.Client
	// Live reads them from the API server itself. Required.
	Live client.Reader
	// Nodes reads the nodes of the machines; nil: none are known. Only API groups that read readiness from
	// nodes use it.
	Nodes client.Reader
	// Recorder records the events. Required.
	Recorder events.EventRecorder
	// Connectivity is how well the clusters are seen; nil: perfectly.
	Connectivity connectivity.Source
	// Clock is the real one by default.
	Clock clock.PassiveClock
	// Names returns the random end of a machine's name, five characters; by
	// default from the alphabet of the API server's generated names.
	Names func() string
	// Creates and Deletes run the calls of one batch; by default 32 and 16 at
	// a time. Deletes sent all at once would be refused with 429.
	Creates, Deletes replicas.Runner
	// Margins are those of the freeze of sets that have far too many machines, in API groups that support
	// it ([dialect.Freezer]); by default [limits.DefaultMargins].
	Margins *limits.Margins
	// FreezePeriod is how often a frozen set is reconciled without an event; zero is never.
	FreezePeriod time.Duration
	// StaleMachines counts the machines that sets deleted because they had been unhealthy for too long, in
	// API groups that report that ([dialect.HealthJudge]); may be nil.
	StaleMachines prometheus.Counter
	// Tracer records the created and deleted machines; may be nil.
	Tracer Tracer
	// Settled returns when the last write of an earlier process has arrived at the API server; nil: there was
	// no earlier process.
	Settled func(now time.Time) time.Time
}

// Tracer records that something was done, since from, with the machine of a UID. Its other arguments are
// keys and values, as in logs.
type Tracer interface {
	Did(uid, name string, from time.Time, err error, about ...any)
}

// Reconciler keeps sets of kind S at their size. Passes over different sets
// may run in parallel, those over one set must not.
type Reconciler[S client.Object] struct {
	Options
	lens dialect.Sets[S]
	// preserver is nil if sets keep no machines, nodeReader if machines report their readiness themselves,
	// unhealthy if machines do not report why they failed.
	preserver  dialect.SetPreserver
	nodeReader dialect.NodeReader
	unhealthy  dialect.HealthJudge
	// writes are the written sets and machines.
	writes readyourwrites.Writes
	// counted are the writes of their counters.
	counted readyourwrites.Recent

	mu       sync.Mutex
	memories map[types.NamespacedName]*memory
	// counts are the numbers of machines that were counted for the turns of sets.
	counts map[types.NamespacedName]counted
	// selections are the selectors and labels of sets at their last comparison with other sets.
	selections map[types.NamespacedName]selection
}

// memory is what a reconciler knows about one set between passes. Losing it
// costs one live listing.
type memory struct {
	uid types.UID
	// awaited are the machines that were created and deleted; expectations has those for which that is uncertain.
	awaited      readyourwrites.Awaited
	expectations expectations.Expectations
	// recorded is when the status was last written, observed the generation of that write, told the last
	// reported fault; misread and refused are the last reports of the guard of deletions.
	recorded time.Time
	observed int64
	// inStep are machines that need not be compared with the template again.
	inStep inStep
	// compared is the generation that was last compared with other sets, selects its selector and labels.
	compared int64
	selects  string
	told     string
	misread  string
	refused  string
	// refusedGrowth is the last report of the guard of growth.
	refusedGrowth string
	// doubted is the last report about annotations without effect.
	doubted string
	// created and deleted bound the events about machines.
	created, deleted replicas.Telling
	// rests is the remaining work after the last pass, members how many machines it saw that were not under
	// deletion. The reconciler's lock guards both.
	rests   replicas.Resting
	members int
}

// FreezeMargins are the given margins, or else the defaults.
func (o Options) FreezeMargins() limits.Margins {
	if o.Margins == nil {
		return limits.DefaultMargins
	}
	return *o.Margins
}

// New returns a reconciler of the sets that lens reads.
func New[S client.Object](lens dialect.Sets[S], o Options) *Reconciler[S] {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Names == nil {
		o.Names = func() string { return rand.String(dialect.SuffixLength) }
	}
	if o.Creates == nil {
		o.Creates = parallel.Runner(32)
	}
	if o.Deletes == nil {
		o.Deletes = parallel.Runner(16)
	}
	if o.Settled == nil {
		o.Settled = func(time.Time) time.Time { return time.Time{} }
	}
	margins := o.FreezeMargins()
	o.Margins = &margins
	preserver, _ := dialect.As[dialect.SetPreserver](lens)
	nodeReader, _ := dialect.As[dialect.NodeReader](lens)
	unhealthy, _ := dialect.As[dialect.HealthJudge](lens)
	return &Reconciler[S]{
		Options: o, lens: lens, preserver: preserver, nodeReader: nodeReader, unhealthy: unhealthy, memories: map[types.NamespacedName]*memory{}, counts: map[types.NamespacedName]counted{},
		selections: map[types.NamespacedName]selection{},
	}
}

// Reconcile makes one pass over the set that req names.
func (r *Reconciler[S]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c := &readyourwrites.Client{Client: r.Client, Live: r.Live, Writes: &r.writes, Clock: r.Clock}
	s := r.lens.New()
	err := c.Get(ctx, req.NamespacedName, s)
	if apierrors.IsNotFound(err) {
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read set: %w", err)
	}
	seen := connectivity.Of(r.Connectivity)
	if seen.Blocked(r.Clock.Now(), s.GetDeletionTimestamp() != nil) != "" {
		return reconcile.Result{RequeueAfter: seen.Again()}, nil
	}
	m := r.remember(req.NamespacedName, s.GetUID())
	if left := m.rests.Left(r.Clock.Now(), s.GetGeneration()); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	c.Awaited = &m.awaited
	v := r.lens.View(s)
	about := &scope[S]{
		seen:       seen,
		Reconciler: r, Client: c, memory: m, object: s,
		set: v.Set, policy: v.Policy, selector: v.Selector, now: r.Clock.Now(),
	}
	p := &pass[S]{scope: about, observation: &observation[S]{scope: about}}
	err = p.run(ctx)
	r.rest(m, replicas.After(about.now, s.GetGeneration(), len(p.machines), p.acted), staying(p.machines))
	p.again(c.Settle(ctx, p.now))
	if expectations.OnlyConflicts(err) {
		p.again(conflictDelay)
		err = nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: p.after}, nil
}

// conflictDelay is how long the cache may catch up after another client wrote first. The event of that
// write usually comes sooner.
const conflictDelay = 100 * time.Millisecond

func (r *Reconciler[S]) remember(key types.NamespacedName, uid types.UID) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.memories[key]
	if m == nil || m.uid != uid {
		m = &memory{uid: uid}
		r.memories[key] = m
	}
	return m
}

func (r *Reconciler[S]) rest(m *memory, rests replicas.Resting, members int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.rests, m.members = rests, members
}

func (r *Reconciler[S]) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.memories, key)
	delete(r.counts, key)
	delete(r.selections, key)
}
