package node

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/nodemeta"
)

// conflicts is how often a write is planned again from a live read after a conflict.
const conflicts = 3

// Apply brings the node to the wanted state: one merge patch, and one of nodes/status before it if virtual
// capacity differs. It returns the node after the change and whether anything was written. The given node is
// not changed.
//
// A patch has the resource version only if it rewrites the list of taints, removes a finalizer or writes a
// provider ID; after a conflict the plan is made again on the current node. It stays a conflict if the node
// was marked as that of another machine meanwhile, or has another instance. If the node was deleted, or
// replaced by another one of the same name, the error is NotFound.
func (c *Cluster) Apply(ctx context.Context, n *corev1.Node, w nodemeta.Want) (*corev1.Node, bool, error) {
	if c == nil || n == nil {
		return n, false, nil
	}
	for try := 0; ; try++ {
		after, wrote, err := c.apply(ctx, n, w)
		if !apierrors.IsConflict(err) || try == conflicts {
			return after, wrote, err
		}
		now, again := reread(ctx, c.Live, n)
		switch {
		case again != nil:
			return nil, false, again
		case remarked(w, n, now), moved(w, n, now):
			return nil, false, err
		}
		n = now
	}
}

func (c *Cluster) apply(ctx context.Context, n *corev1.Node, w nodemeta.Want) (*corev1.Node, bool, error) {
	edited, changed, err := w.Plan(n)
	if err != nil || !changed {
		return n, false, err
	}
	if !equality.Semantic.DeepEqual(n.Status.Capacity, edited.Status.Capacity) {
		return c.applyCapacity(ctx, n, edited, w)
	}
	if err := c.Client.Patch(ctx, edited, difference(n, edited)); err != nil {
		return n, false, fmt.Errorf("patching node %s: %w", n.Name, err)
	}
	return edited, true, nil
}

// applyCapacity writes nodes/status first, so that its record, which is in the rest of the plan, is never
// ahead. The rest is planned on the answer of the API server.
func (c *Cluster) applyCapacity(ctx context.Context, n, edited *corev1.Node, w nodemeta.Want) (*corev1.Node, bool, error) {
	status := n.DeepCopy()
	status.Status.Capacity = edited.Status.Capacity.DeepCopy()
	if err := c.Client.Status().Patch(ctx, status, client.MergeFrom(n)); err != nil {
		return n, false, fmt.Errorf("patching the capacity of node %s: %w", n.Name, err)
	}
	_, changed, err := w.Plan(status)
	if err != nil || !changed {
		return status, true, err
	}
	after, _, err := c.Apply(ctx, status, w)
	return after, true, err
}

// difference returns the patch from a to b. Taints are written as a whole list, and only over the version
// that was read. A finalizer is removed only there, too: that depends on whether the node is under deletion.
// So is a provider ID, which cannot be changed later: another node may have taken the name. All other fields,
// including new finalizers, are merged entry by entry into the current node: many components write a joining
// node.
func difference(a, b *corev1.Node) client.Patch {
	if len(b.Finalizers) >= len(a.Finalizers) && a.Spec.ProviderID == b.Spec.ProviderID && equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints) {
		return client.StrategicMergeFrom(a)
	}
	return client.MergeFromWithOptions(a, client.MergeFromWithOptimisticLock{})
}

// reread reads the node past the cache, and requires the same object.
func reread(ctx context.Context, live client.Reader, n *corev1.Node) (*corev1.Node, error) {
	var now corev1.Node
	if err := live.Get(ctx, client.ObjectKeyFromObject(n), &now); err != nil {
		return nil, fmt.Errorf("reading node %s again: %w", n.Name, err)
	}
	if now.UID != n.UID {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), n.Name)
	}
	return &now, nil
}

// unheld removes the finalizer from the node. It reads past the cache, which may not have a recent finalizer
// yet.
func (c *Cluster) unheld(ctx context.Context, n *corev1.Node, finalizer string) (*corev1.Node, error) {
	if finalizer == "" {
		return n, nil
	}
	n, err := reread(ctx, c.Live, n)
	if err != nil {
		return nil, err
	}
	n, _, err = c.Apply(ctx, n, nodemeta.Want{DropFinalizer: finalizer})
	return n, err
}

// Delete deletes this node, by UID; it succeeds if the node does not exist, or if another one has its name.
// It removes the named finalizer first, if it is still there.
func (c *Cluster) Delete(ctx context.Context, n *corev1.Node, finalizer string) error {
	if c == nil || n == nil {
		return nil
	}
	c.forget(n.UID)
	n, err := c.unheld(ctx, n, finalizer)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	err = c.Client.Delete(ctx, n, client.Preconditions{UID: &n.UID})
	if apierrors.IsConflict(err) {
		if _, again := reread(ctx, c.Live, n); apierrors.IsNotFound(again) {
			return nil
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting node %s: %w", n.Name, err)
	}
	return nil
}
