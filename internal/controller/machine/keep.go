package machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/millwright-dev/millwright/internal/drain"
	"github.com/millwright-dev/millwright/internal/lifecycle"
)

// keepBegins asks what becomes of keeping the machine although it failed. One
// that is to be kept from now on says so before anything else is done, lest what
// is put on its node be taken for somebody else's.
func (p *pass[M]) keepBegins(ctx context.Context, out *lifecycle.Outcome) error {
	if out.Did(lifecycle.Replace) || out.Did(lifecycle.Release) {
		return nil
	}
	k := p.plan(out)
	if out.Keeping(k); !k.Keep || !p.view.Keep.Until.IsZero() {
		return nil
	}
	p.view.Keep.Until = k.Until
	return p.record(ctx, *out)
}

// plan is about the machine as it stands after the pass.
func (p *pass[M]) plan(out *lifecycle.Outcome) lifecycle.KeepPlan {
	m := p.view
	if out.Stage != lifecycle.StageNew {
		m.Stage = out.Stage
	}
	k := lifecycle.Keep(p.Clock.Now(), m, p.world, p.policy)
	k.Told = p.mem.keepFault
	return k
}

// keeps does on the node what the plan asks for. A machine that is kept no more
// is to say so last, lest anything be left behind: when something went wrong it
// says nothing yet.
func (p *pass[M]) keeps(ctx context.Context, out *lifecycle.Outcome) error {
	if !out.Keep.Bound || p.world.Node == nil {
		return nil
	}
	name := p.world.Node.Name
	err := p.keepOnNode(ctx, out)
	if err != nil && !out.Keep.Keep {
		out.Keep = lifecycle.KeepPlan{}
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

// keepOnNode brings the node in step with the plan, and drains it where that is
// asked for. It says that it is not drained before anything makes it look so.
func (p *pass[M]) keepOnNode(ctx context.Context, out *lifecycle.Outcome) error {
	if out.Keep.Drain && p.world.Kept.Sign == lifecycle.SignKept {
		if err := p.sign(ctx, out.Keep); err != nil {
			return err
		}
	}
	k := out.Keep
	n, err := p.Nodes.Edit(ctx, p.world.Node, func(n *corev1.Node) { p.Dialect.Keep(n, k, p.Clock.Now()) })
	if err != nil {
		return fmt.Errorf("mark node %s for keeping its machine: %w", p.world.Node.Name, err)
	}
	p.see(n)
	if k.Drain {
		p.keepDrain(ctx, k)
		out.Keeping(p.plan(out))
	}
	if err := p.sign(ctx, out.Keep); err != nil {
		return err
	}
	out.World = p.world
	return nil
}

// sign says on the node how far it is.
func (p *pass[M]) sign(ctx context.Context, k lifecycle.KeepPlan) error {
	if k.Sign == lifecycle.SignNone {
		return nil
	}
	n, err := p.Nodes.Condition(ctx, p.world.Node, p.Dialect.Signed(k))
	if err != nil {
		return fmt.Errorf("say on node %s that its machine is %s: %w", p.world.Node.Name, k.Sign, err)
	}
	p.see(n)
	return nil
}

// keepDrain moves the pods of a failed machine away. The node is fenced, not
// cordoned: one that recovers is to be as it was.
func (p *pass[M]) keepDrain(ctx context.Context, k lifecycle.KeepPlan) {
	came, err := p.Nodes.Drain(ctx, p.world.Node, p.drainPolicy(k.Force))
	if err != nil {
		came = drain.Decision{Message: err.Error(), Next: p.policy.Delays.Transient}
	}
	p.world.KeepDrain = &came
}
