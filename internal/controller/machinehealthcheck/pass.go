package machinehealthcheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

// pass is one pass over one check.
type pass[C client.Object] struct {
	*Reconciler[C]
	// Client shows the pass its own writes.
	Client *readyourwrites.Client
	state  *state
	// patients are the machines that the check selects among.
	patients dialect.Patients
	object   C
	check    health.Check
	now      time.Time
	seen     connectivity.State
	plan     health.Plan
	// answers is the identity of the cluster whose nodes the plan is based on.
	answers string
	// asked is the outcome of requests.
	asked asked
}

func (p *pass[C]) run(ctx context.Context) (reconcile.Result, error) {
	changed, err := p.observer().observe(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !changed && p.object.GetResourceVersion() == p.state.version {
		return p.rest(), nil
	}
	view, err := p.view(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	p.state.version = ""
	before := dialect.ReadMemory(p.object)
	p.plan = health.Decide(p.now, p.state.cohort.facts(), view, before)
	if err := p.note(ctx, before); err != nil {
		return reconcile.Result{}, err
	}
	p.tell(before)
	p.tellSelection()
	p.tellDoubts()
	p.asked, err = p.remediator().carryOut(ctx)
	if err = errors.Join(err, p.record(ctx)); err != nil {
		return reconcile.Result{}, err
	}
	p.state.version, p.state.due = p.object.GetResourceVersion(), p.due()
	return p.rest(), nil
}

// rest waits for the next moment that matters.
func (p *pass[C]) rest() reconcile.Result {
	if p.state.due.IsZero() {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: min(max(p.state.due.Sub(p.now), time.Millisecond), maxRest)}
}

// view is how far nodes can be seen.
func (p *pass[C]) view(ctx context.Context) (s health.Connectivity, err error) {
	s = health.Look(p.seen, p.now)
	if at := p.heard.Load(); at != 0 {
		s.Heard = time.Unix(0, at)
	}
	var list corev1.NodeList
	if err := p.Nodes.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return s, fmt.Errorf("count nodes: %w", err)
	}
	s.Nodes = len(list.Items)
	s.Cluster, err = p.cluster(ctx, list.Items)
	return s, err
}

// note stores the remedies that are about to begin, before they begin. It compares with the memory in the
// object: a write whose reply was lost may have taken effect, and a former leader may have written last.
func (p *pass[C]) note(ctx context.Context, before health.Memory) error {
	if p.plan.Memory.Equal(before) {
		return nil
	}
	after := p.object.DeepCopyObject().(C)
	dialect.WriteMemory(after, p.plan.Memory)
	if err := p.Client.Patch(ctx, after, p.since()); err != nil {
		return fmt.Errorf("remember what is remedied: %w", err)
	}
	p.object = after
	return nil
}

// record writes the status if it changed.
func (p *pass[C]) record(ctx context.Context) error {
	after := p.object.DeepCopyObject().(C)
	p.lens.Record(after, dialect.HealthOutcome{
		Now: p.now, Check: p.check, Plan: p.plan, Requested: p.asked.any, TemplateErr: p.asked.templateErr, RequestErr: p.asked.requestErr,
	})
	if equality.Semantic.DeepEqual(p.object, after) {
		return nil
	}
	if err := p.Client.Status().Patch(ctx, after, p.since()); err != nil {
		return fmt.Errorf("record status: %w", err)
	}
	p.object = after
	return nil
}

// since is a patch that applies only to the version that was read.
func (p *pass[C]) since() client.Patch {
	return client.MergeFromWithOptions(p.object, client.MergeFromWithOptimisticLock{})
}
