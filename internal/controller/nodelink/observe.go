package nodelink

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// look reads machines and nodes by the fields that link them to one another.
type look[M client.Object] struct {
	*Reconciler[M]
	machines, nodes client.Reader
}

// found has the objects that a look has found so far, each once.
type found[M client.Object] struct {
	machines map[types.UID]M
	nodes    map[string]*corev1.Node
}

func newFound[M client.Object]() found[M] {
	return found[M]{machines: map[types.UID]M{}, nodes: map[string]*corev1.Node{}}
}

// around finds everything that a decision about the node needs: the machines that the node may belong to,
// the other nodes of these machines, and the machines that those nodes may belong to.
func (l look[M]) around(ctx context.Context, n *corev1.Node) (found[M], error) {
	f := newFound[M]()
	near, err := l.machinesOf(ctx, f, n)
	if err != nil {
		return f, err
	}
	others, err := l.nodesOf(ctx, f, near)
	if err != nil {
		return f, err
	}
	for _, o := range others {
		if o.Name == n.Name {
			continue
		}
		if _, err := l.machinesOf(ctx, f, o); err != nil {
			return f, err
		}
	}
	return f, nil
}

// machinesOf adds to f the machines that the node may belong to, and returns those that are new.
func (l look[M]) machinesOf(ctx context.Context, f found[M], n *corev1.Node) (out []M, err error) {
	keys := []string{index.NodeNameKey(n.Name)}
	if k := index.ProviderIDKey(n.Spec.ProviderID); k != "" {
		keys = append(keys, k)
	}
	for _, ip := range addressesOf(n) {
		keys = append(keys, index.NodeIPKey(ip))
	}
	for _, k := range keys {
		list := l.lens.NewList()
		if err := l.machines.List(ctx, list, client.MatchingFields{index.Node: k}); err != nil {
			return nil, fmt.Errorf("list machines by %s: %w", k, err)
		}
		for m := range dialect.Items[M](list) {
			if _, known := f.machines[m.GetUID()]; !known {
				f.machines[m.GetUID()] = m
				out = append(out, m)
			}
		}
	}
	return out, nil
}

// nodesOf adds to f the nodes that the machines may have, and returns those that are new.
func (l look[M]) nodesOf(ctx context.Context, f found[M], machines []M) (out []*corev1.Node, err error) {
	add := func(n *corev1.Node) {
		if f.nodes[n.Name] == nil {
			f.nodes[n.Name] = n
			out = append(out, n)
		}
	}
	for _, m := range machines {
		v := l.lens.View(m)
		r := v.Recorded
		for _, name := range names(v) {
			n, err := node.Read(ctx, l.nodes, name)
			if err != nil {
				return nil, err
			}
			if n != nil {
				add(n)
			}
		}
		if err := l.each(ctx, node.ProviderIDIndex, nonEmpty(provider.Tail(r.ProviderID)), add); err != nil {
			return nil, err
		}
		if err := l.each(ctx, node.InternalIPIndex, internalIPs(r.Addresses), add); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func (l look[M]) each(ctx context.Context, by string, values []string, add func(*corev1.Node)) error {
	for _, v := range values {
		var list corev1.NodeList
		if err := l.nodes.List(ctx, &list, client.MatchingFields{by: v}); err != nil {
			return fmt.Errorf("list nodes by %s: %w", by, err)
		}
		for i := range list.Items {
			add(&list.Items[i])
		}
	}
	return nil
}

// scene returns the found objects for a decision about the node, always in the same order.
func (l look[M]) scene(n *corev1.Node, f found[M]) Scene {
	s := Scene{Node: n, Mark: l.mark}
	for _, uid := range slices.Sorted(maps.Keys(f.machines)) {
		s.Machines = append(s.Machines, l.lens.View(f.machines[uid]))
	}
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		s.Nodes = append(s.Nodes, f.nodes[name])
	}
	return s
}

// whose decides which machine the node belongs to. Only the API server can say that the machine's recorded
// node does not exist: a cache that does not show it yet must not move the machine to another node that
// claims to be the machine's.
func (l look[M]) whose(ctx context.Context, n *corev1.Node, f found[M]) (Verdict, error) {
	s := l.scene(n, f)
	v := Decide(s)
	for v.Machine != nil && v.Reason != OnRecord {
		had := v.Machine.Recorded.NodeName
		if had == "" || had == n.Name || f.nodes[had] != nil {
			break
		}
		there, err := node.Read(ctx, l.NodesLive, had)
		if there == nil || err != nil {
			return v, err
		}
		f.nodes[had] = there
		s.Nodes = append(s.Nodes, there)
		v = Decide(s)
	}
	return v, nil
}

// object is the machine of a verdict.
func (f found[M]) object(v lifecycle.Machine) M { return f.machines[types.UID(v.UID)] }
