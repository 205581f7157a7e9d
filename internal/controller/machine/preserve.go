package machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// storePreservation lets the object say that the machine is preserved, with all else that
// the pass has come to.
func (p *pass[M]) storePreservation(ctx context.Context, d lifecycle.Decision) error {
	p.closes(d)
	p.heard = p.m.DeepCopyObject().(M)
	if err := p.record(ctx, lifecycle.Outcome{Decision: d, Steps: p.steps, World: p.world, At: p.at}); err != nil {
		return err
	}
	p.view.Preservation.Until = d.Preserve.Machine.Until
	p.world.Preserving.Did = d.Step
	return nil
}

// preserve carries out a step on the node, and reports whether there was anything to do. An
// error is a fact: the pass is recorded all the same.
func (p *pass[M]) preserve(ctx context.Context, d lifecycle.Decision) (did bool) {
	p.closes(d)
	was := p.world.Node.Object
	switch d.Step {
	case lifecycle.MarkPreserved:
		p.world.Preserving.Err = p.markPreserved(ctx, d.Preserve)
	case lifecycle.DrainPreserved:
		p.world.Preserving.Drain = p.preserveDrain(ctx, d.Preserve)
	default:
		p.world.Preserving.Err = p.tellPreservation(ctx, d.Preserve)
	}
	if p.world.Preserving.Err != nil {
		if apierrors.IsNotFound(p.world.Preserving.Err) {
			p.log.Info("the node went away while it was being marked for its machine", "node", was.Name)
		}
		return false
	}
	p.world.Preserving.Did = d.Step
	return d.Step == lifecycle.DrainPreserved || p.world.Node.Object.ResourceVersion != was.ResourceVersion
}

// markPreserved edits the node as the plan wants it.
func (p *pass[M]) markPreserved(ctx context.Context, k lifecycle.PreservePlan) error {
	n, err := p.Nodes.Edit(ctx, p.world.Node.Object, func(n *corev1.Node) { p.lens.preserves.Preserve(n, k, p.Clock.Now()) })
	if err != nil {
		return fmt.Errorf("mark node %s for keeping its machine: %w", p.world.Node.Object.Name, err)
	}
	p.world.Node = p.see(n)
	return nil
}

// tellPreservation says on the node how far it is.
func (p *pass[M]) tellPreservation(ctx context.Context, k lifecycle.PreservePlan) error {
	n, err := p.Nodes.Condition(ctx, p.world.Node.Object, p.lens.preserves.PreserveCondition(k))
	if err != nil {
		return fmt.Errorf("say on node %s that its machine is %s: %w", p.world.Node.Object.Name, k.Node.Condition, err)
	}
	p.world.Node = p.see(n)
	return nil
}

// preserveDrain moves the pods of a failed machine away. The node is fenced, not
// cordoned: one that recovers is to be as it was.
func (p *pass[M]) preserveDrain(ctx context.Context, k lifecycle.PreservePlan) *drain.Decision {
	came, err := p.Nodes.Drain(ctx, p.world.Node.Object, p.drainPolicy(k.Node.Drain == lifecycle.DrainForced))
	if err != nil {
		came = drain.Decision{Message: err.Error(), Next: p.policy.Delays.Transient}
	}
	return &came
}
