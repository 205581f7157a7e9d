package machineclass

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// The indexes of a cache behind the controllers of this package.
const (
	// ClassIndex finds machines by the name of their class.
	ClassIndex = "millwright.class"
	// SecretIndex finds classes by the names of their secrets.
	SecretIndex = "millwright.secret"
)

// SetupIndexes adds the indexes to a cache. It fails if one of them exists already.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &v1alpha1.Machine{}, ClassIndex, ClassOf); err != nil {
		return fmt.Errorf("index machines by class: %w", err)
	}
	if err := indexer.IndexField(ctx, &v1alpha1.MachineClass{}, SecretIndex, SecretsOf); err != nil {
		return fmt.Errorf("index machine classes by secret: %w", err)
	}
	return nil
}

// ClassOf extracts [ClassIndex] from a machine. Only a reference of the kind
// MachineClass counts.
func ClassOf(o client.Object) []string {
	ref := o.(*v1alpha1.Machine).Spec.Class
	if ref.Kind != v1alpha1.KindMachineClass || ref.Name == "" {
		return nil
	}
	return []string{ref.Name}
}

// SecretsOf extracts [SecretIndex] from a class: the names of its secrets in the class's own namespace.
// Secrets in other namespaces are not kept.
func SecretsOf(o client.Object) (names []string) {
	c := o.(*v1alpha1.MachineClass)
	for _, ref := range []*corev1.SecretReference{c.SecretRef, c.CredentialsSecretRef} {
		if ref != nil && ref.Name != "" && (ref.Namespace == "" || ref.Namespace == c.Namespace) {
			names = append(names, ref.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// MachinesOfClass returns requests for the machines of the class, machines under deletion included: one of
// them may be blocked without the class. The reader must have [ClassIndex]. If the reader fails, no machine
// is woken.
func MachinesOfClass(ctx context.Context, r client.Reader, class types.NamespacedName) []reconcile.Request {
	var list v1alpha1.MachineList
	if err := r.List(ctx, &list, client.InNamespace(class.Namespace), client.MatchingFields{ClassIndex: class.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache is in memory and has the index: an error cannot be handled here
	}
	out := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		out[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return out
}
