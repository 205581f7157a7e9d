package machine

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// markUpdate writes on the node how far its update in place is. The machine says
// first that one is under way: once the node says so, its agent may restart it
// at any moment, and a machine that knew nothing of that would look lost.
func (p *pass[M]) markUpdate(ctx context.Context, d lifecycle.Decision) error {
	if d.Stage != p.view.Stage {
		if err := p.recordNow(ctx, d); err != nil {
			return err
		}
		p.view.Stage, p.view.StageSince = d.Stage, p.Clock.Now()
	}
	n, err := p.target().note(ctx, d)
	if apierrors.IsConflict(err) {
		return err // the node is not what the decision was made on
	}
	if err != nil {
		n.Err, n.Looked = err, false
	}
	p.world.Node = n
	return nil
}
