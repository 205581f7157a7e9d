// Package machinehealthcheck finds machines with unhealthy nodes and remedies them, by health checks of
// every kind.
//
// A check has a cohort in memory: its machines with their last verdicts. Events say which machines to judge
// again: one event costs one judgement, whatever the size of the fleet, and a heartbeat of a node costs a
// comparison. A pass over a check brings its cohort up to date, asks for a plan, stores in the object the
// remedies that are about to begin, begins them, and records. It returns at the next moment that matters
// and not before.
package machinehealthcheck

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/expectations"
	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// Options are what a [Reconciler] works with.
type Options struct {
	// Client reads checks and machines from a cache and writes them. Required.
	Client client.Client
	// Live reads the same from the API server itself. Required.
	Live client.Reader
	// Nodes reads nodes from a cache and patches them, LiveNodes reads them from
	// the API server itself. Required.
	Nodes     client.Client
	LiveNodes client.Reader
	// Identity distinguishes the cluster of the nodes from others; nil: nothing is compared. Deletions are
	// the nodes that were seen to be deleted; by default those that [Reconciler.SetupWithManager] watches.
	Identity  *node.Identity
	Deletions *node.Deletions
	// Recorder records the events. Required.
	Recorder events.EventRecorder
	// Clock is the real one by default.
	Clock clock.PassiveClock
	// Connectivity is how well the clusters are seen; nil: perfectly.
	Connectivity connectivity.Source
	// Metrics and Tracer may be nil. Tracer records the deleted machines.
	Metrics *Metrics
	Tracer  Tracer
	// Patients are the machines of the API groups that checks may select, the
	// default first. Required.
	Patients []dialect.Patients
	// Namespace has the conditions that checks share; Common reads them. Required if the kind uses shared
	// conditions.
	Namespace string
	Common    func(*corev1.ConfigMap) dialect.CommonConditions
}

// Tracer records that something was done, since from, with the machine of a UID. Its other arguments are
// keys and values, as in logs.
type Tracer interface {
	Did(uid, name string, from time.Time, err error, about ...any)
}

// Reconciler reconciles checks of kind C. Passes over different checks may run in parallel, those over one
// must not.
type Reconciler[C client.Object] struct {
	Options
	lens dialect.HealthChecks[C]
	// writes are the checks and machines that were written.
	writes readyourwrites.Writes

	mu     sync.Mutex
	states map[types.NamespacedName]*state
	// heard is when any node last reported, in Unix nanoseconds; 0 never.
	heard atomic.Int64
}

// New returns a reconciler of the checks that lens reads.
func New[C client.Object](lens dialect.HealthChecks[C], o Options) *Reconciler[C] {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Deletions == nil {
		o.Deletions = &node.Deletions{Clock: o.Clock}
	}
	return &Reconciler[C]{Options: o, lens: lens, states: map[types.NamespacedName]*state{}}
}

// maxRest is the longest pause before a check that waits for a moment is reconciled again, even if that
// moment has not come.
const maxRest = time.Hour

// Reconcile makes one pass over the check that req names.
func (r *Reconciler[C]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	from := &readyourwrites.Client{Client: r.Client, Live: r.Live, Writes: &r.writes, Clock: r.Clock}
	c := r.lens.New()
	err := from.Get(ctx, req.NamespacedName, c)
	if apierrors.IsNotFound(err) {
		r.forget(req.NamespacedName)
		r.Metrics.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read health check: %w", err)
	}
	common, err := r.common(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	p := &pass[C]{Reconciler: r, Client: from, object: c, check: r.lens.View(c, common), now: r.Clock.Now(), seen: connectivity.Of(r.Connectivity)}
	var served bool
	if p.patients, served = r.patients(c); !served {
		p.check.Faults = append(p.check.Faults, lifecycle.Fault{
			Field: "metadata.annotations[" + dialect.MachineAPIAnnotation + "]", Message: "names an API of machines that is not served here",
		})
	}
	if p.check.Paused {
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	p.state = r.remember(req.NamespacedName, c)
	result, err := p.run(ctx)
	result.RequeueAfter = lifecycle.Earlier(result.RequeueAfter, from.Settle(ctx, p.now))
	if expectations.OnlyConflicts(err) {
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	return result, err
}

// conflictDelay is how long the cache may catch up after another client wrote first.
const conflictDelay = 100 * time.Millisecond

// common reads the conditions that checks share, if the kind uses them. A denied or failed answer is not an
// absent ConfigMap.
func (r *Reconciler[C]) common(ctx context.Context) (dialect.CommonConditions, error) {
	traits := r.lens.Traits()
	if !traits.ReadsCommon {
		return dialect.CommonConditions{}, nil
	}
	cm := &corev1.ConfigMap{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: traits.ConfigMap}, cm)
	if apierrors.IsNotFound(err) {
		cm, err = nil, nil
	}
	if err != nil {
		return dialect.CommonConditions{}, fmt.Errorf("read the conditions that health checks share: %w", err)
	}
	return r.Common(cm), nil
}

// patients are the machines that c selects among; none if their API is not served here.
func (r *Reconciler[C]) patients(c C) (_ dialect.Patients, served bool) {
	api := c.GetAnnotations()[dialect.MachineAPIAnnotation]
	for _, p := range r.Patients {
		if api == "" || api == p.API() {
			return p, true
		}
	}
	return r.Patients[0], false
}
