// Package operator keeps the programs that run the controllers of machine.openshift.io in their intended
// state, and reports on them: package operands decides the intended objects, package verdict the report,
// and this package reads, applies and reports.
//
// There is one key, and it is never dropped: a failed pass is repeated for ever, at most half a minute
// later.
package operator

import (
	"context"
	"errors"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/operator/operands"
	"github.com/millwright-dev/millwright/internal/operator/verdict"
)

// Name is the name of the operator, of its lease, its Deployment, and of its field manager.
const Name = "machine-api-operator"

// resync is the time, up to twice that, after which a pass runs without an event.
const resync = 10 * time.Minute

// Options are the options of an operator.
type Options struct {
	// Client reads the API server and no cache: passes are rare.
	Client    client.Client
	Discovery discovery.ServerGroupsInterface
	Events    record.EventRecorder
	Clock     clock.PassiveClock
	// Namespace is that of the operands, and of the operator.
	Namespace string
	// Release is the version of the payload; empty: unknown.
	Release string
	// ImagesFile is read at each pass.
	ImagesFile string
	// Given are the facts of a cluster without config.openshift.io.
	Given Given
	// SawTLS receives the profile of the cluster at each pass; may be nil.
	SawTLS func(operands.TLS)
}

// Given are the facts about a cluster that does not report them itself.
type Given struct{ Platform, ClusterID string }

// Operator is the controller.
type Operator struct {
	Options
	// said is the last report, if the cluster keeps less than all of it.
	said configv1.ClusterOperatorStatus
	// refused says that said could not be stored in its proper place.
	refused bool
	ways    *ways
}

// New returns an operator.
func New(o Options) *Operator { return &Operator{Options: o, ways: &ways{clock: o.Clock}} }

// Scheme adds the types of config.openshift.io to a scheme.
func Scheme(to *runtime.Scheme) error { return configv1.Install(to) }

// Reconcile makes one pass. There is only one request.
func (o *Operator) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	groups, err := o.groups()
	if err != nil {
		return ctrl.Result{}, err
	}
	told, untold := o.report(ctx, groups)
	status, events := told.reporter.Progressing(told.before)
	untold = errors.Join(untold, told.say(ctx, status, events))
	after, message, err := o.pass(ctx, groups, status)
	if someIs(untold, apierrors.IsForbidden) {
		err = errors.Join(err, untold) // so that it is reported wherever possible
	}
	switch {
	case ctx.Err() != nil:
		return ctrl.Result{}, nil //nolint:nilerr // the process ends, which says nothing about the cluster
	case err != nil:
		status, events = told.reporter.Degraded(status, err, atOnce(err))
		untold = errors.Join(untold, told.say(ctx, status, events))
		if lacksMachines(err) {
			return ctrl.Result{RequeueAfter: verdict.ShortagePoll}, untold
		}
		return ctrl.Result{}, errors.Join(err, untold)
	case after > 0:
		ctrl.LoggerFrom(ctx).V(2).Info("Waiting", "for", message)
		return ctrl.Result{RequeueAfter: after}, untold
	}
	untold = errors.Join(untold, told.say(ctx, told.reporter.Available(status, message), nil))
	return ctrl.Result{RequeueAfter: wait.Jitter(resync, 1)}, untold
}

// pass brings the cluster to its intended state. Once that is done, after is 0 and the message describes
// it.
func (o *Operator) pass(ctx context.Context, groups groups, status configv1.ClusterOperatorStatus) (after time.Duration, message string, err error) {
	facts, err := o.observe(ctx, groups)
	if err != nil {
		return 0, "", err
	}
	if facts.Platform.NoOp() {
		return 0, verdict.NoOpMessage, nil
	}
	want, err := operands.Render(facts)
	if err != nil {
		return 0, "", err
	}
	if err := (applier{o.Client, o.ways}).applyAll(ctx, want); err != nil {
		return 0, "", err
	}
	w, err := o.rollout(ctx, want)
	if err != nil || w.After > 0 {
		return w.After, w.For, err
	}
	if verdict.Initializing(status) {
		if err := o.workers(ctx); err != nil {
			return 0, "", err
		}
	}
	return 0, o.reporter().AvailableMessage(), nil
}

func (o *Operator) reporter() verdict.Reporter {
	return verdict.Reporter{Now: o.Clock.Now(), Release: o.Release, Namespace: o.Namespace}
}

// lacksMachines reports whether only machines are missing, which appear without the operator.
func lacksMachines(err error) bool {
	var shortage *verdict.ShortageError
	return errors.As(err, &shortage)
}

// atOnce reports whether an error is permanent: invalid input, a missing right, a missing kind, or machines
// that are waited for.
func atOnce(err error) bool {
	var fault *operands.FaultError
	return errors.As(err, &fault) || lacksMachines(err) || someIs(err, apierrors.IsForbidden) || someIs(err, meta.IsNoMatchError)
}

// someIs reports whether a test holds for any of the errors that one consists of.
func someIs(err error, test func(error) bool) bool {
	if err == nil {
		return false
	}
	if test(err) {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // it is walked layer by layer
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if someIs(inner, test) {
				return true
			}
		}
	case interface{ Unwrap() error }:
		return someIs(e.Unwrap(), test)
	}
	return false
}

// rollout judges the existing operands.
func (o *Operator) rollout(ctx context.Context, want operands.Operands) (verdict.Wait, error) {
	d := &appsv1.Deployment{}
	there, err := get(ctx, o.Client, client.ObjectKeyFromObject(want.Controllers), d)
	if err != nil {
		return verdict.Wait{}, err
	}
	if !there {
		d = nil
	}
	w, err := verdict.Deployment(d, o.Clock.Now())
	if err != nil || w.After > 0 || want.Termination == nil {
		return w, err
	}
	ds := &appsv1.DaemonSet{}
	if there, err = get(ctx, o.Client, client.ObjectKeyFromObject(want.Termination), ds); err != nil {
		return verdict.Wait{}, err
	}
	if !there {
		ds = nil
	}
	return verdict.DaemonSet(ds)
}

// workers says why there are too few machines to call an installation done.
func (o *Operator) workers(ctx context.Context) error {
	var sets machinev1.MachineSetList
	var machines machinev1.MachineList
	in := client.InNamespace(o.Namespace)
	if err := errors.Join(o.Client.List(ctx, &sets, in), o.Client.List(ctx, &machines, in)); err != nil {
		return err
	}
	var s []verdict.Set
	for _, set := range sets.Items {
		s = append(s, verdict.Set{Name: set.Name, Replicas: set.Spec.Replicas, Selector: set.Spec.Selector})
	}
	var m []verdict.Machine
	for _, machine := range machines.Items {
		running := machine.Status.Phase != nil && *machine.Status.Phase == machinev1.PhaseRunning
		m = append(m, verdict.Machine{Name: machine.Name, Labels: machine.Labels, Running: running})
	}
	return verdict.Workers(s, m)
}
