package orphan

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/nodemeta"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
)

// readyNodes are the nodes that report Ready, from a cache.
func (c *Collector) readyNodes(ctx context.Context) (out []orphan.ReadyNode, err error) {
	if !c.Nodes.Exists() {
		return nil, nil
	}
	var list corev1.NodeList
	if err := c.Nodes.Client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for i := range list.Items {
		if n := &list.Items[i]; isReady(n) {
			out = append(out, readyNode(n))
		}
	}
	return out, nil
}

func readyNode(n *corev1.Node) orphan.ReadyNode {
	return orphan.ReadyNode{Name: n.Name, ProviderID: n.Spec.ProviderID}
}

func isReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// serving is the ready node whose instance is about to be removed, from the API server; nil if there is
// none.
func (c *Collector) serving(ctx context.Context, v orphan.Verdict) (*corev1.Node, error) {
	if !c.Nodes.Exists() || len(v.Left) > 0 {
		return nil, nil
	}
	names := []string{v.Instance.NodeName, v.Instance.Name}
	ready, err := c.readyNodes(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range ready {
		if r.Is(v.Instance) {
			names = append(names, r.Name)
		}
	}
	for _, name := range names {
		var n corev1.Node
		if name == "" {
			continue
		}
		err := c.Nodes.Live.Get(ctx, client.ObjectKey{Name: name}, &n)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("look at node %s: %w", name, err)
		}
		if err == nil && isReady(&n) && readyNode(&n).Is(v.Instance) {
			return &n, nil
		}
	}
	return nil, nil
}

// drain cordons the node and evicts its pods, without force and without a deadline. It says what the
// removal waits for; empty if the node can be removed.
func (c *Collector) drain(ctx context.Context, n *corev1.Node) (why string, err error) {
	if n == nil {
		return "", nil
	}
	n, held, err := c.Nodes.Cordon(ctx, n, nodemeta.Want{Additive: true})
	if held != "" || err != nil {
		return held, err
	}
	d, err := c.Nodes.Drain(ctx, n, drain.Policy{})
	if err != nil || d.Done {
		return "", err
	}
	return cmp.Or(d.Message, "it is being drained"), nil
}
