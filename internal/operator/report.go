package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/operator/operands"
	"github.com/millwright-dev/millwright/internal/operator/verdict"
)

// report stores the result of one pass.
type report struct {
	reporter verdict.Reporter
	before   configv1.ClusterOperatorStatus
	about    client.Object
	events   record.EventRecorder
	// places store a status, the first that may; empty: there is no place.
	places []func(context.Context, configv1.ClusterOperatorStatus) error
	// refused says that the last report could not be stored in its proper place.
	refused bool
	// remember takes the report, and whether it was refused.
	remember func(s configv1.ClusterOperatorStatus, refused bool)
}

// say stores a status that has changed, and then records the changes as events. If no status may be stored,
// events still report it.
func (r *report) say(ctx context.Context, s configv1.ClusterOperatorStatus, events []verdict.Event) error {
	if equality.Semantic.DeepEqual(s, r.before) && !r.refused {
		return nil
	}
	refusal, err := r.store(ctx, s)
	if err != nil {
		return fmt.Errorf("tell how the operator is: %w", err)
	}
	r.before, r.refused = s, refusal != nil
	r.remember(s, r.refused)
	for _, e := range events {
		r.events.Event(r.about, e.Type, e.Reason, e.Message)
	}
	if refusal != nil {
		return fmt.Errorf("tell how the operator is: %w", refusal)
	}
	return nil
}

// store stores a status in the first place that may be written, and returns the errors of the places before
// it.
func (r *report) store(ctx context.Context, s configv1.ClusterOperatorStatus) (refusal, err error) {
	var refused []error
	for _, write := range r.places {
		err := write(ctx, s)
		if err == nil {
			break
		}
		if !apierrors.IsForbidden(err) {
			return nil, err
		}
		refused = append(refused, err)
	}
	return errors.Join(refused...), nil
}

// report finds the place for the report: ClusterOperator machine-api, or the operator's own Deployment if
// there is no such kind, or no right to it. With an error nothing can be stored, and this process only
// remembers its last report.
func (o *Operator) report(ctx context.Context, g groups) (*report, error) {
	r := &report{reporter: o.reporter(), before: o.said, refused: o.refused, events: o.Events}
	r.remember = func(s configv1.ClusterOperatorStatus, refused bool) { o.said, o.refused = s, refused }
	if !g.openshift() {
		return r, o.onItself(ctx, r)
	}
	co, err := o.clusterOperator(ctx)
	switch {
	case co != nil:
		r.about = co
		if !o.refused {
			r.before = *co.Status.DeepCopy()
		}
		r.places = append(r.places,
			func(ctx context.Context, s configv1.ClusterOperatorStatus) error {
				return o.storeOnClusterOperator(ctx, co, s)
			},
			func(ctx context.Context, s configv1.ClusterOperatorStatus) error { return o.storeOnItself(ctx, s) })
		return r, nil
	case missing(err):
		return r, o.onItself(ctx, r)
	case apierrors.IsForbidden(err):
		return r, errors.Join(err, o.onItself(ctx, r))
	}
	r.about = o.self()
	return r, err
}

func (o *Operator) storeOnClusterOperator(ctx context.Context, co *configv1.ClusterOperator, s configv1.ClusterOperatorStatus) error {
	patch := func() error {
		was := co.DeepCopy()
		co.Status = s
		err := o.Client.Status().Patch(ctx, co, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}))
		if err != nil {
			co.Status = was.Status
		}
		return err
	}
	update := func() error {
		live := co.DeepCopy()
		live.Status = s
		err := o.Client.Status().Update(ctx, live)
		if err == nil {
			live.DeepCopyInto(co)
		}
		return err
	}
	return o.ways.patchOr("ClusterOperator/status", patch, update)
}

func missing(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// clusterOperator reads ClusterOperator machine-api, and creates it if it does not exist.
func (o *Operator) clusterOperator(ctx context.Context) (*configv1.ClusterOperator, error) {
	co := &configv1.ClusterOperator{}
	co.Name = operands.WebhooksName
	err := o.Client.Get(ctx, client.ObjectKeyFromObject(co), co)
	if apierrors.IsNotFound(err) {
		err = o.Client.Create(ctx, co)
	}
	if err != nil {
		return nil, fmt.Errorf("read or make ClusterOperator %s: %w", operands.WebhooksName, err)
	}
	return co, nil
}

func (o *Operator) self() *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: Name}}
	d.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	return d
}

// ownPrefix begins the types of conditions on the operator's own Deployment: types without it are about its
// pods.
const ownPrefix = "Operands"

// onItself reports on the operator's own Deployment, if it has one, and remembers the version that was
// reached.
func (o *Operator) onItself(ctx context.Context, r *report) error {
	d := o.self()
	r.about = d
	err := o.Client.Get(ctx, client.ObjectKeyFromObject(d), d)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Deployment %s: %w", Name, err)
	}
	if !o.refused {
		r.before.Conditions = fromDeployment(d.Status.Conditions)
	}
	r.places = append(r.places, o.storeOnItself)
	return nil
}

// storeOnItself stores a status on the operator's own Deployment, if it has one.
func (o *Operator) storeOnItself(ctx context.Context, s configv1.ClusterOperatorStatus) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		d := o.self()
		if err := o.Client.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return client.IgnoreNotFound(err)
		}
		was := d.DeepCopy()
		d.Status.Conditions = toDeployment(d.Status.Conditions, s.Conditions)
		if equality.Semantic.DeepEqual(was.Status, d.Status) {
			return nil
		}
		return o.ways.patchOr("Deployment/status",
			func() error { return o.Client.Status().Patch(ctx, d.DeepCopy(), client.StrategicMergeFrom(was)) },
			func() error { return o.Client.Status().Update(ctx, d) })
	})
}

func fromDeployment(all []appsv1.DeploymentCondition) (out []configv1.ClusterOperatorStatusCondition) {
	for _, c := range all {
		kind, ours := strings.CutPrefix(string(c.Type), ownPrefix)
		if !ours {
			continue
		}
		out = append(out, configv1.ClusterOperatorStatusCondition{
			Type: configv1.ClusterStatusConditionType(kind), Status: configv1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime,
		})
	}
	return out
}

func toDeployment(all []appsv1.DeploymentCondition, say []configv1.ClusterOperatorStatusCondition) []appsv1.DeploymentCondition {
	out := slices.Clone(all)
	for _, s := range say {
		c := appsv1.DeploymentCondition{
			Type: appsv1.DeploymentConditionType(ownPrefix + string(s.Type)), Status: corev1.ConditionStatus(s.Status), Reason: s.Reason, Message: s.Message,
			LastTransitionTime: s.LastTransitionTime, LastUpdateTime: s.LastTransitionTime,
		}
		i := slices.IndexFunc(out, func(old appsv1.DeploymentCondition) bool { return old.Type == c.Type })
		if i < 0 {
			out = append(out, c)
		} else {
			out[i] = c
		}
	}
	return out
}
