package openshift

import (
	"fmt"
	"slices"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect"
)

// Record writes counters, selector and faults into the status of s. A failure to create or delete is also a
// condition of Millwright: its event expires after an hour, and a set whose machines a quota refuses waits
// for a user.
func (Sets) Record(s *machinev1.MachineSet, o dialect.SetOutcome) {
	st := &s.Status
	st.ObservedGeneration = s.Generation
	recordFaults(st, o)
	recordHeld(s, o)
	recordReplicaFailure(s, o)
	recordReady(s, o)
	if len(o.Faults) > 0 {
		return
	}
	st.Replicas = o.Tally.Replicas
	st.FullyLabeledReplicas = o.Tally.FullyLabeled
	st.ReadyReplicas = o.Tally.Ready
	st.AvailableReplicas = o.Tally.Available
	st.LabelSelector = metav1.FormatLabelSelector(&s.Spec.Selector)
}

func recordFaults(st *machinev1.MachineSetStatus, o dialect.SetOutcome) {
	if len(o.Faults) > 0 {
		st.ErrorReason = ptr.To(machinev1.InvalidConfigurationMachineSetError)
		st.ErrorMessage = ptr.To(o.Faults[0].String())
		return
	}
	if ptr.Deref(st.ErrorReason, "") == machinev1.InvalidConfigurationMachineSetError {
		st.ErrorReason, st.ErrorMessage = nil, nil
	}
}

// ReadyCondition summarizes for clients that know no other condition: exactly the wanted machines exist and
// are available. It follows from the rest of the status, and changes only with that.
const ReadyCondition machinev1.ConditionType = "Ready"

// reasonUnavailable is the reason of a valid set that is not ready.
const reasonUnavailable = "MachinesUnavailable"

func recordReady(s *machinev1.MachineSet, o dialect.SetOutcome) {
	c := condition(ReadyCondition, "", "", "")
	switch want, is := ptr.Deref(s.Spec.Replicas, 0), o.Tally; {
	case len(o.Faults) > 0:
		c = condition(ReadyCondition, ReasonInvalidSpec, machinev1.ConditionSeverityError, o.Faults[0].String())
	case is.Replicas != want || is.Available < want:
		c = condition(ReadyCondition, reasonUnavailable, machinev1.ConditionSeverityInfo,
			fmt.Sprintf("available machines: %d of %d; existing machines: %d", is.Available, want, is.Replicas))
	}
	i := slices.IndexFunc(s.Status.Conditions, func(o machinev1.Condition) bool { return o.Type == ReadyCondition })
	if i < 0 {
		i = len(s.Status.Conditions)
		s.Status.Conditions = append(s.Status.Conditions, machinev1.Condition{})
	}
	was := &s.Status.Conditions[i]
	if c.LastTransitionTime = was.LastTransitionTime; *was != c {
		c.LastTransitionTime = metav1.NewTime(o.Now).Rfc3339Copy()
		*was = c
	}
}

// HeldCondition is, with status True, on a set whose machines a guard holds; it is Millwright's, and absent
// otherwise. errorReason would not do: clients take that for a fault of the set.
const HeldCondition machinev1.ConditionType = dialect.HeldReason

func heldCondition(s *machinev1.MachineSet) *machinev1.Condition {
	i := slices.IndexFunc(s.Status.Conditions, func(c machinev1.Condition) bool {
		return c.Type == HeldCondition && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return nil
	}
	return &s.Status.Conditions[i]
}

// FailureCondition is, with status True, on a set whose last creation or deletion of a machine failed, as on
// sets of the other API; it is Millwright's, and absent otherwise.
const FailureCondition machinev1.ConditionType = "ReplicaFailure"

// Reasons of [FailureCondition].
const (
	failedCreate = "FailedCreate"
	failedDelete = "FailedDelete"
)

func recordReplicaFailure(s *machinev1.MachineSet, o dialect.SetOutcome) {
	st := &s.Status
	i := slices.IndexFunc(st.Conditions, func(c machinev1.Condition) bool { return c.Type == FailureCondition })
	switch {
	case o.Failure == nil && o.Held == "" && (!o.Judged || i < 0):
		return
	case o.Failure == nil && o.Held == "":
		st.Conditions = slices.Delete(st.Conditions, i, i+1)
		return
	case i < 0:
		i = len(st.Conditions)
		st.Conditions = append(st.Conditions, machinev1.Condition{Type: FailureCondition})
	}
	reason, message := dialect.GrowthReason, o.Held
	if o.Failure != nil {
		reason, message = failedDelete, o.Failure.Err.Error()
		if o.Failure.Creating {
			reason = failedCreate
		}
	}
	if was := &st.Conditions[i]; was.Reason == reason { // each attempt has another name in its message
		if o.Failure == nil {
			was.Message = message
		}
		return
	}
	st.Conditions[i] = condition(FailureCondition, reason, machinev1.ConditionSeverityWarning, message)
	st.Conditions[i].Status, st.Conditions[i].LastTransitionTime = corev1.ConditionTrue, metav1.NewTime(o.Now).Rfc3339Copy()
}

func recordHeld(s *machinev1.MachineSet, o dialect.SetOutcome) {
	st := &s.Status
	switch c := heldCondition(s); {
	case o.Withheld == "" && !o.Judged:
	case o.Withheld == "":
		if c != nil {
			st.Conditions = slices.DeleteFunc(st.Conditions, func(c machinev1.Condition) bool { return c.Type == HeldCondition })
		}
	case c != nil:
		c.Message = o.Withheld
	default:
		st.Conditions = append(st.Conditions, machinev1.Condition{
			Type: HeldCondition, Status: corev1.ConditionTrue, Severity: machinev1.ConditionSeverityWarning,
			LastTransitionTime: metav1.NewTime(o.Now).Rfc3339Copy(), Reason: massDeletion, Message: o.Withheld,
		})
	}
}

// massDeletion is the reason of held machines.
const massDeletion = "MassDeletion"
