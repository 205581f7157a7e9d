// Package index has the field indexes by which more than one controller reads: what
// each is called, how its keys are computed, and how it is registered. An index that
// one controller alone reads by stays with that controller.
package index

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Owner is the index over machines by the UID of their controller, or [NoOwner].
const (
	Owner   = "millwright.dev/controller-uid"
	NoOwner = "none"
)

// OwnerKeys computes [Owner]. It serves indexes over other kinds as well.
func OwnerKeys(o client.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return []string{string(ref.UID)}
	}
	return []string{NoOwner}
}

// SetupOwner registers [Owner] for the kind of m. It fails where the index is there
// already: who runs the controllers calls it once for all that read by it.
func SetupOwner(ctx context.Context, indexer client.FieldIndexer, m client.Object) error {
	if err := indexer.IndexField(ctx, m, Owner, OwnerKeys); err != nil {
		return fmt.Errorf("index %T by owner: %w", m, err)
	}
	return nil
}
