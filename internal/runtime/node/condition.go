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

// Condition brings one condition of the node in step with want: its status,
// reason and message. One with a reason is set, stamped with the present time,
// one without is taken away. All other conditions stay with those whose they
// are: the kubelet's reports, which come at any time, are neither lost nor held
// up. It returns the node as it is now; the node given is not changed.
//
// What is written was decided on the node given. It is a conflict when anything
// of that has changed which machines look at ([Matters]); a heartbeat is none. A
// node that is gone, or was replaced by another of the same name, is a NotFound
// error.
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

// stands reports whether there is nothing to write.
func stands(n *corev1.Node, want corev1.NodeCondition) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == want.Type {
			return c.Status == want.Status && c.Reason == want.Reason && c.Message == want.Message
		}
	}
	return want.Reason == ""
}
