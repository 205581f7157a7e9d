package machineset

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// eventPause gathers changes of machines that change only counters.
const eventPause = 100 * time.Millisecond

// Wakes returns the sets that a change of one object concerns: a set, a machine, a node if nodes count, or
// a deployment.
func (r *Reconciler[S]) Wakes(ctx context.Context, before, after client.Object) []enqueue.Request {
	o := enqueue.Either(before, after)
	switch o.(type) {
	case S:
		return enqueue.Reported(before, after)
	case *corev1.Node:
		return r.wakesOfNode(ctx, before, after)
	}
	if f, ok := r.lens.(dialect.Freezer[S]); ok && reflect.TypeOf(o) == reflect.TypeOf(f.Parent()) {
		if before != nil && after != nil && before.GetGeneration() == after.GetGeneration() {
			return nil
		}
		return enqueue.Requests(r.setsOf(ctx, o), 0)
	}
	return r.wakesOfMachine(ctx, before, after)
}

// wakesOfMachine wakes at once if the number of machines may have changed, else after a pause.
func (r *Reconciler[S]) wakesOfMachine(ctx context.Context, before, after client.Object) []enqueue.Request {
	if before == nil || after == nil {
		return append(r.concerned(ctx, before, 0), r.concerned(ctx, after, 0)...)
	}
	moved := enqueue.ControllerOf(before) != enqueue.ControllerOf(after)
	relabelled := !maps.Equal(before.GetLabels(), after.GetLabels())
	switch {
	case before.GetResourceVersion() == after.GetResourceVersion():
		return nil
	case moved:
		return append(r.concerned(ctx, before, 0), r.concerned(ctx, after, 0)...)
	case relabelled || (before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil):
		return r.concerned(ctx, after, 0)
	case enqueue.ControllerOf(after) == "":
		return nil
	}
	return r.concerned(ctx, after, eventPause)
}

// wakesOfNode wakes the set of the node's machine. Only the node's machine and readiness matter: heartbeats
// wake no set.
func (r *Reconciler[S]) wakesOfNode(ctx context.Context, before, after client.Object) (out []enqueue.Request) {
	if r.nodeReader == nil {
		return nil
	}
	was, _ := before.(*corev1.Node)
	is, _ := after.(*corev1.Node)
	if was != nil && is != nil && r.nodeReader.MachineOf(was) == r.nodeReader.MachineOf(is) && ready(was) == ready(is) {
		return nil
	}
	for _, n := range []*corev1.Node{was, is} {
		if n == nil {
			continue
		}
		m := r.lens.Traits().Machine()
		if key := r.nodeReader.MachineOf(n); key.Name == "" || r.Client.Get(ctx, key, m) != nil {
			continue // it does not exist, or not yet: the machine's own event wakes the set
		}
		out = append(out, r.concerned(ctx, m, eventPause)...)
	}
	return out
}

func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// concerned is the set that controls m, or those that might adopt it.
func (r *Reconciler[S]) concerned(ctx context.Context, m client.Object, after time.Duration) []enqueue.Request {
	if m == nil {
		return nil
	}
	ref := metav1.GetControllerOfNoCopy(m)
	if ref == nil {
		return enqueue.Requests(r.matchingSets(ctx, m), after)
	}
	kind := r.lens.Traits().Kind
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || gv.Group != kind.Group || ref.Kind != kind.Kind {
		return nil
	}
	set := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: m.GetNamespace(), Name: ref.Name}}
	return enqueue.Requests([]reconcile.Request{set}, after)
}

// matchingSets are the sets of m's namespace that might adopt it.
func (r *Reconciler[S]) matchingSets(ctx context.Context, m client.Object) (out []reconcile.Request) {
	list, err := r.listSets(ctx, m.GetNamespace())
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot list the sets that might adopt a machine", "machine", client.ObjectKeyFromObject(m))
		return nil
	}
	for _, s := range list {
		if r.selection(s).selects.Matches(labels.Set(m.GetLabels())) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)})
		}
	}
	return out
}

func (r *Reconciler[S]) listSets(ctx context.Context, namespace string) (out []S, err error) {
	list := r.lens.Traits().Sets()
	if err := r.Client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	err = meta.EachListItem(list, func(o runtime.Object) error {
		out = append(out, o.(S))
		return nil
	})
	return out, err
}
