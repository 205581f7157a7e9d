package machineset

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// Bounds of the pause after a failed pass; it doubles from one to the other. Every set has its own pause.
const (
	minRetry = 100 * time.Millisecond
	maxRetry = 2 * time.Minute
)

// Setup is how a [Reconciler] is run.
type Setup struct {
	// MaxConcurrent is how many sets are reconciled concurrently; 10 by default.
	MaxConcurrent int
	// NewQueue creates the queue in which sets wait for a worker, by [Reconciler.Turn]; nil for a first-in,
	// first-out queue.
	NewQueue func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request]
	// NodeCache is watched for nodes that become ready or not ready; nil: nodes are not watched.
	NodeCache cache.Cache
}

// Index registers the field index by which r reads. The controller of deployments uses it as well, so it is
// registered even if only that controller runs.
func (r *Reconciler[S]) Index(ctx context.Context, indexer client.FieldIndexer) error {
	return index.SetupOwner(ctx, indexer, r.lens.Traits().Machine())
}

// logs creates the logger of each pass, whose lines name the set.
func logs(base logr.Logger, controller string) func(*reconcile.Request) logr.Logger {
	base = base.WithValues("controller", controller)
	return func(req *reconcile.Request) logr.Logger {
		if req == nil {
			return base
		}
		return base.WithValues("namespace", req.Namespace, "name", req.Name, "set", req.String())
	}
}

// SetupWithManager registers the watches. The manager's cache must have the index of
// [Reconciler.Index].
func (r *Reconciler[S]) SetupWithManager(mgr ctrl.Manager, s Setup) error {
	kind := r.lens.Traits().Kind
	if s.MaxConcurrent == 0 {
		s.MaxConcurrent = 10
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(kind.GroupKind().String())).
		Watches(r.lens.New(), enqueue.Func(r.Wakes)).
		Watches(r.lens.Traits().Machine(), enqueue.Func(r.Wakes)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: s.MaxConcurrent, LogConstructor: logs(mgr.GetLogger(), strings.ToLower(kind.GroupKind().String())),
			NewQueue:    s.NewQueue,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minRetry, maxRetry),
		})
	if s.NodeCache != nil && r.nodeReader != nil {
		b = b.WatchesRawSource(source.Kind[client.Object](s.NodeCache, &corev1.Node{}, enqueue.Func(r.Wakes)))
	}
	if f, ok := r.lens.(dialect.Freezer[S]); ok {
		b = b.Watches(f.Parent(), enqueue.Func(r.Wakes))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("set up %s: %w", kind.GroupKind(), err)
	}
	return nil
}
