package controlplanemachineset

import (
	"context"
	"fmt"
	"time"

	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/controlplane"
)

// mostErrors is how many passes in a row may fail with the same error before a condition reports it.
const mostErrors = 15

// failures counts passes that failed with the same error, since a time.
type failures struct {
	text  string
	since time.Time
	times int
}

// note counts the error of a pass.
func (f *failures) note(err error, now time.Time) {
	switch {
	case err == nil:
		*f = failures{}
	case apierrors.IsConflict(err):
	case f.text == err.Error():
		f.times++
	default:
		f.text, f.since, f.times = err.Error(), now, 1
	}
}

// tooMany reports whether a condition has to report the error.
func (f *failures) tooMany() bool { return f.times >= mostErrors }

// record stores the status of the set if it has changed; a nil status stores only the condition Error.
func (r *Reconciler) record(ctx context.Context, set *machinev1.ControlPlaneMachineSet, s *controlplane.Status) error {
	before := set.DeepCopy()
	conditions := []metav1.Condition{r.failing.condition()}
	if s != nil {
		set.Status.ObservedGeneration = set.Generation
		set.Status.Replicas, set.Status.ReadyReplicas, set.Status.UpdatedReplicas, set.Status.UnavailableReplicas = s.Replicas, s.Ready, s.Updated, s.Unavailable
		conditions = append(s.Conditions, conditions...)
	}
	for _, c := range conditions {
		c.ObservedGeneration = set.Generation
		c.LastTransitionTime = metav1.NewTime(r.Clock.Now())
		meta.SetStatusCondition(&set.Status.Conditions, c)
	}
	if equality.Semantic.DeepEqual(before.Status, set.Status) {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, set, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

// condition is the condition Error.
func (f *failures) condition() metav1.Condition {
	if !f.tooMany() {
		return metav1.Condition{Type: controlplane.Error, Status: metav1.ConditionFalse, Reason: controlplane.AsExpected}
	}
	return metav1.Condition{
		Type: controlplane.Error, Status: metav1.ConditionTrue, Reason: controlplane.ContinuousErrors,
		Message: fmt.Sprintf("The control plane machine set has experienced the following error more than %d consecutive times since %s: %v", mostErrors, f.since, f.text),
	}
}
