package csr

import (
	"context"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/millwright-dev/millwright/internal/engine/approval"
)

// The index of waiting requests of the kubelet's signers.
const (
	PendingIndex = "millwright.pending"
	pendingValue = "true"
)

// SetupIndexes adds the index to the cache behind [Approver.Client].
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &certificatesv1.CertificateSigningRequest{}, PendingIndex, Pending)
	if err != nil {
		return fmt.Errorf("adding index %s: %w", PendingIndex, err)
	}
	return nil
}

// Pending extracts [PendingIndex] from a request.
func Pending(o client.Object) []string {
	if kind, pending := approval.Handled(o.(*certificatesv1.CertificateSigningRequest)); kind && pending {
		return []string{pendingValue}
	}
	return nil
}

// MachineSource is one kind of machine whose changes may settle a request.
type MachineSource struct {
	Cache  cache.Cache
	Object client.Object
	// Machine views an object of the kind; false if the object has no machine to view.
	Machine func(client.Object) (approval.Machine, bool)
}

// Options are how the controller runs.
type Options struct {
	// Cache is the cache of the cluster whose requests are approved.
	Cache cache.Cache
	// Machines are the kinds of machines.
	Machines []MachineSource
	// Workers is how many requests are judged concurrently; zero means 10.
	Workers int
	// Name is the controller's name; empty means "certificate-approver".
	Name string
}

const (
	defaultWorkers = 10
	defaultName    = "certificate-approver"
)

// Setup adds the approver to the manager. [SetupIndexes] must have been called
// on the same cache.
func (a *Approver) Setup(mgr manager.Manager, o Options) error {
	name, workers := o.Name, o.Workers
	if name == "" {
		name = defaultName
	}
	if workers == 0 {
		workers = defaultWorkers
	}
	c, err := controller.New(name, mgr, controller.Options{
		Reconciler:              a,
		MaxConcurrentReconciles: workers,
		// One shared rate limit would let 1000 nodes that join at once wait for minutes.
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, time.Minute),
	})
	if err != nil {
		return fmt.Errorf("setting up %s: %w", name, err)
	}
	requests := source.Kind[client.Object](o.Cache, &certificatesv1.CertificateSigningRequest{},
		&handler.EnqueueRequestForObject{}, Relevant())
	if err := c.Watch(requests); err != nil {
		return fmt.Errorf("watching certificate requests: %w", err)
	}
	for _, m := range o.Machines {
		h := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			return a.Concerned(m.Machine(o))
		})
		if err := c.Watch(source.Kind(m.Cache, m.Object, h)); err != nil {
			return fmt.Errorf("watching %T: %w", m.Object, err)
		}
	}
	return nil
}

// Concerned are the waiting requests that a change of the machine may settle; none if there is no machine
// to view.
func (a *Approver) Concerned(m approval.Machine, ok bool) []reconcile.Request {
	if !ok {
		return nil
	}
	var out []reconcile.Request
	for _, name := range a.waiting(m) {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	}
	return out
}

// Relevant passes requests of the kubelet's signers while they wait, and the event by which they are
// settled or deleted.
func Relevant() predicate.Predicate {
	relevant := func(o client.Object) bool {
		r, ok := o.(*certificatesv1.CertificateSigningRequest)
		if !ok {
			return false
		}
		kind, pending := approval.Handled(r)
		return kind && pending
	}
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return relevant(e.Object) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return relevant(e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return relevant(e.ObjectOld) || relevant(e.ObjectNew) },
		GenericFunc: func(e event.GenericEvent) bool { return relevant(e.Object) },
	}
}
