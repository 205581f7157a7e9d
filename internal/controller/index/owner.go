// Package index has the field indexes that more than one controller uses: their names, how their keys are
// computed, and how they are registered. An index that only one controller uses stays in the package of
// that controller.
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

// Sibling is the same index in the cache of machine controllers. It is not [Owner], which set controllers of the same process
// register.
const Sibling = "millwright.sibling"

// OwnerKeys computes [Owner]. It serves indexes over other kinds as well.
func OwnerKeys(o client.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return []string{string(ref.UID)}
	}
	return []string{NoOwner}
}

// SetupOwner registers [Owner] for the kind of m. It fails if the index exists already: the program that
// runs the controllers calls it once for all of them.
func SetupOwner(ctx context.Context, indexer client.FieldIndexer, m client.Object) error {
	if err := indexer.IndexField(ctx, m, Owner, OwnerKeys); err != nil {
		return fmt.Errorf("index %T by owner: %w", m, err)
	}
	return nil
}
