package machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// sync updates the node's metadata.
func (t *target[M]) sync(ctx context.Context) lifecycle.Node {
	f := t.world.Node
	n, _, err := t.Nodes.Apply(ctx, f.Object, t.wantOf(f))
	if err != nil {
		f.Err, f.Looked = fmt.Errorf("bring node %s in step: %w", f.Object.Name, err), false
		return f
	}
	f.Object, f.Stale, f.Identity = n, false, ""
	return f
}

// note writes on the node the progress of its update in place.
func (t *target[M]) note(ctx context.Context, d lifecycle.Decision) (lifecycle.Node, error) {
	n, was := t.world.Node.Object, t.world.Node.Object.Name
	if d.Uncordon {
		after, _, err := t.Nodes.Apply(ctx, n, node.Want{Unschedulable: ptr.To(false)})
		if err != nil {
			return t.world.Node, fmt.Errorf("uncordon node %s: %w", was, err)
		}
		n = after
	}
	after, err := t.Nodes.Condition(ctx, n, t.lens.updates.Marked(d.Mark))
	if err != nil {
		return t.world.Node, fmt.Errorf("note on node %s that it is %s: %w", was, d.Mark, err)
	}
	return t.see(ctx, after), nil
}

// delete deletes the node, unless another instance uses its name: that may be the instance of a machine
// whose object was restored under another UID.
func (t *target[M]) delete(ctx context.Context) lifecycle.Node {
	f := t.world.Node
	shared, err := t.nodeOwnership().shared(ctx, f.Object)
	if shared || err != nil {
		return t.looked(ctx, nil, err)
	}
	err = t.Nodes.Delete(ctx, f.Object, t.Dialect.Want(t.m, t.infra.class).Leave().DropFinalizer)
	t.answers = append(t.answers, err)
	if err != nil {
		f.Looked, f.Err = false, fmt.Errorf("delete node %s: %w", f.Object.Name, err)
		return f
	}
	f.Object = nil
	return f
}

// preserve carries out a step of preserving the machine.
func (t *target[M]) preserve(ctx context.Context, d lifecycle.Decision) (lifecycle.Preserving, lifecycle.Node) {
	came, n := t.world.Preserving, t.world.Node
	var after *corev1.Node
	switch came.Did = d.Step; d.Step {
	case lifecycle.DrainPreserved:
		came.Drain = t.preserveDrain(ctx, d.Preserve)
		return came, n
	case lifecycle.MarkPreserved:
		after, came.Err = t.markPreserved(ctx, d.Preserve)
	default:
		after, came.Err = t.tellPreservation(ctx, d.Preserve)
	}
	if came.Err == nil {
		n = t.see(ctx, after)
	}
	return came, n
}

// markPreserved edits the node as the plan says.
func (t *target[M]) markPreserved(ctx context.Context, k lifecycle.PreservePlan) (*corev1.Node, error) {
	n, err := t.Nodes.Edit(ctx, t.world.Node.Object, func(n *corev1.Node) { t.lens.preserves.Preserve(n, k, t.Clock.Now()) })
	if err != nil {
		return nil, fmt.Errorf("mark node %s for keeping its machine: %w", t.world.Node.Object.Name, err)
	}
	return n, nil
}

// tellPreservation writes the progress of the preservation on the node.
func (t *target[M]) tellPreservation(ctx context.Context, k lifecycle.PreservePlan) (*corev1.Node, error) {
	n, err := t.Nodes.Condition(ctx, t.world.Node.Object, t.lens.preserves.PreserveCondition(k))
	if err != nil {
		return nil, fmt.Errorf("say on node %s that its machine is %s: %w", t.world.Node.Object.Name, k.Node.Condition, err)
	}
	return n, nil
}

// preserveDrain evicts the pods of a failed machine. The node is fenced, not cordoned: a node that recovers
// is to be as before.
func (t *target[M]) preserveDrain(ctx context.Context, k lifecycle.PreservePlan) *drain.Decision {
	came, err := t.Nodes.Drain(ctx, t.world.Node.Object, (&evacuation[M]{t}).drainPolicy(k.Node.Drain == lifecycle.DrainForced))
	if err != nil {
		came = drain.Decision{Message: err.Error(), Next: t.policy.Delays.Transient}
	}
	return &came
}
