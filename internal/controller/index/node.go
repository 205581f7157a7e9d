package index

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/provider"
)

// Node is the index over machines by their known nodes: its keys are [NodeNameKey], [NodeIPKey] and
// [ProviderIDKey]. It also finds the machines that may have an instance, by [ClaimKeys].
const Node = "millwright.node"

// NodeNameKey is the key of machines that have recorded a node of the name, compared as in DNS.
func NodeNameKey(name string) string { return "name/" + approval.FoldName(name) }

// NodeIPKey is the key of machines that have recorded an internal IP.
func NodeIPKey(ip string) string { return "ip/" + ip }

// ProviderIDKey is the key of the machines with a provider ID, in any spelling: "tail/<the part after its
// last slash, in lower case>". It is empty if that part is empty. Machines of another instance may share
// it.
func ProviderIDKey(id string) string {
	tail := provider.Tail(id)
	if tail == "" {
		return ""
	}
	return "tail/" + tail
}

// UIDKey is the key of the machine with the UID.
func UIDKey(uid string) string { return "uid/" + uid }

// NameKey is the key of the machines with the name, in any namespace.
func NameKey(name string) string { return "machine/" + name }

// ClaimKeys are the keys of the machines that may have an instance with the UID, name and provider ID.
func ClaimKeys(uid, name, providerID string) (out []string) {
	if uid != "" {
		out = append(out, UIDKey(uid))
	}
	if name != "" {
		out = append(out, NameKey(name))
	}
	if key := ProviderIDKey(providerID); key != "" {
		out = append(out, key)
	}
	return out
}

// NodeKeys computes [Node] for the machines that lens reads.
func NodeKeys[M client.Object](lens dialect.Machines[M]) client.IndexerFunc {
	return func(o client.Object) (out []string) {
		v := lens.View(o.(M))
		for _, a := range v.Recorded.Addresses {
			switch a.Type {
			case corev1.NodeInternalIP:
				out = append(out, NodeIPKey(a.Address))
			case corev1.NodeInternalDNS, corev1.NodeHostName:
				out = append(out, NodeNameKey(a.Address))
			}
		}
		if v.Recorded.NodeName != "" {
			out = append(out, NodeNameKey(v.Recorded.NodeName))
		}
		out = append(out, ClaimKeys(v.UID, v.Name, v.Recorded.ProviderID)...)
		slices.Sort(out)
		return slices.Compact(out)
	}
}

// Each calls see with each machine that c has under a key of [Node]; a machine with several keys is seen
// more than once. The machines belong to the cache and may only be read.
func Each[M client.Object](ctx context.Context, c client.Reader, lens dialect.Machines[M], keys []string, see func(M)) error {
	for _, key := range keys {
		list := lens.NewList()
		if err := c.List(ctx, list, client.MatchingFields{Node: key}, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list machines by %s: %w", key, err)
		}
		for m := range dialect.Items[M](list) {
			see(m)
		}
	}
	return nil
}

// SetupNode registers [Node] for the machines that lens reads.
func SetupNode[M client.Object](ctx context.Context, indexer client.FieldIndexer, lens dialect.Machines[M]) error {
	if err := indexer.IndexField(ctx, lens.New(), Node, NodeKeys(lens)); err != nil {
		return fmt.Errorf("index machines by node: %w", err)
	}
	return nil
}
