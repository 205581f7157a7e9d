package machinedeployment

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

const (
	// leastPause and mostPause bound how long frequent changes are gathered. A pass costs about 3 µs for
	// each machine: with a pause of 50 µs for each, consecutive passes take a sixteenth of a core. That is
	// 10 ms for up to 200 machines, and 100 ms from 2000 on.
	leastPause = 10 * time.Millisecond
	mostPause  = 100 * time.Millisecond
	eachPause  = 50 * time.Microsecond
	// reportPause gathers changes that affect no decision.
	reportPause = time.Second
	// eventPause stands for the pause that fits the deployment.
	eventPause time.Duration = -1
)

// Wakes returns the deployments that a change of one object concerns. Before is nil for a created object,
// after for a deleted one.
func (r *Reconciler[D, S]) Wakes(ctx context.Context, before, after client.Object) []enqueue.Request {
	switch o := enqueue.Either(before, after).(type) {
	case D:
		return enqueue.Reported(before, after)
	case S:
		return r.wakesOfSet(ctx, before, after)
	case *corev1.Node:
		return r.wakesOfNode(ctx, before, after, o.Name)
	}
	return r.wakesOfMachine(ctx, before, after)
}

// wakesOfSet wakes at once if a set is created, deleted or gets another owner, else after a pause. The
// counters of a set are only reported.
func (r *Reconciler[D, S]) wakesOfSet(ctx context.Context, before, after client.Object) (out []enqueue.Request) {
	if before == nil || after == nil {
		return append(r.controllers(ctx, before, 0), r.controllers(ctx, after, 0)...)
	}
	if before.GetResourceVersion() == after.GetResourceVersion() {
		return nil
	}
	if enqueue.ControllerOf(before) != enqueue.ControllerOf(after) {
		return append(r.controllers(ctx, before, 0), r.controllers(ctx, after, 0)...)
	}
	pause := reportPause
	switch {
	case (before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil):
		pause = 0
	case enqueue.SpecChanged(before, after) || r.condition(before) != r.condition(after):
		pause = eventPause
	case enqueue.ControllerOf(after) == "":
		return nil
	}
	return r.controllers(ctx, after, pause)
}

// condition is the part of a set's status that affects decisions.
type condition struct {
	observed bool
	failure  rollout.Failure
}

func (r *Reconciler[D, S]) condition(s client.Object) condition {
	v := r.lens.Sets().View(r.lens.New(), s.(S))
	c := condition{observed: v.Observed}
	if v.Failure != nil {
		c.failure = *v.Failure
	}
	return c
}

// wakesOfMachine compares the fields of a machine that affect decisions.
func (r *Reconciler[D, S]) wakesOfMachine(ctx context.Context, before, after client.Object) []enqueue.Request {
	if before != nil && after != nil {
		if enqueue.ControllerOf(before) == enqueue.ControllerOf(after) && r.lens.Machines().View(before, dialect.NoNode).Alike(r.lens.Machines().View(after, dialect.NoNode)) {
			return nil
		}
		if enqueue.ControllerOf(before) == enqueue.ControllerOf(after) {
			before = nil
		}
	}
	return append(r.ofMachine(ctx, before), r.ofMachine(ctx, after)...)
}

// wakesOfNode compares the fields of a node that affect decisions, for each machine that has the node.
// Usually there is one.
func (r *Reconciler[D, S]) wakesOfNode(ctx context.Context, before, after client.Object, name string) (out []enqueue.Request) {
	if before != nil && after != nil && beats(before.(*corev1.Node), after.(*corev1.Node)) {
		return nil
	}
	list := r.lens.Sets().Lens().Traits().Machines()
	if err := r.Client.List(ctx, list, client.MatchingFields{NodeIndex: name}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "cannot list the machines of a node", "node", name)
		return nil
	}
	machines, err := items[client.Object](list)
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot read the machines of a node", "node", name)
		return nil
	}
	for _, m := range machines {
		if before != nil && after != nil && r.alike(m, before.(*corev1.Node), after.(*corev1.Node)) {
			continue
		}
		out = append(out, r.ofMachine(ctx, m)...)
	}
	return out
}

// alike reports whether m is the same to a rollout with either node.
func (r *Reconciler[D, S]) alike(m client.Object, before, after *corev1.Node) bool {
	lens := r.lens.Machines()
	return lens.View(m, dialect.OnNode(before)).Alike(lens.View(m, dialect.OnNode(after)))
}

// beats reports whether the change of a node is only a heartbeat: most changes are, and are not worth a
// search for machines.
func beats(before, after *corev1.Node) bool {
	same := func(a, b corev1.NodeCondition) bool { return a.LastTransitionTime.Equal(&b.LastTransitionTime) }
	return !node.Matters(before, after) && slices.EqualFunc(before.Status.Conditions, after.Status.Conditions, same)
}

// ofMachine is the deployment of the set that controls m.
func (r *Reconciler[D, S]) ofMachine(ctx context.Context, m client.Object) []enqueue.Request {
	if m == nil {
		return nil
	}
	ref := metav1.GetControllerOfNoCopy(m)
	if ref == nil || !refersTo(ref, r.lens.Sets().Lens().Traits().Kind) {
		return nil
	}
	s := r.lens.Sets().Lens().New()
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: m.GetNamespace(), Name: ref.Name}, s, client.UnsafeDisableDeepCopy)
	if err != nil || s.GetUID() != ref.UID {
		// It does not exist, or not yet: the set's own event wakes the deployment.
		return nil
	}
	if enqueue.ControllerOf(s) == "" {
		return nil
	}
	return r.controllers(ctx, s, eventPause)
}

// controllers is the deployment that controls the set s, or those that might adopt it.
func (r *Reconciler[D, S]) controllers(ctx context.Context, s client.Object, pause time.Duration) (out []enqueue.Request) {
	if s == nil {
		return nil
	}
	if ref := metav1.GetControllerOfNoCopy(s); ref != nil {
		if !refersTo(ref, r.lens.Traits().Kind) {
			return nil
		}
		name := types.NamespacedName{Namespace: s.GetNamespace(), Name: ref.Name}
		return []enqueue.Request{{Request: reconcile.Request{NamespacedName: name}, After: r.gather(name, pause)}}
	}
	deployments, err := r.listDeployments(ctx, s.GetNamespace())
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot list the deployments that might adopt a set", "set", client.ObjectKeyFromObject(s))
		return nil
	}
	for _, d := range deployments {
		if r.lens.View(d, r.Clock.Now()).Selector.Matches(labels.Set(s.GetLabels())) && r.lens.Sets().Adopts(d, s.(S)) {
			out = append(out, r.waking(d, pause))
		}
	}
	return out
}

// gather is the pause for a deployment.
func (r *Reconciler[D, S]) gather(name types.NamespacedName, pause time.Duration) time.Duration {
	if pause != eventPause {
		return pause
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.memories[name]
	if m == nil {
		return leastPause
	}
	return min(mostPause, max(leastPause, time.Duration(m.machines.Load())*eachPause))
}

func (r *Reconciler[D, S]) listDeployments(ctx context.Context, namespace string) ([]D, error) {
	kind := r.lens.Traits().Kind
	o, err := r.Client.Scheme().New(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err != nil {
		return nil, err
	}
	list := o.(client.ObjectList)
	if err := r.Client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	return items[D](list)
}

func refersTo(ref *metav1.OwnerReference, kind schema.GroupVersionKind) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == kind.Group && ref.Kind == kind.Kind
}

// waking wakes d after its pause.
func (r *Reconciler[D, S]) waking(d D, pause time.Duration) enqueue.Request {
	w := enqueue.For(d)
	w.After = r.gather(w.NamespacedName, pause)
	return w
}
