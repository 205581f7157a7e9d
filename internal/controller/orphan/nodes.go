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

// NodeOptions are what [Nodes] are made of.
type NodeOptions struct {
	// Client reads nodes from a cache and writes them.
	Client client.Client
	// Kinds are the machines that a node may belong to.
	Kinds []Kind
	Clock clock.PassiveClock
	// JoinTimeout is how long a machine may take to know its node.
	JoinTimeout time.Duration
	// Mark is the annotation, with its value, of a node without a machine;
	// Finalizer is what machines of API put on their nodes, and no others.
	Mark, MarkValue, Finalizer, API string
}

// Nodes marks nodes that have no machine, and lets go of them.
type Nodes struct {
	NodeOptions
	live *live
}

// NewNodes returns a reconciler of nodes.
func NewNodes(o NodeOptions) *Nodes {
	return &Nodes{NodeOptions: o, live: &live{kinds: o.Kinds, clock: o.Clock}}
}

// freshEnough is how old the reading of all machines may be by which a node is
// let go: a cluster may have a thousand nodes of its own, and they all come at
// once at the start.
const freshEnough = time.Minute

// Reconcile brings the mark of one node in step with the machines there are.
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
		if facts.Machine, facts.Ours, again, err = r.surely(ctx, &n); err != nil {
			return reconcile.Result{}, err
		}
		act, after = orphan.JudgeNode(r.Clock.Now(), facts, r.JoinTimeout)
	}
	if act != orphan.LetGo {
		after = cmp.Or(after, again)
	}
	return reconcile.Result{RequeueAfter: after}, r.apply(ctx, &n, act)
}

// known asks the caches whether there is a machine for the node, and whether one of
// ours is. A machine that has it by its provider ID alone, as of a node with a name of
// its own, does not bring it here when it goes: again is when to look again.
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

// surely asks the API server, before a finalizer goes. A machine that it shows
// and that the cache of its kind does not is new, or has gone since it was read;
// nothing may tell of the latter, so again is when to look again. Nor does anything
// tell that a machine goes whose kind has no cache, and its node waits for that where
// it is being deleted.
func (r *Nodes) surely(ctx context.Context, n *corev1.Node) (known, ours bool, again time.Duration, err error) {
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

// SetupWithManager registers the controller: for nodes of the target's cache
// that changed in what ties them to machines, and for the nodes of machines
// that come, go, or get another.
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

// Source yields the nodes of machines that change. A machine whose deletion was
// missed comes as the one that was last seen (C35).
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

// tied passes nodes that come, and changes of what is judged; a resync passes
// too.
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
