// Package controlplanemachineset replaces the machines of a control plane, one index at a time, and generates the object for that.
//
// One pass reads everything from the API server: the set, its machines, the Infrastructure. There are few machines, and the decisions depend on
// recent facts. Package controlplane decides. The pass stores the status, and then creates and deletes machines. The
// name of a new machine follows from the version of the set that this pass has stored, so a repeated creation fails with AlreadyExists: a lost reply, a
// restart or a conflict creates no second machine.
//
// docs/originals/controlplanemachineset.md describes the replaced operator.
package controlplanemachineset

import (
	"context"
	"errors"
	"fmt"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/engine/controlplane"
)

// Names that clients know.
const (
	// Name is that of the only object.
	Name = "cluster"
	// Lease is the lease of both controllers.
	Lease = "control-plane-machine-set-leader"
	// Finalizer is that of the object.
	Finalizer = "controlplanemachineset.machine.openshift.io"
	// Source is the source of events.
	Source = "control-plane-machine-set-controller"
	// OperatorName is the name of the ClusterOperator, and of the program.
	OperatorName = "control-plane-machine-set"
)

// Kind is the kind of the object.
var Kind = machinev1.GroupVersion.WithKind("ControlPlaneMachineSet")

// AddToScheme adds the types that the controllers read and write, except those of machines and of Kubernetes.
func AddToScheme(s *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{machinev1.Install, configv1.Install} {
		if err := add(s); err != nil {
			return err
		}
	}
	return nil
}

// Filler returns the provider spec of a machine with the defaults that webhooks fill in. An empty platform is unknown.
type Filler func(configv1.PlatformType, *machinev1beta1.Machine) ([]byte, error)

// Options are the options of the controllers.
type Options struct {
	// Client writes, while the process leads. Live reads from the API server. Both are required, with the types of [AddToScheme].
	Client client.Client
	Live   client.Reader
	// Nodes reads the nodes of the cluster that machines join; a cache is sufficient. Required.
	Nodes client.Reader
	// Namespace is that of the set and its machines.
	Namespace string
	// Defaults returns the defaults that apply at the time of a pass. An error ends the pass: without defaults, machines seem to be outdated. Nil: there are no defaults.
	Defaults func(context.Context) (Filler, error)
	Recorder events.EventRecorder
	// Release is the version that the ClusterOperator shows.
	Release string
	// Clock is the real one by default.
	Clock clock.PassiveClock
}

// complete fills in the optional fields.
func (o Options) complete() Options {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Defaults == nil {
		o.Defaults = func(context.Context) (Filler, error) {
			return func(_ configv1.PlatformType, m *machinev1beta1.Machine) ([]byte, error) {
				return m.Spec.ProviderSpec.Value.Raw, nil
			}, nil
		}
	}
	return o
}

// infrastructure reads the Infrastructure of the cluster; nil if it has none.
func (o Options) infrastructure(ctx context.Context) (*configv1.Infrastructure, error) {
	in := &configv1.Infrastructure{}
	err := o.Live.Get(ctx, client.ObjectKey{Name: Name}, in)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("error getting infrastructure resource: %w", err)
	}
	return in, nil
}

// absent reports whether an object or its kind does not exist.
func absent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// Reconciler creates and deletes machines for the set. Only one pass may run at a time.
type Reconciler struct {
	Options
	// failing counts the last failures. A restart begins again.
	failing failures
	// waits is the reason of each index that was last logged.
	waits map[int32]controlplane.Reason
}

// New returns a reconciler.
func New(o Options) *Reconciler {
	return &Reconciler{Options: o.complete(), waits: map[int32]controlplane.Reason{}}
}

// Reconcile makes one pass over the set.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	set := &machinev1.ControlPlaneMachineSet{}
	if err := r.Live.Get(ctx, req.NamespacedName, set); err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, r.reportOperator(ctx, nil)
		}
		return reconcile.Result{}, fmt.Errorf("read the control plane machine set: %w", err)
	}
	if set.DeletionTimestamp != nil {
		return r.settled(ctx, 0, r.release(ctx, set))
	}
	if !controllerutil.ContainsFinalizer(set, Finalizer) {
		if err := r.patch(ctx, set, func() { controllerutil.AddFinalizer(set, Finalizer) }); err != nil {
			return r.settled(ctx, 0, fmt.Errorf("add the finalizer: %w", err))
		}
	}
	reported := r.failing.tooMany()
	again, err := r.pass(ctx, set)
	r.failing.note(err, r.Clock.Now())
	if reported || r.failing.tooMany() {
		err = errors.Join(err, r.record(ctx, set, nil), r.reportOperator(ctx, set))
	}
	return r.settled(ctx, again, err)
}

// settled ends a pass. After a conflict, the pass is repeated without an error: another client has written meanwhile.
func (r *Reconciler) settled(ctx context.Context, again time.Duration, err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		log.FromContext(ctx).V(1).Info("Another client wrote first", "error", err.Error())
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	}
	return reconcile.Result{RequeueAfter: again}, err
}

const conflictPause = 100 * time.Millisecond

// pass decides once and carries out the steps. It returns when to decide again without an event; 0: never.
func (r *Reconciler) pass(ctx context.Context, set *machinev1.ControlPlaneMachineSet) (again time.Duration, err error) {
	s, err := r.observe(ctx, set)
	if err != nil {
		return 0, err
	}
	plan := controlplane.Decide(s.facts)
	if err := r.record(ctx, set, &plan.Status); err != nil {
		return 0, err
	}
	if err := r.reportOperator(ctx, set); err != nil {
		return 0, err
	}
	if !s.facts.Active {
		return s.recheck, nil
	}
	if err := r.adopt(ctx, set, s); err != nil {
		return 0, err
	}
	again = s.recheck
	for _, d := range plan.Decisions {
		r.tell(ctx, d, s)
		if d.Step != controlplane.Keep {
			again = controlplane.PollPeriod
		}
		if err := r.act(ctx, set, s, d); err != nil {
			return 0, err
		}
	}
	return again, nil
}

// tell logs the reason of an index when it changes.
func (r *Reconciler) tell(ctx context.Context, d controlplane.Decision, s *sight) {
	if r.waits[d.Index] == d.Reason {
		return
	}
	r.waits[d.Index] = d.Reason
	values := []any{"index", d.Index, "step", d.Step, "reason", d.Reason}
	if d.Machine != "" {
		values = append(values, "machine", d.Machine)
	}
	for _, m := range s.machines {
		if diff := s.diffs[m.Name]; s.indexes[m.Name] == d.Index && len(diff) > 0 {
			values = append(values, "diff of "+m.Name, diff)
		}
	}
	log.FromContext(ctx).Info("Decided", values...)
}

// patch writes changes of the set, if no other client has written meanwhile.
func (r *Reconciler) patch(ctx context.Context, o client.Object, change func()) error {
	before := o.DeepCopyObject().(client.Object)
	change()
	return r.Client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// event records an event on the set.
func (r *Reconciler) event(set *machinev1.ControlPlaneMachineSet, reason, action, note string) {
	if gvk, err := apiutil.GVKForObject(set, r.Client.Scheme()); err == nil {
		set.SetGroupVersionKind(gvk)
	}
	r.Recorder.Eventf(set, nil, corev1.EventTypeNormal, reason, action, "%s", note)
}

// reference is the owner reference of the machines of a set.
func reference(set *machinev1.ControlPlaneMachineSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(set, Kind)
}
