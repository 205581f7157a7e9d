package machine

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// storePreservation stores in the object that the machine is preserved, with all other results of the pass.
func (p *pass[M]) storePreservation(ctx context.Context, d lifecycle.Decision) error {
	p.closes(d)
	p.heard = p.m.DeepCopyObject().(M)
	if err := p.object().record(ctx, lifecycle.Outcome{Decision: d, Steps: p.steps, World: p.world, At: p.at}); err != nil {
		return err
	}
	p.view.Preservation.Until = d.Preserve.Machine.Until
	p.world.Preserving.Did = d.Step
	return nil
}

// preserve carries out a step on the node, and reports whether there was anything to do. An error is a
// fact: the pass is recorded anyway.
func (p *pass[M]) preserve(ctx context.Context, d lifecycle.Decision) (did bool) {
	p.closes(d)
	was := p.world.Node.Object
	p.world.Preserving, p.world.Node = p.target().preserve(ctx, d)
	if apierrors.IsNotFound(p.world.Preserving.Err) {
		p.logOf(was).Info("the node went away while it was being marked for its machine")
	}
	return d.Step == lifecycle.DrainPreserved || p.world.Node.Object.ResourceVersion != was.ResourceVersion
}
