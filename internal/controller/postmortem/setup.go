package postmortem

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/millwright-dev/millwright/internal/dialect/departures"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// workers is how many machines are reconciled concurrently. In a storm most of them leave no evidence.
const workers = 5

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// SetupWithManager adds the recorder to the manager: it watches the machines of the manager's cache, and
// sweeps once an hour.
func (k *Recorder[M]) SetupWithManager(mgr manager.Manager) error {
	c, err := controller.New("evidence."+k.Dialect.API(), mgr, controller.Options{
		Reconciler: k, MaxConcurrentReconciles: workers,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute),
	})
	if err != nil {
		return fmt.Errorf("set up the keeper of evidence: %w", err)
	}
	if err := c.Watch(source.Kind[client.Object](mgr.GetCache(), k.Dialect.New(), k.Handler())); err != nil {
		return fmt.Errorf("watch machines for evidence: %w", err)
	}
	return mgr.Add(k)
}

// Handler passes machines that may leave evidence: those that failed, and those whose deletion begins. It
// notes their former stage.
func (k *Recorder[M]) Handler() handler.EventHandler {
	pass := func(o client.Object, q queue) {
		m, ok := o.(M)
		if ok && k.concerns(m) && !k.memory.judged(m.GetUID()) {
			q.Add(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(m)})
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { pass(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			k.compare(e.ObjectOld, e.ObjectNew)
			pass(e.ObjectNew, q)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) {
			k.memory.forget(e.Object.GetUID())
			k.leaving.end(k.Clock.Now(), departures.Of(e.Object, nil))
		},
	}
}

func (k *Recorder[M]) concerns(m M) bool {
	return m.GetDeletionTimestamp() != nil || k.Dialect.View(m).Stage == lifecycle.StageFailed
}

// compare notes the stage of a machine before its deletion.
func (k *Recorder[M]) compare(before, after client.Object) {
	old, ok := before.(M)
	if ok && before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil {
		k.memory.leaves(after.GetUID(), k.Dialect.View(old).Stage)
	}
}
