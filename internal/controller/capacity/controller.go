// Package capacity shows the autoscaler the size of the machines of a machine.openshift.io MachineSet or
// MachineDeployment, so that it can scale them from zero. It writes the answer of the provider's
// [provider.Sizer] as annotations.
//
// The autoscaler reads the object that it scales. It scales a deployment, not the sets of the deployment,
// which it skips by their controller reference. This controller skips them too, which saves a write for
// each set of a rollout. A set keeps the annotations that it had before a deployment adopted it; they are
// brought up to date when the deployment releases it.
package capacity

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/provider"
)

// SlowRetry is the pause after a failure that only the user or the operator of the infrastructure can fix,
// for example an unknown instance type, which may become known. A corrected secret is seen sooner.
const SlowRetry = 10 * time.Minute

// ConflictRetry is the pause after a conflict with another client's write.
const ConflictRetry = time.Second

// Bounds of the pause after a failure that may be temporary.
const (
	minRetry = time.Second
	maxRetry = 2 * time.Minute
)

// Options are what a [Reconciler] works with; all are required.
type Options struct {
	// Kind is the kind whose objects are annotated.
	Kind  dialect.Scaled
	Clock clock.PassiveClock
	// Client reads such objects from a cache and writes their annotations.
	Client client.Client
	// Resolver reads the class of each machine.
	Resolver dialect.Resolver[client.Object]
	// Provider sizes them. One without [provider.Sizer] leaves all sets alone.
	Provider provider.Provider
	Recorder events.EventRecorder
}

// Reconciler keeps the capacity annotations of one kind.
type Reconciler struct {
	Options

	mu sync.Mutex
	// told is the fault that was last reported, by object.
	told map[types.NamespacedName]string
	// waiters are the objects whose size could not be determined.
	waiters enqueue.Waiters
}

// New returns a reconciler.
func New(o Options) *Reconciler {
	return &Reconciler{Options: o, told: map[types.NamespacedName]string{}}
}

// Reconcile brings the annotations of one object in step with its template.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	o := r.Kind.New()
	err := r.Client.Get(ctx, req.NamespacedName, o)
	if apierrors.IsNotFound(err) {
		r.tell(nil, req.NamespacedName, nil)
		r.waiters.Wait(req.NamespacedName, enqueue.Mark{})
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read what to annotate: %w", err)
	}
	if o.GetDeletionTimestamp() != nil || r.Kind.Left(o) {
		return reconcile.Result{}, nil
	}
	class, unread := r.Resolver.Class(ctx, r.Kind.Machine(o))
	size, known, err := r.size(ctx, class, unread)
	r.tell(o, req.NamespacedName, err)
	if err != nil {
		r.waiters.Wait(req.NamespacedName, enqueue.MarkOf(class, unread))
		return later(err)
	}
	r.waiters.Wait(req.NamespacedName, enqueue.Mark{})
	if !known {
		return reconcile.Result{}, nil
	}
	err = r.write(ctx, o, size)
	if apierrors.IsConflict(err) {
		// A write by another client is no failure, and may not start another pass: the watch filters out
		// most changes.
		return reconcile.Result{RequeueAfter: ConflictRetry}, nil
	}
	return reconcile.Result{}, err
}

// later retries a temporary failure soon, and a reported fault after SlowRetry.
func later(err error) (reconcile.Result, error) {
	if passing(err) {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: SlowRetry}, nil
}

// corrected are the objects whose class or credentials have changed since they failed.
func (r *Reconciler) corrected(ctx context.Context) []reconcile.Request {
	once := r.Resolver.Once()
	return r.waiters.Corrected(func(key types.NamespacedName, _ enqueue.Mark) (enqueue.Mark, bool) {
		o := r.Kind.New()
		if err := r.Client.Get(ctx, key, o); err != nil {
			return enqueue.Mark{}, false
		}
		return enqueue.MarkOf(once.Class(ctx, r.Kind.Machine(o))), true
	})
}

// size asks the provider; false if the provider cannot know. Unread is the error of the resolver.
func (r *Reconciler) size(ctx context.Context, class dialect.Class, unread error) (provider.Size, bool, error) {
	if unread != nil {
		// Every error of the resolver begins with the field of the machine.
		return provider.Size{}, false, fmt.Errorf("spec.template.%w", unread)
	}
	session, err := r.Provider.Open(ctx, class.Class)
	if err != nil {
		return provider.Size{}, false, inTemplate(class.Objection(err))
	}
	sizer, ok := provider.As[provider.Sizer](session)
	if !ok {
		return provider.Size{}, false, nil
	}
	size, err := sizer.Size(ctx)
	if err != nil {
		return provider.Size{}, false, fmt.Errorf("size of the machines: %w", inTemplate(class.Objection(err)))
	}
	return size, true, nil
}

// inTemplate completes the field path of an objection to a machine's spec.
func inTemplate(err error) error {
	if provider.KindOf(err) == provider.Invalid {
		return fmt.Errorf("spec.template.%w", err)
	}
	return err
}

// passing reports whether err may be temporary: a call failed, or the infrastructure or the API server
// asked to retry later.
func passing(err error) bool {
	if apierrors.IsNotFound(err) {
		return false
	}
	switch provider.KindOf(err) {
	case provider.Transient, provider.Throttled, provider.Conflict:
		return true
	}
	return false
}

// write patches the annotations that differ, if any.
func (r *Reconciler) write(ctx context.Context, o client.Object, size provider.Size) error {
	want := annotate(o.GetAnnotations(), size)
	if maps.Equal(want, o.GetAnnotations()) {
		return nil
	}
	after := o.DeepCopyObject().(client.Object)
	after.SetAnnotations(want)
	// The user may write the list of labels too: do not overwrite such a change.
	err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write capacity annotations: %w", err)
	}
	return nil
}

// tell reports an object's fault once, and forgets it when it is fixed.
func (r *Reconciler) tell(o client.Object, name types.NamespacedName, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		delete(r.told, name)
		return
	}
	if passing(err) || r.told[name] == err.Error() {
		return
	}
	r.told[name] = err.Error()
	r.Recorder.Eventf(o, nil, corev1.EventTypeWarning, "FailedUpdate", "Update", "Failed to set autoscaling from zero annotations, %s", provider.Clip(err.Error(), 900))
}

// SetupWithManager registers the watch.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named(r.Kind.Name()).
		For(r.Kind.New(), builder.WithPredicates(predicate.Funcs{UpdateFunc: r.changed})).
		WatchesRawSource(enqueue.Corrections(r.Clock, r.corrected)).
		WithOptions(controller.Options{
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minRetry, maxRetry),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the capacity controller: %w", err)
	}
	return nil
}

// changed filters out changes that do not affect the size of a machine.
func (r *Reconciler) changed(e event.UpdateEvent) bool {
	return r.Kind.Differ(e.ObjectOld, e.ObjectNew)
}
