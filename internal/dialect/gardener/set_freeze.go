package gardener

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/limits"
)

var _ dialect.Freezer[*v1alpha1.MachineSet] = Sets{}

// labelledFrozen reports whether a set or deployment has the label with its exact value. The label counts:
// the condition follows it, so that a crash between the two writes is corrected, and users can remove the
// label.
func labelledFrozen(o client.Object) bool {
	return o.GetLabels()[v1alpha1.LabelKeyFreeze] == v1alpha1.LabelValueTrue
}

// Parent implements [dialect.Freezer].
func (Sets) Parent() client.Object { return &v1alpha1.MachineDeployment{} }

// Crowd implements [dialect.Freezer].
func (Sets) Crowd(s *v1alpha1.MachineSet, parent client.Object, machines []client.Object) limits.Crowd {
	_, asked := s.Annotations[v1alpha1.AnnotationKeyUnfreeze]
	c := limits.Crowd{Replicas: int(s.Spec.Replicas), Frozen: labelledFrozen(s), Asked: asked}
	for _, m := range machines {
		// A machine that only finalizers of other programs hold has no instance any more.
		if m.GetDeletionTimestamp() == nil || controllerutil.ContainsFinalizer(m, v1alpha1.FinalizerMachine) {
			c.Machines++
		}
	}
	if d, ok := parent.(*v1alpha1.MachineDeployment); ok {
		c.Parent = &limits.Parent{Replicas: int(d.Spec.Replicas), Surge: toleratedSurge(&d.Spec.Strategy)}
	}
	return c
}

// toleratedSurge returns the surge of the strategy in force; nil if that has none.
func toleratedSurge(s *v1alpha1.MachineDeploymentStrategy) *intstr.IntOrString {
	switch {
	case s.Type == v1alpha1.RollingUpdateMachineDeploymentStrategyType && s.RollingUpdate != nil:
		return s.RollingUpdate.MaxSurge
	case s.Type == v1alpha1.InPlaceUpdateMachineDeploymentStrategyType && s.InPlaceUpdate != nil:
		return s.InPlaceUpdate.MaxSurge
	}
	return nil
}

// Freeze implements [dialect.Freezer].
func (Sets) Freeze(s *v1alpha1.MachineSet, frozen bool) {
	if !frozen {
		delete(s.Labels, v1alpha1.LabelKeyFreeze)
		delete(s.Annotations, v1alpha1.AnnotationKeyUnfreeze)
		return
	}
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	s.Labels[v1alpha1.LabelKeyFreeze] = v1alpha1.LabelValueTrue
}

// recordFrozen sets the condition by the label. Its message counts machines, and changes only when the status
// changes anyway.
func recordFrozen(s *v1alpha1.MachineSet, o dialect.SetOutcome) {
	st := &s.Status
	is := func(c v1alpha1.MachineSetCondition) bool { return c.Type == v1alpha1.MachineSetFrozen }
	i := slices.IndexFunc(st.Conditions, is)
	switch {
	case !labelledFrozen(s):
		if i >= 0 {
			st.Conditions = slices.DeleteFunc(st.Conditions, is)
		}
	case o.Frozen == "":
	case i >= 0 && st.Conditions[i].Status == v1alpha1.ConditionTrue:
		st.Conditions[i].Reason, st.Conditions[i].Message = v1alpha1.ReasonOverShootingReplicaCount, o.Frozen
	default:
		st.Conditions = append(slices.DeleteFunc(st.Conditions, is), v1alpha1.MachineSetCondition{
			Type: v1alpha1.MachineSetFrozen, Status: v1alpha1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(o.Now).Rfc3339Copy(),
			Reason:             v1alpha1.ReasonOverShootingReplicaCount, Message: o.Frozen,
		})
	}
}
