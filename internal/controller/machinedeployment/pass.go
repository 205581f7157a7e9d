package machinedeployment

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/millwright-dev/millwright/internal/controller/written"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// pass is one pass over one deployment.
type pass[D, S client.Object] struct {
	*Reconciler[D, S]
	*memory
	// Client and Nodes show what was written; Nodes may be nil.
	Client, Nodes *written.Client

	// object is the deployment as last read or written, facts what it said
	// when the pass began.
	object   D
	facts    rollout.Deployment
	policy   rollout.Policy
	selector labels.Selector
	now      time.Time

	// sets are the deployment's, as last read or written, machines what these
	// control, by UID, nodes what those have become, by name, and view all of
	// it as facts. What was read is shared with the cache and must not be
	// changed.
	sets     []S
	machines map[types.UID]client.Object
	nodes    map[string]*corev1.Node
	view     []rollout.Set

	// plan is what was decided; collided and createErr are what came of
	// creating the set of the present template.
	plan      rollout.Plan
	collided  bool
	createErr error
	// after is when to look again; zero: at the next event.
	after time.Duration
}

func (p *pass[D, S]) run(ctx context.Context) error {
	switch {
	case p.facts.Deleting && p.lens.Traits().Finalizer == "":
		return nil
	case len(p.facts.Faults) > 0 && !p.facts.Deleting:
		return p.refuse(ctx)
	}
	p.told.fault = ""
	if err := p.addFinalizer(ctx); err != nil {
		return err
	}
	if ok, err := p.observe(ctx); err != nil || !ok {
		return err
	}
	if err := p.decide(ctx); err != nil {
		return err
	}
	p.again(p.plan.After)
	if p.pending() {
		return p.record(ctx)
	}
	return p.carryOut(ctx)
}

// decide plans, and once more with machines as they are now where their marks
// count: the smaller number may be seen before the marks that came with it.
func (p *pass[D, S]) decide(ctx context.Context) error {
	p.plan = rollout.Decide(p.now, p.facts, p.view, p.policy)
	if !p.plan.ByMarks {
		return nil
	}
	if err := p.observeMachines(ctx, p.liveMachines); err != nil {
		return err
	}
	p.plan = rollout.Decide(p.now, p.facts, p.view, p.policy)
	return nil
}

// carryOut does what is planned, in the order of the plan. Once an action failed, those that
// wait are left to the next pass.
func (p *pass[D, S]) carryOut(ctx context.Context) error {
	if p.plan.Create() == nil {
		p.told.createError = ""
	}
	var errs []error
	for _, a := range p.plan.Actions {
		if a.Waits() && (len(errs) > 0 || p.collided) {
			continue
		}
		if err := p.carry(ctx, a); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (p *pass[D, S]) carry(ctx context.Context, a rollout.Action) error {
	switch a := a.(type) {
	case rollout.Finish:
		return p.removeFinalizer(ctx)
	case rollout.RollBack:
		return p.rollBack(ctx, a)
	case rollout.Amend:
		return p.applyMetadata(ctx, a)
	case rollout.MarkVictims:
		return p.markForDeletion(ctx, a)
	case rollout.CreateSet:
		return p.create(ctx, a.SetWant)
	case rollout.MarkNodes:
		p.markNodes(ctx, a)
	case rollout.HandOver:
		return p.move(ctx, a)
	case rollout.ApplySet:
		return p.applySet(ctx, a.SetWant)
	case rollout.Unprotect:
		return p.unprotect(ctx, a)
	case rollout.DeleteSets:
		return p.prune(ctx, a)
	case rollout.Report:
		p.tellScales()
		return p.record(ctx)
	case rollout.MarkNodesLate:
		p.markNodes(ctx, a)
	}
	return nil
}

// addFinalizer puts the deployment's finalizer in place before anything is created.
func (p *pass[D, S]) addFinalizer(ctx context.Context) error {
	finalizer := p.lens.Traits().Finalizer
	if finalizer == "" || p.facts.Deleting || controllerutil.ContainsFinalizer(p.object, finalizer) {
		return nil
	}
	return p.patchDeployment(ctx, "add finalizer", func(d D) { controllerutil.AddFinalizer(d, finalizer) })
}

// removeFinalizer takes the finalizer off a deployment without sets.
func (p *pass[D, S]) removeFinalizer(ctx context.Context) error {
	finalizer := p.lens.Traits().Finalizer
	if !controllerutil.ContainsFinalizer(p.object, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(p.patchDeployment(ctx, "remove finalizer", func(d D) { controllerutil.RemoveFinalizer(d, finalizer) }))
}

// again asks for another pass after d at the latest.
func (p *pass[D, S]) again(d time.Duration) {
	if d > 0 && (p.after == 0 || d < p.after) {
		p.after = d
	}
}
