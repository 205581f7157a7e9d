package machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// beginPreservation asks what becomes of keeping the machine although it failed. One
// that is to be kept from now on says so before anything else is done, lest what
// is put on its node be taken for somebody else's.
func (p *pass[M]) beginPreservation(ctx context.Context, out *lifecycle.Outcome) error {
	if out.Did(lifecycle.Replace) || out.Did(lifecycle.RemoveFinalizer) {
		return nil
	}
	k := p.preservePlan(out)
	if out.Preserves(k); !k.Machine.Preserve || !p.view.Preservation.Until.IsZero() {
		return nil
	}
	p.view.Preservation.Until = k.Machine.Until
	return p.record(ctx, *out)
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

// preserve does on the node what the plan asks for. A machine that is kept no more
// is to say so last, lest anything be left behind: when something went wrong it
// says nothing yet.
func (p *pass[M]) preserve(ctx context.Context, out *lifecycle.Outcome) error {
	if !out.Preserve.Bound || p.world.Node.Object == nil {
		return nil
	}
	name := p.world.Node.Object.Name
	err := p.preserveNode(ctx, out)
	if err != nil && !out.Preserve.Machine.Preserve {
		out.Preserve = lifecycle.PreservePlan{}
	}
	if apierrors.IsNotFound(err) {
		p.log.Info("the node went away while it was being marked for its machine", "node", name)
		return nil
	}
	return err
}

// record stores what the pass has come to.
func (p *pass[M]) record(ctx context.Context, out lifecycle.Outcome) error {
	before := p.m.DeepCopyObject().(M)
	p.recordOwned()
	p.Dialect.Record(p.m, out)
	return p.save(ctx, before)
}

// preserveNode brings the node in step with the plan, and drains it where that is
// asked for. It says that it is not drained before anything makes it look so.
func (p *pass[M]) preserveNode(ctx context.Context, out *lifecycle.Outcome) error {
	if out.Preserve.Node.Drain != lifecycle.DrainNone && p.world.Node.Preservation.Condition == lifecycle.PreserveActive {
		if err := p.tellPreservation(ctx, out.Preserve); err != nil {
			return err
		}
	}
	k := out.Preserve
	n, err := p.Nodes.Edit(ctx, p.world.Node.Object, func(n *corev1.Node) { p.lens.preserves.Preserve(n, k, p.Clock.Now()) })
	if err != nil {
		return fmt.Errorf("mark node %s for keeping its machine: %w", p.world.Node.Object.Name, err)
	}
	p.world.Node = p.see(n)
	if k.Node.Drain != lifecycle.DrainNone {
		p.world.Drain.Preserve = p.preserveDrain(ctx, k)
		out.Preserves(p.preservePlan(out))
	}
	if err := p.tellPreservation(ctx, out.Preserve); err != nil {
		return err
	}
	out.World = p.world
	return nil
}

// tellPreservation says on the node how far it is.
func (p *pass[M]) tellPreservation(ctx context.Context, k lifecycle.PreservePlan) error {
	if k.Node.Condition == lifecycle.PreserveNone {
		return nil
	}
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
