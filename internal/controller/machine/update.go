package machine

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// markUpdate writes on the node the progress of its update in place. The machine first records that an
// update is under way: once the node says so, its agent may restart it at any moment, and a machine without
// that record would look lost.
func (p *pass[M]) markUpdate(ctx context.Context, d lifecycle.Decision) error {
	if d.Stage != p.view.Stage {
		if err := p.recordNow(ctx, d); err != nil {
			return err
		}
		p.view.Stage, p.view.StageSince = d.Stage, p.Clock.Now()
	}
	n, err := p.target().note(ctx, d)
	if apierrors.IsConflict(err) {
		return err // the decision was based on another state of the node
	}
	if err != nil {
		n.Err, n.Looked = err, false
	}
	p.world.Node = n
	return nil
}
