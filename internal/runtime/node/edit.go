package node

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Edit changes metadata and spec of the node by one merge patch, or by none if change changes nothing. It
// returns the node after the change; the given node is not changed.
//
// The write was decided on the given node. It fails with a conflict if a field that matters to machines has
// changed since ([Matters]); a heartbeat does not matter. If the node was deleted, or replaced by another one
// of the same name, the error is NotFound.
func (c *Cluster) Edit(ctx context.Context, n *corev1.Node, change func(*corev1.Node)) (*corev1.Node, error) {
	if c == nil || n == nil {
		return n, nil
	}
	return unlessChanged(ctx, c.Live, n, func(seen *corev1.Node) (*corev1.Node, error) { return c.edit(ctx, seen, change) })
}

// unlessChanged writes to n, and after a conflict to the current node, unless a field that matters to
// machines has changed.
func unlessChanged(ctx context.Context, live client.Reader, n *corev1.Node, write func(seen *corev1.Node) (*corev1.Node, error)) (*corev1.Node, error) {
	seen := n
	for try := 0; ; try++ {
		after, err := write(seen)
		if !apierrors.IsConflict(err) || try == conflicts {
			return after, err
		}
		now, again := reread(ctx, live, seen)
		switch {
		case again != nil:
			return nil, again
		case Matters(n, now):
			return nil, err
		}
		seen = now
	}
}

func (c *Cluster) edit(ctx context.Context, n *corev1.Node, change func(*corev1.Node)) (*corev1.Node, error) {
	edited := n.DeepCopy()
	change(edited)
	if equality.Semantic.DeepEqual(n, edited) {
		return n, nil
	}
	patch := client.MergeFromWithOptions(n, client.MergeFromWithOptimisticLock{})
	if err := c.Client.Patch(ctx, edited, patch); err != nil {
		return nil, fmt.Errorf("patching node %s: %w", n.Name, err)
	}
	return edited, nil
}
