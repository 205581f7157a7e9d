package machinehealthcheck

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

// Wakes returns the checks that a change of one object concerns: a check, a node, a machine, or the
// conditions that checks share.
func (r *Reconciler[C]) Wakes(_ context.Context, before, after client.Object) []enqueue.Request {
	switch o := enqueue.Either(before, after).(type) {
	case C:
		return enqueue.Reported(before, after)
	case *corev1.Node:
		was, _ := before.(*corev1.Node)
		is, _ := after.(*corev1.Node)
		return enqueue.Requests(r.NodeChanged(was, is), 0)
	case *corev1.ConfigMap:
		return enqueue.Requests(r.CommonChanged(o), 0)
	default:
		return enqueue.Requests(r.MachineChanged(o), 0)
	}
}

// MachineChanged marks a machine in the cohorts of its namespace that select it, or did, and returns their
// checks.
func (r *Reconciler[C]) MachineChanged(m client.Object) (due []reconcile.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, w := range r.states {
		if key.Namespace != m.GetNamespace() {
			continue
		}
		if _, in := w.uids[m.GetName()]; in || w.selector.Matches(labels.Set(m.GetLabels())) {
			due = append(due, w.soil(key, m.GetName()))
		}
	}
	return due
}

// NodeChanged does the same for the machine of a node. A heartbeat wakes no check; its time is noted.
func (r *Reconciler[C]) NodeChanged(before, after *corev1.Node) (due []reconcile.Request) {
	if after != nil {
		r.heard.Store(r.Clock.Now().UnixNano())
	}
	if !health.Stirs(before, after) {
		return nil
	}
	n := after
	if n == nil {
		n = before
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, w := range r.states {
		if machine, in := w.nodes[n.Name]; in {
			due = append(due, w.soil(key, machine))
		}
	}
	return due
}

// CommonChanged wakes all checks, if the kind uses shared conditions and cm holds them.
func (r *Reconciler[C]) CommonChanged(cm client.Object) (due []reconcile.Request) {
	if cm.GetNamespace() != r.Namespace || cm.GetName() != r.lens.Traits().ConfigMap {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.states {
		due = append(due, reconcile.Request{NamespacedName: key})
	}
	return due
}

func (w *state) soil(key types.NamespacedName, machine string) reconcile.Request {
	if w.dirty == nil {
		w.dirty = map[string]bool{}
	}
	w.dirty[machine] = true
	return reconcile.Request{NamespacedName: key}
}

// Setup is how a [Reconciler] is run.
type Setup struct {
	// MaxConcurrent is how many checks are reconciled concurrently; 10 by default.
	MaxConcurrent int
	// NodeCache is watched for nodes.
	NodeCache cache.Cache
}

// SetupWithManager registers the watches.
func (r *Reconciler[C]) SetupWithManager(mgr ctrl.Manager, s Setup) error {
	kind := r.lens.Traits().Kind
	if s.MaxConcurrent == 0 {
		s.MaxConcurrent = 10
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(kind.GroupKind().String())).
		Watches(r.lens.New(), enqueue.Func(r.Wakes)).
		WatchesRawSource(source.Kind[client.Object](s.NodeCache, &corev1.Node{}, r.Deletions.Watched(enqueue.Func(r.Wakes)))).
		WithOptions(controller.Options{MaxConcurrentReconciles: s.MaxConcurrent})
	for _, p := range r.Patients {
		b = b.Watches(p.Machine(), enqueue.Func(r.Wakes))
	}
	if r.lens.Traits().ReadsCommon {
		b = b.Watches(&corev1.ConfigMap{}, enqueue.Func(r.Wakes))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("set up %s: %w", kind.GroupKind(), err)
	}
	return nil
}
