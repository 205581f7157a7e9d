package orphan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/millwright-dev/millwright/internal/engine/orphan"
)

// NodeOptions are the options of [Nodes].
type NodeOptions struct {
	// Client reads nodes from a cache and writes them.
	Client client.Client
	// Kinds are the machines that a node may belong to.
	Kinds []Kind
	Clock clock.PassiveClock
	// JoinTimeout is how long a machine may take to record its node.
	JoinTimeout time.Duration
	// Mark is the annotation, with its value, of a node without a machine; Finalizer is the one that only
	// machines of API put on their nodes.
	Mark, MarkValue, Finalizer, API string
}

// Nodes marks nodes that have no machine, and releases them.
type Nodes struct {
	NodeOptions
	live *live
}

// NewNodes returns a reconciler of nodes.
func NewNodes(o NodeOptions) *Nodes {
	return &Nodes{NodeOptions: o, live: &live{kinds: o.Kinds, clock: o.Clock}}
}

// freshEnough is the greatest age of a reading of all machines for the release of a node: a cluster may
// have a thousand nodes of its own, which all arrive at once at the start.
const freshEnough = time.Minute

// Reconcile updates the mark of one node by the existing machines.
func (r *Nodes) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var n corev1.Node
	if err := r.Client.Get(ctx, req.NamespacedName, &n); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	_, marked := n.Annotations[r.Mark]
	facts := orphan.Node{Created: n.CreationTimestamp.Time, Marked: marked, HasFinalizer: controllerutil.ContainsFinalizer(&n, r.Finalizer)}
	var again time.Duration
	var err error
	if facts.Machine, facts.Ours, again, err = r.known(ctx, &n); err != nil {
		return reconcile.Result{}, err
	}
	act, after := orphan.JudgeNode(r.Clock.Now(), facts, r.JoinTimeout)
	if act == orphan.Disown || act == orphan.LetGo {
		if facts.Machine, facts.Ours, again, err = r.knownLive(ctx, &n); err != nil {
			return reconcile.Result{}, err
		}
		act, after = orphan.JudgeNode(r.Clock.Now(), facts, r.JoinTimeout)
	}
	if act != orphan.LetGo {
		after = cmp.Or(after, again)
	}
	return reconcile.Result{RequeueAfter: after}, r.apply(ctx, &n, act)
}

// known asks the caches whether the node has a machine, and whether it has one of Millwright's. The
// deletion of a machine that has the node only by its provider ID, while the node has another name, does
// not wake the node: again is when to look again.
func (r *Nodes) known(ctx context.Context, n *corev1.Node) (known, ours bool, again time.Duration, err error) {
	told := false
	for _, k := range r.Kinds {
		all, err := k.Having(ctx, n)
		if err != nil {
			return false, false, 0, err
		}
		told = told || slices.ContainsFunc(all, func(m client.Object) bool { return slices.Contains(k.NodesOf(m), n.Name) })
		known, ours = known || len(all) > 0, ours || len(all) > 0 && k.API() == r.API
	}
	if known && !told {
		again = freshEnough
	}
	return known, ours, again, nil
}

// knownLive asks the API server before a finalizer is removed. A machine that the API server shows and the
// cache of its kind does not is new, or has been deleted since it was read. No event may report that
// deletion, so again is when to look again. Nor does an event report the deletion of a machine whose kind
// has no cache, for which its node waits if it is under deletion.
func (r *Nodes) knownLive(ctx context.Context, n *corev1.Node) (known, ours bool, again time.Duration, err error) {
	all, err := r.live.machines(ctx, freshEnough)
	for _, m := range all {
		if !m.has(n) {
			continue
		}
		known, ours = true, ours || m.API == r.API
		if m.Cached || n.DeletionTimestamp != nil {
			again = freshEnough
		}
	}
	return known, ours, again, err
}

func (r *Nodes) apply(ctx context.Context, n *corev1.Node, act orphan.NodeAct) error {
	edited := n.DeepCopy()
	switch act {
	case orphan.Disown:
		if edited.Annotations == nil {
			edited.Annotations = map[string]string{}
		}
		edited.Annotations[r.Mark] = r.MarkValue
		controllerutil.RemoveFinalizer(edited, r.Finalizer)
	case orphan.Own:
		delete(edited.Annotations, r.Mark)
	case orphan.LetGo:
		controllerutil.RemoveFinalizer(edited, r.Finalizer)
	default:
		return nil
	}
	patch := client.MergeFromWithOptions(n, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, edited, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("mark node %s: %w", n.Name, err)
	}
	log.FromContext(ctx).Info("node marked", "act", act, "annotation", r.Mark)
	return nil
}

// MachineSource is one kind of machine whose changes concern nodes.
type MachineSource struct {
	Cache cache.Cache
	Kind  Kind
}

// SetupWithManager registers the controller: for nodes of the target's cache that changed in a field that
// links them to machines, and for the nodes of machines that are created, deleted, or get another node.
func (r *Nodes) SetupWithManager(mgr manager.Manager, target cache.Cache, machines []MachineSource) error {
	c, err := controller.New("node-without-machine", mgr, controller.Options{
		Reconciler:  r,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute),
	})
	if err != nil {
		return fmt.Errorf("set up the controller of nodes without machine: %w", err)
	}
	nodes := source.Kind[client.Object](target, &corev1.Node{}, &handler.EnqueueRequestForObject{}, r.tied())
	if err := c.Watch(nodes); err != nil {
		return fmt.Errorf("watch nodes: %w", err)
	}
	for _, m := range machines {
		if err := c.Watch(m.Source()); err != nil {
			return fmt.Errorf("watch the machines of nodes: %w", err)
		}
	}
	return nil
}

// Source yields the nodes of machines that change. If the deletion of a machine was missed, its last known
// state arrives (C35).
func (m MachineSource) Source() source.Source {
	add := func(q workqueue.TypedRateLimitingInterface[reconcile.Request], o client.Object) {
		for _, name := range m.Kind.NodesOf(o) {
			q.Add(ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
		}
	}
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return source.Kind[client.Object](m.Cache, m.Kind.Object(), handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { add(q, e.Object) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { add(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if !slices.Equal(m.Kind.NodesOf(e.ObjectOld), m.Kind.NodesOf(e.ObjectNew)) {
				add(q, e.ObjectOld)
				add(q, e.ObjectNew)
			}
		},
	})
}

// tied passes created nodes, and changes of the judged fields; a resync passes too.
func (r *Nodes) tied() predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			a, okA := e.ObjectOld.(*corev1.Node)
			b, okB := e.ObjectNew.(*corev1.Node)
			if !okA || !okB || a.ResourceVersion == b.ResourceVersion {
				return true
			}
			return a.Annotations[r.Mark] != b.Annotations[r.Mark] || a.Spec.ProviderID != b.Spec.ProviderID ||
				!slices.Equal(a.Finalizers, b.Finalizers)
		},
	}
}
