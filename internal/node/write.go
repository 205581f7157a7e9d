package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// Apply brings the node in step with what is wanted. It returns the node as it
// is now and whether anything was written.
func (c *Cluster) Apply(ctx context.Context, n *corev1.Node, w Want) (*corev1.Node, bool, error) {
	return n, false, nil
}

// Cordon keeps new pods off the node, with whatever else w wants in the same
// patch. Of the control-plane nodes only one at a time may be cordoned: held
// then says which one is, and nothing was written.
func (c *Cluster) Cordon(ctx context.Context, n *corev1.Node, w Want) (after *corev1.Node, held string, err error) {
	return n, "", nil
}

// Delete removes this very node (by UID); one that is gone is no error. It
// takes the named finalizer off first, if it is still there.
func (c *Cluster) Delete(ctx context.Context, n *corev1.Node, finalizer string) error {
	return nil
}
