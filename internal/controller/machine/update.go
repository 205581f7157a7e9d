package machine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
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
	err := p.noteOnNode(ctx, d)
	if apierrors.IsConflict(err) {
		return err // the node is not what the decision was made on
	}
	if err != nil {
		p.world.Node.Err, p.world.Node.Looked = err, false
	}
	return nil
}

func (p *pass[M]) noteOnNode(ctx context.Context, d lifecycle.Decision) error {
	n, was := p.world.Node.Object, p.world.Node.Object.Name
	if d.Uncordon {
		after, _, err := p.Nodes.Apply(ctx, n, node.Want{Unschedulable: ptr.To(false)})
		if err != nil {
			return fmt.Errorf("uncordon node %s: %w", was, err)
		}
		n = after
	}
	after, err := p.Nodes.Condition(ctx, n, p.lens.updates.Marked(d.Mark))
	if err != nil {
		return fmt.Errorf("note on node %s that it is %s: %w", was, d.Mark, err)
	}
	p.world.Node = p.see(after)
	return nil
}
