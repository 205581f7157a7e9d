package machinedeployment

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// pass is one pass over one deployment.
type pass[D, S client.Object] struct {
	*scope[D, S]
	*observation[D, S]

	// plan is the decision; collided and createErr are the outcome of the creation of the set of the
	// present template.
	plan      rollout.Plan
	collided  bool
	createErr error
}

func (p *pass[D, S]) run(ctx context.Context) error {
	switch {
	case p.facts.Deleting && p.lens.Traits().Finalizer == "":
		return nil
	case len(p.facts.Faults) > 0 && !p.facts.Deleting:
		return p.refuse(ctx)
	}
	p.told.fault = ""
	p.tellDoubts()
	if err := p.addFinalizer(ctx); err != nil {
		return err
	}
	if ok, err := p.observe(ctx); err != nil || !ok {
		return err
	}
	if err := p.decide(ctx); err != nil {
		return err
	}
	if err := p.keepSize(ctx); err != nil {
		return err
	}
	p.again(p.plan.After)
	if p.pending() {
		return p.record(ctx)
	}
	return p.carryOut(ctx)
}

// decide plans, and plans again with the machines of the API server if their marks count: the smaller
// number of replicas may be seen before the marks that came with it.
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

// keepSize reports what the guard of growth holds, once until that changes, and otherwise stores the number
// of machines that it allows: lost machines up to that number are created again.
func (p *pass[D, S]) keepSize(ctx context.Context) error {
	held := ""
	if f := p.plan.Status.Failure; f != nil && f.Reason == limits.CreationHeld {
		held = f.Message
	}
	if held != p.told.held {
		p.tell(corev1.EventTypeWarning, map[bool]string{true: limits.CreationHeld}[held != ""], "Scale", "%s", dialect.Note(held))
	}
	p.told.held = held
	if g := p.facts.Guard.Growth; g == nil || held != "" || p.facts.Deleting || g.Known == p.facts.Replicas {
		return nil
	}
	return p.patchDeployment(ctx, "keep the allowed size", func(d D) { dialect.KeepSize(d, p.facts.Replicas) })
}

// carryOut carries out the plan in its order. After a failed action, the actions that have to wait for it
// are left to the next pass.
func (p *pass[D, S]) carryOut(ctx context.Context) error {
	if p.plan.Create() == nil {
		p.told.createError = ""
	} else if stands, err := p.stands(ctx); err != nil || !stands {
		return err
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
	h := executor[D, S]{p.observation, p.plan.Status.Waiting}
	switch a := a.(type) {
	case rollout.Finish:
		return p.removeFinalizer(ctx)
	case rollout.RollBack:
		return h.rollBack(ctx, a)
	case rollout.Amend:
		return h.applyMetadata(ctx, a)
	case rollout.MarkVictims:
		return h.markForDeletion(ctx, a)
	case rollout.CreateSet:
		p.collided, p.createErr = h.create(ctx, a.SetWant)
		return p.createErr
	case rollout.MarkNodes:
		h.markNodes(ctx, a)
	case rollout.HandOver:
		return h.move(ctx, a)
	case rollout.ApplySet:
		return h.applySet(ctx, a.SetWant)
	case rollout.Unprotect:
		return h.unprotect(ctx, a)
	case rollout.DeleteSets:
		return h.prune(ctx, a)
	case rollout.Report:
		p.tellScales()
		return p.record(ctx)
	case rollout.MarkNodesLate:
		h.markNodes(ctx, a)
	}
	return nil
}
