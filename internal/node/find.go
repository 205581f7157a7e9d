package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// Query is what is known about the node of a machine.
type Query struct {
	// Name is the node name recorded for the machine or foretold by the
	// infrastructure; ProviderID the machine's. Empty when unknown.
	Name, ProviderID string
	InternalIPs      []string
	// MachineKey is the machine's "namespace/name".
	MachineKey string
}

// Find returns the machine's node; nil without an error when there is none.
func (c *Cluster) Find(ctx context.Context, q Query) (*corev1.Node, error) {
	return nil, nil
}
