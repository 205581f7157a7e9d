package openshift

import (
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect"
)

// Record writes counters, selector and faults into the status of s. A failure
// to create or delete has no place in the status of this API: it is an event.
func (Sets) Record(s *machinev1.MachineSet, o dialect.SetOutcome) {
	st := &s.Status
	st.ObservedGeneration = s.Generation
	recordFaults(st, o)
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
