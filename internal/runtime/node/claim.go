package node

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/provider"
)

// Claiming returns the nodes that have the provider ID of q, or that have none and have one of its addresses
// and are not older than the machine: the machine's instance may run pods under their names, even if they are
// not its node. With live, all nodes are read from the API server; otherwise from the cache.
func (q Query) Claiming(ctx context.Context, c *Cluster, live bool) (out []*corev1.Node, err error) {
	if c == nil || q.ProviderID == "" && len(q.InternalIPs) == 0 {
		return nil, nil
	}
	add := func(all []corev1.Node) {
		for i := range all {
			n := &all[i]
			known := slices.ContainsFunc(out, func(o *corev1.Node) bool { return o.Name == n.Name })
			before := n.Spec.ProviderID == "" && !q.Created.IsZero() && n.CreationTimestamp.Time.Before(q.Created.Add(-clockSkew))
			if !known && !before && q.fits(n) {
				out = append(out, n)
			}
		}
	}
	if live {
		return out, pages(ctx, c.Live, add)
	}
	keys := []client.MatchingFields{}
	if q.ProviderID != "" {
		keys = append(keys, client.MatchingFields{ProviderIDIndex: provider.Tail(q.ProviderID)})
	}
	for _, ip := range q.InternalIPs {
		keys = append(keys, client.MatchingFields{InternalIPIndex: ip})
	}
	for _, key := range keys {
		var list corev1.NodeList
		if err := c.Client.List(ctx, &list, key); err != nil {
			return nil, fmt.Errorf("listing nodes that show the instance: %w", err)
		}
		add(list.Items)
	}
	return out, nil
}

// Names returns the names of all nodes of r.
func Names(ctx context.Context, r client.Reader) (map[string]bool, error) {
	out := map[string]bool{}
	err := pages(ctx, r, func(all []corev1.Node) {
		for i := range all {
			out[all[i].Name] = true
		}
	})
	return out, err
}

// pages reads all nodes from r, 500 at a time.
func pages(ctx context.Context, r client.Reader, take func([]corev1.Node)) error {
	for next := ""; ; {
		var list corev1.NodeList
		if err := r.List(ctx, &list, client.Limit(pageSize), client.Continue(next)); err != nil {
			return fmt.Errorf("listing all nodes: %w", err)
		}
		take(list.Items)
		if next = list.Continue; next == "" {
			return nil
		}
	}
}
