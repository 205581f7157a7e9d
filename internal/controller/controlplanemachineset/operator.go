package controlplanemachineset

import (
	"context"
	"fmt"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/controlplane"
)

// reportOperator writes the status of the ClusterOperator, if the cluster has it; a nil set does not exist. The cluster version operator creates the object.
func (r *Reconciler) reportOperator(ctx context.Context, set *machinev1.ControlPlaneMachineSet) error {
	co := &configv1.ClusterOperator{}
	if err := r.Live.Get(ctx, client.ObjectKey{Name: OperatorName}, co); err != nil {
		if absent(err) {
			return nil
		}
		return fmt.Errorf("cannot get cluster operator: %w", err)
	}
	before := co.DeepCopy()
	for _, c := range operatorConditions(set) {
		setOperatorCondition(co, c, r.Clock.Now())
	}
	co.Status.Versions = []configv1.OperandVersion{{Name: "operator", Version: r.Release}}
	co.Status.RelatedObjects = []configv1.ObjectReference{
		{Resource: "namespaces", Name: r.Namespace},
		{Group: Kind.Group, Resource: "controlplanemachinesets"},
		{Group: Kind.Group, Resource: "machines"},
	}
	if equality.Semantic.DeepEqual(before.Status, co.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, co); err != nil {
		return fmt.Errorf("write the status of ClusterOperator %s: %w", OperatorName, err)
	}
	return nil
}

// operatorConditions are the conditions of the ClusterOperator. A set that is not active, or does not exist, is no fault. In contrast to the
// replaced operator, an error that ends every pass is a fault (K19).
func operatorConditions(set *machinev1.ControlPlaneMachineSet) []configv1.ClusterOperatorStatusCondition {
	say := func(kind configv1.ClusterStatusConditionType, status configv1.ConditionStatus, reason, message string) configv1.ClusterOperatorStatusCondition {
		return configv1.ClusterOperatorStatusCondition{Type: kind, Status: status, Reason: reason, Message: message}
	}
	if set == nil || set.Spec.State != machinev1.ControlPlaneMachineSetStateActive {
		return []configv1.ClusterOperatorStatusCondition{
			say(configv1.OperatorAvailable, configv1.ConditionTrue, controlplane.AsExpected, "cluster operator is available"),
			say(configv1.OperatorProgressing, configv1.ConditionFalse, controlplane.AsExpected, ""),
			say(configv1.OperatorDegraded, configv1.ConditionFalse, controlplane.AsExpected, ""),
			say(configv1.OperatorUpgradeable, configv1.ConditionTrue, controlplane.AsExpected, "cluster operator is upgradable"),
		}
	}
	upgradeable := say(configv1.OperatorUpgradeable, configv1.ConditionFalse, controlplane.AsExpected, "cluster operator is not upgradable")
	var out []configv1.ClusterOperatorStatusCondition
	for _, c := range set.Status.Conditions {
		switch {
		case c.Type == controlplane.Error && c.Status == metav1.ConditionTrue:
			out = append(out, say(configv1.OperatorDegraded, configv1.ConditionTrue, c.Reason, c.Message))
		case slices.Contains([]string{controlplane.Available, controlplane.Degraded, controlplane.Progressing}, c.Type):
			out = append(out, say(configv1.ClusterStatusConditionType(c.Type), configv1.ConditionStatus(c.Status), c.Reason, c.Message))
		}
		if c.Type == controlplane.Available && c.Status == metav1.ConditionTrue {
			upgradeable = say(configv1.OperatorUpgradeable, configv1.ConditionTrue, controlplane.AsExpected, "cluster operator is upgradable")
		}
	}
	return append(out, upgradeable)
}

// setOperatorCondition changes one condition; its time is that of the last change of its status.
func setOperatorCondition(co *configv1.ClusterOperator, to configv1.ClusterOperatorStatusCondition, now time.Time) {
	to.LastTransitionTime = metav1.NewTime(now)
	all := co.Status.Conditions
	i := slices.IndexFunc(all, func(c configv1.ClusterOperatorStatusCondition) bool { return c.Type == to.Type })
	if i < 0 {
		co.Status.Conditions = append(all, to)
		return
	}
	if all[i].Status == to.Status {
		to.LastTransitionTime = all[i].LastTransitionTime
	}
	all[i] = to
}
