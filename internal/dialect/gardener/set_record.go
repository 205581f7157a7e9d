package gardener

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// Record writes counters, failed machines and the conditions ReplicaFailure and Frozen into the status of s.
// The time of the last operation changes only with another field, so that a status at rest is not written.
// The label selector does not change it: the CRD of the original does not store that field.
func (Sets) Record(s *v1alpha1.MachineSet, o dialect.SetOutcome) {
	before := s.Status.DeepCopy()
	st := &s.Status
	st.ObservedGeneration = s.Generation
	recordReplicaFailure(st, o)
	recordFrozen(s, o)
	if len(o.Faults) == 0 {
		recordMembers(s, o)
	}
	if !equality.Semantic.DeepEqual(before, st) {
		st.LastOperation.LastUpdateTime = metav1.NewTime(o.Now).Rfc3339Copy()
	}
	if len(o.Faults) == 0 {
		st.LabelSelector = metav1.FormatLabelSelector(s.Spec.Selector)
	}
}

func recordMembers(s *v1alpha1.MachineSet, o dialect.SetOutcome) {
	st := &s.Status
	st.Replicas = o.Tally.Replicas
	st.FullyLabeledReplicas = o.Tally.FullyLabeled
	st.ReadyReplicas = o.Tally.Ready
	st.AvailableReplicas = o.Tally.Available
	st.PreservedFailedReplicas = o.Tally.Kept
	st.AutoPreserveFailedMachineCount = o.Tally.AutoKept
	st.FailedMachines = failedMachines(s, o)
}

// failedMachines returns the machines whose last operation failed, by name; nil if none exist. Failed
// machines that are kept for inspection do not count.
func failedMachines(s *v1alpha1.MachineSet, o dialect.SetOutcome) *[]v1alpha1.MachineSummary {
	var out []v1alpha1.MachineSummary
	for _, obj := range o.Machines {
		m := obj.(*v1alpha1.Machine)
		kept := m.Status.CurrentStatus.Phase == v1alpha1.MachineFailed && m.Status.CurrentStatus.PreserveExpiryTime != nil
		if m.Status.LastOperation.State != v1alpha1.MachineStateFailed || kept {
			continue
		}
		out = append(out, v1alpha1.MachineSummary{
			Name: m.Name, ProviderID: m.Spec.ProviderID, LastOperation: m.Status.LastOperation, OwnerRef: s.Name,
		})
	}
	if out == nil {
		return nil
	}
	slices.SortFunc(out, func(a, b v1alpha1.MachineSummary) int { return cmp.Compare(a.Name, b.Name) })
	return &out
}

// recordReplicaFailure sets the condition once for a failure of one kind, and removes it after a successful
// pass. A fault of the object counts as a failure to create, and a deletion that a guard holds as its own
// kind.
func recordReplicaFailure(st *v1alpha1.MachineSetStatus, o dialect.SetOutcome) {
	reason, message := replicaFailure(o)
	i := slices.IndexFunc(st.Conditions, func(c v1alpha1.MachineSetCondition) bool {
		return c.Type == v1alpha1.MachineSetReplicaFailure
	})
	switch {
	case reason == "" && !o.Judged:
		return
	case reason == "" && i >= 0:
		st.Conditions = slices.Delete(st.Conditions, i, i+1)
	case reason == "":
		return
	case i >= 0 && st.Conditions[i].Reason == reason && (reason == dialect.HeldReason || reason == dialect.GrowthReason):
		st.Conditions[i].Message = message // the message counts machines, and the wait continues
	case i >= 0 && st.Conditions[i].Reason == reason && len(o.Faults) == 0:
		return
	case i >= 0 && st.Conditions[i].Reason == reason && st.Conditions[i].Message == message:
		return
	default:
		st.Conditions = slices.DeleteFunc(st.Conditions, func(c v1alpha1.MachineSetCondition) bool {
			return c.Type == v1alpha1.MachineSetReplicaFailure
		})
		st.Conditions = append(st.Conditions, v1alpha1.MachineSetCondition{
			Type: v1alpha1.MachineSetReplicaFailure, Status: v1alpha1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(o.Now).Rfc3339Copy(), Reason: reason, Message: message,
		})
	}
}

func replicaFailure(o dialect.SetOutcome) (reason, message string) {
	switch {
	case len(o.Faults) > 0:
		return v1alpha1.ReasonFailedCreate, o.Faults[0].String()
	case o.Failure == nil && o.Withheld != "":
		return dialect.HeldReason, o.Withheld
	case o.Failure == nil && o.Held != "":
		return dialect.GrowthReason, o.Held
	case o.Failure == nil:
		return "", ""
	case o.Failure.Creating:
		return v1alpha1.ReasonFailedCreate, o.Failure.Err.Error()
	}
	return v1alpha1.ReasonFailedDelete, o.Failure.Err.Error()
}
