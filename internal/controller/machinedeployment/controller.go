// Package machinedeployment rolls changes of a template over sets of machines,
// in every API group that has such deployments.
//
// One pass over a deployment reads its sets, their machines and the nodes of these machines, settles which
// sets belong to it, decides ([rollout.Decide]), carries the plan out in its order, and records the status.
// It acts by the cache once the cache shows everything that the API server had when the controller first
// looked, and all later writes of the controller. Every write to a set or a node names the version that the
// pass has read.
package machinedeployment

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/expectations"
	"github.com/millwright-dev/millwright/internal/controller/parallel"
	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// Options are what a [Reconciler] works with.
type Options struct {
	// Client reads deployments, sets and machines from a cache with the indexes
	// [SetIndex], [index.Owner] and [NodeIndex], and writes them.
	// Required.
	Client client.Client
	// Live reads deployments, sets and machines from the API server itself.
	// Required.
	Live client.Reader
	// Nodes reads the nodes of the machines from a cache, and patches them; nil: machines join no cluster.
	// LiveNodes reads them from the API server itself. Required with Nodes.
	Nodes     client.Client
	LiveNodes client.Reader
	// Recorder records the events. Required.
	Recorder events.EventRecorder
	// Connectivity is how well the clusters are seen; nil: perfectly.
	Connectivity connectivity.Source
	// Alarms reports what health checks say about the machines of a set; nil: no alarms.
	Alarms Alarms
	// Clock is the real one by default.
	Clock clock.PassiveClock
	// Writes runs the calls of one batch of machines, nodes or deletions; by
	// default 16 at a time.
	Writes replicas.Runner
}

// Reconciler rolls deployments of kind D, whose sets are of kind S. Passes over
// different deployments may run in parallel, those over one must not.
type Reconciler[D, S client.Object] struct {
	Options
	lens dialect.Deployments[D, S]
	// mover is nil if no strategy updates machines in place, marker if the autoscaler marks machines
	// itself.
	mover  dialect.Mover[S]
	marker dialect.VictimMarker
	// writes are the written deployments, sets and machines, nodeWrites the written nodes.
	writes, nodeWrites readyourwrites.Writes
	// counted are the writes of their counters.
	counted readyourwrites.Recent

	mu       sync.Mutex
	memories map[types.NamespacedName]*memory
}

// memory is what a reconciler knows about one deployment between passes.
// Losing it costs one live listing of sets.
type memory struct {
	uid types.UID
	// machines is their number at the last pass.
	machines atomic.Int64
	// awaited are the sets that were created and deleted; expectations has those for which that is uncertain.
	awaited      readyourwrites.Awaited
	expectations expectations.Expectations
	// agreed says that the cache once showed all sets as the API server did, and that no reply was lost
	// since.
	agreed bool
	// late has the writes without an answer that may still take effect, and until when: the creation of a
	// set, or one of these sizes.
	late  time.Time
	sizes map[types.UID]lateSize
	// recorded is when the status was last written, urgentStatus its content except for counters.
	recorded     time.Time
	urgentStatus urgentStatus
	told         told
	// rests is the remaining work after the last pass.
	rests replicas.Resting
}

// New returns a reconciler of the deployments that lens reads.
func New[D, S client.Object](lens dialect.Deployments[D, S], o Options) *Reconciler[D, S] {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Writes == nil {
		o.Writes = parallel.Runner(16)
	}
	mover, _ := dialect.As[dialect.Mover[S]](lens.Machines())
	marker, _ := dialect.As[dialect.VictimMarker](lens.Machines())
	return &Reconciler[D, S]{Options: o, lens: lens, mover: mover, marker: marker, memories: map[types.NamespacedName]*memory{}}
}

// Reconcile makes one pass over the deployment that req names.
func (r *Reconciler[D, S]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c := &readyourwrites.Client{Client: r.Client, Live: r.Live, Writes: &r.writes, Clock: r.Clock}
	d := r.lens.New()
	err := c.Get(ctx, req.NamespacedName, d)
	if apierrors.IsNotFound(err) {
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read deployment: %w", err)
	}
	seen := connectivity.Of(r.Connectivity)
	if seen.Blocked(r.Clock.Now(), d.GetDeletionTimestamp() != nil) != "" {
		return reconcile.Result{RequeueAfter: seen.Again()}, nil
	}
	m := r.remember(req.NamespacedName, d.GetUID())
	now := r.Clock.Now()
	if left := m.rests.Left(now, d.GetGeneration()); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	c.Awaited = &m.awaited
	v := r.lens.View(d, now)
	about := &scope[D, S]{
		Reconciler: r, Client: c, Nodes: r.nodeClient(), memory: m, object: d, now: now,
		facts: v.Deployment, policy: v.Policy, selector: v.Selector,
	}
	about.facts.Connectivity = seen
	p := &pass[D, S]{scope: about, observation: &observation[D, S]{scope: about}}
	err = p.run(ctx)
	m.rests = replicas.After(now, d.GetGeneration(), len(p.machines), false)
	p.again(c.Settle(ctx, now))
	if p.Nodes != nil {
		p.again(p.Nodes.Settle(ctx, now))
	}
	if expectations.OnlyConflicts(err) {
		p.again(conflictDelay)
		err = nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: p.after}, nil
}

// nodeClient is the client for nodes in one pass; nil: machines join no cluster.
func (r *Reconciler[D, S]) nodeClient() *readyourwrites.Client {
	if r.Nodes == nil {
		return nil
	}
	return &readyourwrites.Client{Client: r.Nodes, Live: r.LiveNodes, Writes: &r.nodeWrites, Clock: r.Clock}
}

// conflictDelay is how long the cache may catch up after another client wrote first. The event of that
// write usually comes sooner.
const conflictDelay = 100 * time.Millisecond

func (r *Reconciler[D, S]) remember(key types.NamespacedName, uid types.UID) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.memories[key]
	if m == nil || m.uid != uid {
		m = &memory{uid: uid}
		r.memories[key] = m
	}
	return m
}

func (r *Reconciler[D, S]) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.memories, key)
}
