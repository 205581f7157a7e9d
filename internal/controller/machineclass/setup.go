package machineclass

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/enqueue"
)

// Setup says how the controllers are wired into a manager.
type Setup struct {
	// Namespace is the control namespace, in which secrets are listed once at the start; empty: all
	// namespaces.
	Namespace string
}

// gather is how long a class waits for further changes of its machines: to find whether it has any takes a
// list of all machines.
const gather = 200 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// SetupWithManager adds the indexes to the manager's cache and registers both controllers. They watch
// classes and machines. Secrets are not watched: they are read when a class that names them is created,
// changed or deleted.
func SetupWithManager(ctx context.Context, mgr ctrl.Manager, s Setup) error {
	if err := SetupIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	err := ctrl.NewControllerManagedBy(mgr).Named("machineclass").
		For(&v1alpha1.MachineClass{}).
		Watches(&v1alpha1.Machine{}, changes(ClassOf, gather)).
		Complete(&Classes{Client: mgr.GetClient(), Live: mgr.GetAPIReader()})
	if err != nil {
		return fmt.Errorf("set up the class controller: %w", err)
	}
	secrets := &Secrets{Client: mgr.GetClient(), Live: mgr.GetAPIReader()}
	err = ctrl.NewControllerManagedBy(mgr).Named("machineclass-secret").
		Watches(&v1alpha1.MachineClass{}, changes(SecretsOf, 0)).
		WatchesRawSource(secrets.leftovers(s.Namespace)).
		Complete(secrets)
	if err != nil {
		return fmt.Errorf("set up the secret controller: %w", err)
	}
	return nil
}

// Handler wakes the machines of a class that is created, deleted, or changed in the part that machines are
// created from. The reader must have [ClassIndex].
func Handler(r client.Reader) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return MachinesOfClass(ctx, r, client.ObjectKeyFromObject(o))
	})
}

// Changed passes the events of classes that matter to their machines. A class has no status: its generation
// covers everything but metadata.
func Changed() predicate.Predicate { return predicate.GenerationChangedPredicate{} }

// leftovers lists once the secrets that have the finalizer already. If listing secrets is not permitted, a
// secret whose class dropped it while no process was watching keeps its finalizer.
func (s *Secrets) leftovers(namespace string) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		held, err := s.WithFinalizer(ctx, namespace)
		if apierrors.IsForbidden(err) {
			log.FromContext(ctx).Info("not permitted to list secrets: finalizers left on them by an earlier process stay")
			return nil
		}
		if err != nil {
			return err
		}
		for _, key := range held {
			q.Add(reconcile.Request{NamespacedName: key})
		}
		return nil
	})
}

// changes wakes, after a delay, the object that a created or deleted object refers to, and both the former
// and the present one if the reference changes.
func changes(refers func(client.Object) []string, after time.Duration) enqueue.Func {
	names := func(o client.Object) []string {
		if o == nil {
			return nil
		}
		return refers(o)
	}
	return func(_ context.Context, before, now client.Object) (all []enqueue.Request) {
		was, is := names(before), names(now)
		if before != nil && now != nil && slices.Equal(was, is) {
			return nil
		}
		namespace := enqueue.Either(before, now).GetNamespace()
		for _, name := range slices.Concat(was, is) {
			key := types.NamespacedName{Namespace: namespace, Name: name}
			all = append(all, enqueue.Request{Request: reconcile.Request{NamespacedName: key}, After: after})
		}
		return all
	}
}
