package node

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Condition updates one condition of the node to want: its status, reason and message. A condition with a
// reason is set, with the present time; one without is removed. All other conditions stay as they are: the
// kubelet's reports, which come at any time, are neither lost nor delayed. It returns the node after the
// change; the given node is not changed.
//
// The write was decided on the given node. It fails with a conflict if a field that matters to machines has
// changed since ([Matters]); a heartbeat does not matter. If the node was deleted, or replaced by another one
// of the same name, the error is NotFound.
func (c *Cluster) Condition(ctx context.Context, n *corev1.Node, want corev1.NodeCondition) (*corev1.Node, error) {
	if c == nil || n == nil || stands(n, want) {
		return n, nil
	}
	return unlessChanged(ctx, c.Live, n, func(seen *corev1.Node) (*corev1.Node, error) { return c.condition(ctx, seen, want) })
}

// condition is a strategic merge patch: the API server merges the list by type.
func (c *Cluster) condition(ctx context.Context, n *corev1.Node, want corev1.NodeCondition) (*corev1.Node, error) {
	var entry any = map[string]any{"$patch": "delete", "type": want.Type}
	if want.Reason != "" {
		now := metav1.NewTime(c.Clock.Now())
		want.LastHeartbeatTime, want.LastTransitionTime = now, now
		entry = want
	}
	raw, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": n.ResourceVersion},
		"status":   map[string]any{"conditions": []any{entry}},
	})
	if err != nil {
		return nil, fmt.Errorf("condition %s of node %s: %w", want.Type, n.Name, err)
	}
	after := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
	if err := c.Client.Status().Patch(ctx, after, client.RawPatch(types.StrategicMergePatchType, raw)); err != nil {
		return nil, fmt.Errorf("patching condition %s of node %s: %w", want.Type, n.Name, err)
	}
	return after, nil
}

// stands reports whether the node has the condition already.
func stands(n *corev1.Node, want corev1.NodeCondition) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == want.Type {
			return c.Status == want.Status && c.Reason == want.Reason && c.Message == want.Message
		}
	}
	return want.Reason == ""
}
