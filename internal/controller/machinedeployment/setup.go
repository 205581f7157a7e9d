package machinedeployment

import (
	"context"
	"fmt"
	"strings"
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
)

// Bounds of the pause after a failed pass; it doubles from one to the other. Every deployment has its own
// pause.
const (
	minRetry = 100 * time.Millisecond
	maxRetry = 2 * time.Minute
)

// Setup is how a [Reconciler] is run.
type Setup struct {
	// MaxConcurrent is how many deployments are reconciled concurrently; 10 by default.
	MaxConcurrent int
	// NodeCache is watched for nodes; nil: nodes are not watched.
	NodeCache cache.Cache
}

// Index registers the field indexes that only r uses. The controller of the sets registers the index over
// machines by their owner, which it uses too.
func (r *Reconciler[D, S]) Index(ctx context.Context, indexer client.FieldIndexer) error {
	kind := r.lens.Traits().Kind
	sets := r.lens.Sets().Lens()
	if err := indexer.IndexField(ctx, sets.New(), SetIndex, index.OwnerKeys); err != nil {
		return fmt.Errorf("index sets of %s by owner: %w", kind.GroupKind(), err)
	}
	if err := indexer.IndexField(ctx, sets.Traits().Machine(), NodeIndex, r.IndexNode); err != nil {
		return fmt.Errorf("index machines of %s by node: %w", kind.GroupKind(), err)
	}
	return nil
}

// SetupWithManager registers the indexes and the watches.
func (r *Reconciler[D, S]) SetupWithManager(ctx context.Context, mgr ctrl.Manager, s Setup) error {
	kind := r.lens.Traits().Kind
	sets := r.lens.Sets().Lens()
	if err := r.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if s.MaxConcurrent == 0 {
		s.MaxConcurrent = 10
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(kind.GroupKind().String())).
		Watches(r.lens.New(), enqueue.Func(r.Wakes)).
		Watches(sets.New(), enqueue.Func(r.Wakes)).
		Watches(sets.Traits().Machine(), enqueue.Func(r.Wakes)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: s.MaxConcurrent,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minRetry, maxRetry),
		})
	if r.Alarms != nil {
		for _, check := range r.Alarms.Kinds() {
			b = b.Watches(check, enqueue.Func(r.WakesOfCheck))
		}
	}
	if s.NodeCache != nil {
		b = b.WatchesRawSource(source.Kind[client.Object](s.NodeCache, &corev1.Node{}, enqueue.Func(r.Wakes)))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("set up %s: %w", kind.GroupKind(), err)
	}
	return nil
}
