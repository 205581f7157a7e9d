// Package machine reconciles machine objects of any dialect: it reads the facts, asks package lifecycle for
// the next step, performs it, and records the outcome.
package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/internal/runtime/pace"
	"github.com/millwright-dev/millwright/provider"
)

// Options are the options of a Reconciler.
type Options[M client.Object] struct {
	// Client reads machines, classes and secrets from a cache and writes to
	// the control cluster.
	Client client.Client
	// Live reads machines from the API server itself.
	Live  client.Reader
	Clock clock.PassiveClock
	// Dialect spells the API group, Resolver reads the classes of machines.
	Dialect  dialect.Machines[M]
	Resolver dialect.Resolver[M]
	Provider provider.Provider
	// Nodes is the cluster that the machines join; nil when they join none.
	Nodes    *node.Cluster
	Recorder events.EventRecorder
	// Budgets are the disruption budgets; nil: the control cluster has none.
	Budgets Budgets
	// Successor reads the machine to which the instance of a machine was moved; nil: such machines are not released.
	Successor func(ctx context.Context, live client.Reader, m lifecycle.Machine) lifecycle.Successor
	// Metrics and Tracer may be nil.
	Metrics *Metrics
	Tracer  Tracer
	// Connectivity is how well the clusters are seen; nil: perfectly.
	Connectivity connectivity.Source
	// Settled returns when the last request of an earlier process has arrived at the infrastructure; nil: there
	// was no earlier process.
	Settled func(now time.Time) time.Time
}

// Reconciler brings machines of kind M to the state that their objects request. Reconcile may be called for
// different machines at once.
type Reconciler[M client.Object] struct {
	Options[M]
	lens    lens
	memory  memory
	permits permits
	// writes are the written machines.
	writes readyourwrites.Writes
	// listings are those that a doubt needed.
	listings *listings
	// fleet has the known nodes of all machines.
	fleet *fleet
	// waiters are the machines that wait because of their class or secrets.
	waiters *enqueue.Waiters
}

// New returns a reconciler.
func New[M client.Object](o Options[M]) *Reconciler[M] {
	if volumes, ok := provider.As[node.VolumeNamer](o.Provider); ok && o.Nodes.Exists() {
		o.Nodes.Volumes = volumes
	}
	if o.Settled == nil {
		o.Settled = func(time.Time) time.Time { return time.Time{} }
	}
	return &Reconciler[M]{Options: o, lens: lensOf(o.Dialect), memory: newMemory(), permits: newPermits(), listings: &listings{}, fleet: &fleet{}, waiters: &enqueue.Waiters{}}
}

// maxSteps bounds a pass: no life has that many steps, so more are a defect.
const maxSteps = 20

// Reconcile makes one pass over a machine: it performs steps until the next one needs a fact that is not
// known yet.
func (r *Reconciler[M]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	own := &readyourwrites.Client{Client: r.Client, Live: r.Live, Writes: &r.writes, Versions: r.memory.versions, Overtaken: true, Clock: r.Clock}
	after, err := r.reconcile(ctx, own, req.NamespacedName)
	again := own.Settle(ctx, r.Clock.Now())
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: lifecycle.Earlier(after, again)}, nil
}

// reconcile returns when to look again.
func (r *Reconciler[M]) reconcile(ctx context.Context, own *readyourwrites.Client, key client.ObjectKey) (after time.Duration, err error) {
	m, wait, err := r.read(ctx, own, key)
	if apierrors.IsNotFound(err) {
		r.memory.forget(key)
		r.waiters.Wait(key, enqueue.Mark{})
		r.Metrics.forget(r.Dialect.API(), key)
		return 0, nil
	}
	if err != nil || wait > 0 {
		return wait, err
	}
	seen := connectivity.Of(r.Connectivity)
	if why := seen.Blocked(r.Clock.Now(), m.GetDeletionTimestamp() != nil); why != "" {
		log.FromContext(ctx).V(1).Info("frozen", "why", why)
		return seen.Again(), nil
	}
	p := &pass[M]{passFacts: passFacts[M]{
		Reconciler: r, log: log.FromContext(ctx), own: own, mem: r.memory.of(m), m: m.DeepCopyObject().(M), found: m,
	}}
	p.world.Connectivity = seen
	return traced[M]{p}.run(ctx)
}

// pass is one reconciliation of one machine: it calls functions that read and act, stores their results,
// and asks for the next step.
type pass[M client.Object] struct {
	passFacts[M]
	steps []lifecycle.Decision
	// at is when the final decision about the machine's life was taken, node the node at that time; zero:
	// it was not taken yet.
	at   time.Time
	node lifecycle.Node
	// heard is the object before any result of the pass was stored; nil: no result was stored.
	heard client.Object
}

// run returns when to look again.
func (p *pass[M]) run(ctx context.Context) (time.Duration, error) {
	p.view, p.policy = p.Dialect.View(p.m), p.Dialect.Policy(p.m)
	p.world.Requests = p.view.AssumeRequest(p.mem.lastRequest.known(p.view.Recorded.Requests))
	p.was, p.world.Reboot, p.world.Preserving.Told = p.view, p.mem.reboot, p.mem.reported.preserveFault
	p.view.Recorded.Requests = p.world.Requests
	p.policy.Targetless = p.policy.Targetless || p.Nodes == nil
	p.world.Disruption = lifecycle.Disruption{Governed: p.Budgets != nil, Permitted: !p.mem.permitted.IsZero()}
	ctx = pace.WithClass(ctx, lifecycle.Turn(p.view, p.memory.shortages.any()))
	p.observe(ctx)
	p.world.Token = p.token().state()
	answered := map[lifecycle.Question]bool{"": true}
	var last lifecycle.Decision
	for range maxSteps {
		ctx := pace.WithClass(ctx, lifecycle.Turn(p.view, p.memory.shortages.any()))
		d := lifecycle.Decide(p.Clock.Now(), p.view, p.world, p.policy)
		if q := d.Needs(p.view); !answered[q] {
			answered[q] = true
			p.answer(ctx, q)
			continue
		}
		if d.Waits() && d.Reason == lifecycle.ReasonMoved && len(p.steps) == 0 {
			return d.After, nil // the object stays as it is
		}
		if d.Waits() {
			return p.finish(ctx, d)
		}
		if again, err := p.object().outdated(ctx, d); err != nil || again > 0 {
			return again, err
		}
		did, err := traced[M]{p}.perform(ctx, d)
		if err != nil {
			return 0, err
		}
		if last = d; did {
			p.steps = append(p.steps, d)
		}
	}
	return 0, fmt.Errorf("machine %s/%s: %d steps without an end, the last %s (%s)",
		p.view.Namespace, p.view.Name, maxSteps, last.Step, last.Reason)
}

// observe gathers the facts. A failed read is a fact too: no failure here ends the pass.
func (p *pass[M]) observe(ctx context.Context) {
	deleting := !p.view.Deleted.IsZero()
	if !p.view.HasFinalizer && deleting || !deleting && len(p.view.Faults) > 0 || p.view.MovedTo != "" {
		return
	}
	p.infra, p.world.Session = p.instances().open(ctx)
	if p.infra.session != nil {
		asked := p.Clock.Now()
		p.onInstances(func(s *instances[M]) { p.world.Instances = s.look(ctx) })
		search[M]{p}.locate(ctx)
		p.world.Unlisted, p.world.Requests = p.instances().unlisted(asked), p.instances().offered()
		p.world.Upkeep = p.instances().upkeep()
	}
	if p.world.Instances.Looked {
		p.world.Session.Inherited = p.infra.class.Inherited
	}
	p.onNode(func(t *target[M]) lifecycle.Node { return t.find(ctx) })
	p.world.Instances.Doubt = p.instances().doubt(ctx)
	p.world.Retry = p.mem.tries.retry
}

// answer reads the fact that a decision needs.
func (p *pass[M]) answer(ctx context.Context, q lifecycle.Question) {
	switch q {
	case lifecycle.QuestionNode:
		p.onNode(func(t *target[M]) lifecycle.Node { return t.live(ctx) })
	case lifecycle.QuestionGroup:
		p.world.MayFail = p.otherMachines().mayFail(ctx, p.m)
	case lifecycle.QuestionDisruption:
		p.world.Disruption = permitAsker[M]{p}.permit(ctx, lifecycle.DisruptingNothing)
	case lifecycle.QuestionSuccessor:
		p.world.Successor = p.successor(ctx)
	}
}

// successor reads the machine to which the instance was moved.
func (r passFacts[M]) successor(ctx context.Context) lifecycle.Successor {
	if r.Successor == nil {
		return lifecycle.Successor{Looked: true, Err: errors.New("this program does not read other APIs")}
	}
	return r.Successor(ctx, r.Live, r.view)
}

// finish records the result of the pass. A failure on the node of a preserved machine is recorded as well,
// and the step is tried again.
func (p *pass[M]) finish(ctx context.Context, d lifecycle.Decision) (time.Duration, error) {
	p.closes(d)
	out := lifecycle.Outcome{Decision: d, Steps: p.steps, World: p.world, At: p.at}
	if p.world.Preserving.Err != nil {
		out.World.Node = p.node // its state is for the pass that tries again
	}
	out.Overdue = p.mem.reported.news(out.Decision)
	before, known := p.heard.(M)
	if !known {
		before = p.m.DeepCopyObject().(M)
	}
	p.waiters.Wait(client.ObjectKeyFromObject(p.m), awaitsCorrection(p.mem.tries, out))
	p.memory.shortages.waits(client.ObjectKeyFromObject(p.m), lacksCapacity(out))
	p.memory.drains(client.ObjectKeyFromObject(p.m), underDrain(p.world.Drain.Result) || underDrain(p.world.Preserving.Drain))
	err := p.object().record(ctx, out)
	if out.Did(lifecycle.RemoveFinalizer) && client.IgnoreNotFound(err) == nil {
		p.mem.released, err = p.Clock.Now(), nil
	}
	if err != nil {
		return 0, err
	}
	permitAsker[M]{p}.settle(ctx, out)
	p.eventReporter().report(ctx, before, out)
	return out.After, client.IgnoreNotFound(p.world.Preserving.Err) // a node that was deleted needs no preserving
}

// lacksCapacity reports whether the machine waits for capacity that others use.
func lacksCapacity(out lifecycle.Outcome) bool {
	return out.Waits() && out.World.Retry.Step == lifecycle.Create && provider.KindOf(out.World.Retry.Err) == provider.Exhausted
}

// underDrain reports whether the machine waits for pods.
func underDrain(d *drain.Decision) bool { return d != nil && !d.Done }
