package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// Setup says how a reconciler is added to a manager.
type Setup struct {
	// Name is the controller's name in logs and metrics.
	Name string
	// Workers is how many machines are reconciled concurrently.
	Workers int
	// Target is the cache of the cluster that the machines join; nil if they join none.
	Target cache.Cache
	// NewQueue creates the queue in which machines wait for a worker; nil for that of controller-runtime.
	NewQueue func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request]
	// Around wraps the reconciler; may be nil.
	Around func(reconcile.Reconciler) reconcile.Reconciler
	// Also are other objects whose changes concern machines.
	Also []Watch
}

// Watch names objects and the machines that their changes concern.
type Watch struct {
	Object  client.Object
	Handler handler.EventHandler
	Which   predicate.Predicate
}

// Index registers the field indexes by which r reads.
func (r *Reconciler[M]) Index(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, r.Dialect.New(), SiblingIndex, index.OwnerKeys); err != nil {
		return fmt.Errorf("index machines by sibling: %w", err)
	}
	return index.SetupNode(ctx, indexer, r.Dialect)
}

// SetupWithManager registers the machine controller: for machines whose spec changed, for nodes that
// changed in a field that matters, and for pods and volumes that left a node, since a drain may wait for
// that.
func (r *Reconciler[M]) SetupWithManager(ctx context.Context, mgr ctrl.Manager, s Setup) error {
	if err := r.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	wakes := enqueue.Func(r.Wakes)
	b := ctrl.NewControllerManagedBy(mgr).Named(s.Name).
		Watches(r.Dialect.New(), wakes).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: s.Workers, RateLimiter: Limiter(), LogConstructor: r.logs(mgr.GetLogger(), s.Name),
			NewQueue: s.NewQueue,
		})
	for _, w := range s.Also {
		b = b.Watches(w.Object, w.Handler, builder.WithPredicates(w.Which))
	}
	b = b.WatchesRawSource(enqueue.Corrections(r.Clock, Corrections[M]{r}.Look))
	if r.Budgets != nil {
		b = b.WatchesRawSource(enqueue.Corrections(r.Clock, r.Budgets.Due))
	}
	if s.Target != nil {
		for _, o := range []client.Object{&corev1.Node{}, &corev1.Pod{}, &storagev1.VolumeAttachment{}, &policyv1.PodDisruptionBudget{}} {
			b = b.WatchesRawSource(source.Kind(s.Target, o, r.Nodes.Deletions.Watched(wakes)))
		}
	}
	if s.Around == nil {
		return b.Complete(r)
	}
	return b.Complete(s.Around(r))
}

// Turn says, by the cache, what kind of work a machine is that begins to wait for a worker.
func (r *Reconciler[M]) Turn(ctx context.Context, key types.NamespacedName) (class lifecycle.Class) {
	o := r.Dialect.New()
	if err := r.Client.Get(ctx, key, o, client.UnsafeDisableDeepCopy); err != nil {
		return class // it does not exist any more, or the pass reports the error
	}
	return lifecycle.Turn(r.Dialect.View(o), r.memory.shortages.any())
}

// Limiter backs off per machine only. The usual shared bucket of 10 a second
// would leave 100 of 1000 new machines waiting for minutes.
func Limiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](20*time.Millisecond, time.Minute)
}

// Wakes returns the machines that a change of one object concerns: a machine, a node in the fields that
// matter, pods and volumes that have left a node, and budgets that allow evictions, since drains may wait
// for that.
func (r *Reconciler[M]) Wakes(ctx context.Context, before, after client.Object) []enqueue.Request {
	switch o := enqueue.Either(before, after).(type) {
	case M:
		if own := enqueue.ForSpecChange(before, after); own != nil {
			return own
		}
		if r.memory.versions.Ours(after) {
			return nil
		}
		return enqueue.Reported(before, after)
	case *corev1.Node:
		return r.wakesOfNode(ctx, before, after)
	case *corev1.Pod:
		if after == nil && o.Spec.NodeName != "" {
			return enqueue.Requests(r.DrainsOf(ctx, o.Spec.NodeName), 0)
		}
	case *storagev1.VolumeAttachment:
		was, _ := before.(*storagev1.VolumeAttachment)
		is, _ := after.(*storagev1.VolumeAttachment)
		if node.AttachmentMoved(was, is) {
			return enqueue.Requests(r.DrainsOf(ctx, r.Nodes.DrainsWaitingFor(o)...), 0)
		}
	case *policyv1.PodDisruptionBudget:
		was, _ := before.(*policyv1.PodDisruptionBudget)
		is, _ := after.(*policyv1.PodDisruptionBudget)
		if node.BudgetOpened(was, is) {
			return inTurn(r.DrainsOf(ctx, r.Nodes.DrainsRefusedIn(o.Namespace)...))
		}
	}
	return nil
}

// inTurn wakes one after another: the first may use all evictions that a budget allows.
func inTurn(requests []reconcile.Request) []enqueue.Request {
	out := enqueue.Requests(requests, 0)
	for i := range out {
		out[i].After = time.Duration(i) * turnPause
	}
	return out
}

// turnPause is longer than it takes until an eviction shows in its budget.
const turnPause = 50 * time.Millisecond

func (r *Reconciler[M]) wakesOfNode(ctx context.Context, before, after client.Object) (out []enqueue.Request) {
	was, _ := before.(*corev1.Node)
	is, _ := after.(*corev1.Node)
	if was == nil || is == nil || node.Matters(was, is) {
		var keys []string
		for _, n := range []*corev1.Node{was, is} {
			if n != nil {
				keys = append(keys, nodeKeys(n)...)
			}
		}
		out = enqueue.Requests(r.requests(ctx, keys, func(M) bool { return true }), 0)
	}
	if node.VolumesLeft(was, is) {
		out = append(out, enqueue.Requests(r.DrainsOf(ctx, is.Name), 0)...)
	}
	return out
}

// DrainsOf are the machines of the named nodes that may be waiting for pods and volumes to leave.
func (r *Reconciler[M]) DrainsOf(ctx context.Context, nodes ...string) []reconcile.Request {
	keys := make([]string, len(nodes))
	for i, name := range nodes {
		keys[i] = index.NodeNameKey(name)
	}
	return r.requests(ctx, keys, r.WaitsForPods)
}

// nodeKeys are the keys under which [index.Node] has the machines that the node may belong to.
func nodeKeys(n *corev1.Node) []string {
	keys := []string{index.NodeNameKey(n.Name)}
	if key := index.ProviderIDKey(n.Spec.ProviderID); key != "" {
		keys = append(keys, key)
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && n.Spec.ProviderID == "" {
			keys = append(keys, index.NodeIPKey(a.Address))
		}
	}
	return keys
}

// WaitsForPods reports whether the machine may be waiting for pods to leave: before it is deleted, or
// before it is updated.
func (r *Reconciler[M]) WaitsForPods(m M) bool {
	return m.GetDeletionTimestamp() != nil || r.memory.podsAwaited(client.ObjectKeyFromObject(m))
}

func (r *Reconciler[M]) requests(ctx context.Context, keys []string, which func(M) bool) []reconcile.Request {
	found := map[types.NamespacedName]bool{}
	// It fails only without the index, which this package registers: the error cannot be handled here.
	_ = index.Each(ctx, r.Client, r.Dialect, slices.Compact(slices.Sorted(slices.Values(keys))), func(m M) {
		if which(m) {
			found[client.ObjectKeyFromObject(m)] = true
		}
	})
	out := make([]reconcile.Request, 0, len(found))
	for k := range found {
		out = append(out, reconcile.Request{NamespacedName: k})
	}
	slices.SortFunc(out, func(a, b reconcile.Request) int { return strings.Compare(a.String(), b.String()) })
	return out
}
