package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// The indexes that [Cluster] reads by. The last one is a field selector that
// the API server knows too.
const (
	ProviderIDIndex = "spec.providerID"
	InternalIPIndex = "status.addresses.internalIP"
	PodNodeIndex    = "spec.nodeName"
)

// SetupIndexes adds the indexes to a cache.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, i := range Indexes() {
		if err := indexer.IndexField(ctx, i.Object, i.Name, i.Extract); err != nil {
			return err
		}
	}
	return nil
}

// Index is one of the indexes; the simulator and tests add them by hand.
type Index struct {
	Object  client.Object
	Name    string
	Extract client.IndexerFunc
}

// Indexes are all indexes.
func Indexes() []Index {
	return []Index{
		{&corev1.Node{}, ProviderIDIndex, func(o client.Object) []string { return nil }},
	}
}

// Changed passes the events of nodes that matter to machines.
func Changed() predicate.Predicate { return predicate.Funcs{} }
