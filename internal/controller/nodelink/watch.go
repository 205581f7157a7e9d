package nodelink

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Change is what a change of a node means to this controller.
type Change int

// The changes; each includes the effects of those before.
const (
	// Unrelated is a heartbeat, the capacity for pods, a condition other than Ready, or a resync.
	Unrelated Change = iota
	// Worn is a change of labels, annotations or taints, of which the node may have lost some.
	Worn
	// Readied is a node that became ready or not ready.
	Readied
	// Another is a node that shows another machine than before, or none, or that is created or deleted.
	Another
)

// ChangeOf compares two states of a node; nil is a node that does not exist.
func ChangeOf(before, after *corev1.Node) Change {
	switch {
	case before == nil || after == nil,
		before.UID != after.UID,
		before.Spec.ProviderID != after.Spec.ProviderID,
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero(),
		!slices.Equal(before.Status.Addresses, after.Status.Addresses):
		return Another
	case ready(before) != ready(after):
		return Readied
	case !maps.Equal(before.Labels, after.Labels),
		!maps.Equal(before.Annotations, after.Annotations),
		!equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints):
		return Worn
	}
	return Unrelated
}

func ready(n *corev1.Node) bool { return lifecycle.Ready(n).Status == corev1.ConditionTrue }

// wornPause gathers changes of labels, annotations and taints. It also bounds how often two clients that
// disagree on a label overwrite one another.
const wornPause = time.Second

// Wakes returns the nodes that a change of a node or a machine concerns.
func (r *Reconciler[M]) Wakes(ctx context.Context, before, after client.Object) []enqueue.Request {
	switch enqueue.Either(before, after).(type) {
	case *corev1.Node:
		was, _ := before.(*corev1.Node)
		now, _ := after.(*corev1.Node)
		return r.wakesOfNode(ctx, was, now)
	case M:
		if before != nil && after != nil && r.alike(before.(M), after.(M)) {
			return nil
		}
		f := newFound[M]()
		for _, o := range []client.Object{before, after} {
			if o == nil {
				continue
			}
			nodes, err := r.look().nodesOf(ctx, f, []M{o.(M)})
			r.compete(ctx, f, nodes, err)
		}
		return requests(f)
	}
	return nil
}

// wakesOfNode wakes the node and, if it shows another machine than before, also the nodes that it competes
// with.
func (r *Reconciler[M]) wakesOfNode(ctx context.Context, was, now *corev1.Node) []enqueue.Request {
	either := cmp.Or(now, was)
	own := enqueue.For(either)
	switch ChangeOf(was, now) {
	case Unrelated:
		return nil
	case Worn:
		own.After = wornPause
		return []enqueue.Request{own}
	case Readied:
		return []enqueue.Request{own}
	}
	f := newFound[M]()
	f.nodes[either.Name] = either
	for _, n := range []*corev1.Node{was, now} {
		if n != nil {
			r.compete(ctx, f, []*corev1.Node{n}, nil)
		}
	}
	return requests(f)
}

// compete adds to f the nodes that compete with one of the given nodes for its machine. An object that cannot be
// read is left out: [refusedAgain] covers that case.
func (r *Reconciler[M]) compete(ctx context.Context, f found[M], nodes []*corev1.Node, err error) {
	for _, n := range nodes {
		var machines []M
		if machines, err = r.look().machinesOf(ctx, f, n); err == nil {
			_, err = r.look().nodesOf(ctx, f, machines)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot tell which nodes compete")
	}
}

// alike reports whether two states of a machine say the same about its node: how it is identified, its
// labels, annotations and taints, and when this controller last marked the machine because of it.
func (r *Reconciler[M]) alike(a, b M) bool {
	x, y := r.lens.View(a), r.lens.View(b)
	return x.UID == y.UID &&
		x.Recorded.ProviderID == y.Recorded.ProviderID && x.Recorded.NodeName == y.Recorded.NodeName && x.Recorded.NodeUID == y.Recorded.NodeUID &&
		slices.Equal(x.Recorded.Addresses, y.Recorded.Addresses) && r.links.Stamped(a).Equal(r.links.Stamped(b)) &&
		equality.Semantic.DeepEqual(r.lens.Want(a, dialect.Class{}), r.lens.Want(b, dialect.Class{}))
}

// look reads from the caches as they are.
func (r *Reconciler[M]) look() look[M] {
	return look[M]{Reconciler: r, machines: r.Client, nodes: r.Nodes}
}

func requests[M client.Object](f found[M]) []enqueue.Request {
	out := make([]reconcile.Request, 0, len(f.nodes))
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
	}
	return enqueue.Requests(out, 0)
}
