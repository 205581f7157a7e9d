package machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// preserve does what is to be done for keeping the machine although it failed, step by
// step. What went wrong on the node is unkept: the pass is recorded all the same.
func (p *pass[M]) preserve(ctx context.Context, out *lifecycle.Outcome) (unkept, err error) {
	if out.Did(lifecycle.Replace) || out.Did(lifecycle.RemoveFinalizer) {
		return nil, nil
	}
	out.Preserves(p.preservePlan(out))
	did := lifecycle.PreserveNothing
	for {
		if did = out.Preserve.Next(did, p.view, p.world.Node); did == lifecycle.PreserveNothing {
			out.World = p.world
			return nil, nil
		}
		if did == lifecycle.PreserveStore {
			p.view.Preservation.Until = out.Preserve.Machine.Until
			if err := p.record(ctx, *out); err != nil {
				return nil, err
			}
			continue
		}
		name := p.world.Node.Object.Name
		if err := p.preserveStep(ctx, did, out); err != nil {
			out.Preserve = out.Preserve.CutShort()
			if apierrors.IsNotFound(err) {
				p.log.Info("the node went away while it was being marked for its machine", "node", name)
				return nil, nil
			}
			return err, nil
		}
	}
}

// preservePlan is about the machine as it stands after the pass.
func (p *pass[M]) preservePlan(out *lifecycle.Outcome) lifecycle.PreservePlan {
	m := p.view
	if out.Stage != lifecycle.StageNew {
		m.Stage = out.Stage
	}
	k := lifecycle.Preserve(p.Clock.Now(), m, p.world, p.policy)
	k.Wish.Told = p.mem.preserveFault
	return k
}

// record stores what the pass has come to.
func (p *pass[M]) record(ctx context.Context, out lifecycle.Outcome) error {
	before := p.m.DeepCopyObject().(M)
	p.recordOwned()
	p.Dialect.Record(p.m, out)
	return p.save(ctx, before)
}

// preserveStep carries out a step on the node.
func (p *pass[M]) preserveStep(ctx context.Context, s lifecycle.PreserveStep, out *lifecycle.Outcome) error {
	switch s {
	case lifecycle.PreserveWarn, lifecycle.PreserveTell:
		return p.tellPreservation(ctx, out.Preserve)
	case lifecycle.PreserveMark:
		return p.markPreserved(ctx, out.Preserve)
	case lifecycle.PreserveDrain:
		p.world.Drain.Preserve = p.preserveDrain(ctx, out.Preserve)
		out.Preserves(p.preservePlan(out))
		return nil
	}
	return fmt.Errorf("no handler for step %q of keeping a machine", s)
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
