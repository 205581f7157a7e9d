package machine

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// identity is the provider ID for the machine's node; empty: none. If it is unknown whose the node is, the
// infrastructure is asked again. A node that was recorded once is otherwise not checked. If two nodes
// showed one ID, an autoscaler could assign neither to a machine.
func (w *nodeOwnership[M]) identity(ctx context.Context, n *corev1.Node) (id string, unsure bool) {
	if id = w.world.Identity(w.view, n); id == "" {
		return "", false
	}
	q := w.query(ctx)
	another, err := q.Another(n)
	why := "it may be another machine's"
	if err == nil && !another {
		another, err = q.ShownElsewhere(ctx, w.Nodes.Client, n, id)
		why = "another node shows it"
	}
	switch {
	case err != nil:
		w.logOf(n).Error(err, "cannot tell whether the node is to be given its provider ID", "providerID", id)
		return "", true
	case another:
		w.logOf(n).Info("the node is given no provider ID", "why", why, "providerID", id)
		return "", false
	}
	return id, false
}
