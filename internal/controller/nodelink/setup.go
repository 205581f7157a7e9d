package nodelink

import (
	"context"
	"fmt"
	"time"

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
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// Bounds of the pause after a failed pass; it doubles from one to the other. Every node has its own pause.
const (
	minRetry = 100 * time.Millisecond
	maxRetry = 2 * time.Minute
)

// Setup is how a [Reconciler] is run.
type Setup struct {
	// MaxConcurrent is how many nodes are reconciled concurrently; 10 by default.
	MaxConcurrent int
	// NodeCache is watched for nodes; nil: the manager's own.
	NodeCache cache.Cache
}

// Index registers the field indexes by which r reads: over machines, and over nodes, which may be in
// another cache. A cache has each index once: if Millwright's machine controller runs in the same process,
// it has registered them already.
func (r *Reconciler[M]) Index(ctx context.Context, machines, nodes client.FieldIndexer) error {
	if err := index.SetupNode(ctx, machines, r.lens); err != nil {
		return err
	}
	for _, i := range node.NodeIndexes() {
		if err := nodes.IndexField(ctx, i.Object, i.Name, i.Extract); err != nil {
			return fmt.Errorf("adding index %s: %w", i.Name, err)
		}
	}
	return nil
}

// SetupWithManager registers the watches. The caches must have the indexes of
// [Reconciler.Index].
func (r *Reconciler[M]) SetupWithManager(mgr ctrl.Manager, s Setup) error {
	if s.MaxConcurrent == 0 {
		s.MaxConcurrent = 10
	}
	if s.NodeCache == nil {
		s.NodeCache = mgr.GetCache()
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		Watches(r.lens.New(), enqueue.Func(r.Wakes)).
		WatchesRawSource(source.Kind[client.Object](s.NodeCache, &corev1.Node{}, enqueue.Func(r.Wakes))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: s.MaxConcurrent,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minRetry, maxRetry),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up %s: %w", Name, err)
	}
	return nil
}
