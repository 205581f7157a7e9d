package openshift_test

import (
	"math/rand"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/dialecttest"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
)

// TestSetLaws holds the lens of sets to the laws.
func TestSetLaws(t *testing.T) {
	dialecttest.SetLaws[*machinev1.MachineSet]{
		Dialect: openshift.Sets{},
		Prepare: prepareSet,
		Machine: prepareMember,
		Owned: []string{
			"status.replicas", "status.fullyLabeledReplicas", "status.readyReplicas", "status.availableReplicas", "status.observedGeneration",
			"status.labelSelector", "status.errorReason", "status.errorMessage", "status.conditions[DeletionHeld]", "status.conditions[ReplicaFailure]", "status.conditions[Ready]",
		},
		Handed: []string{"metadata.labels", "metadata.annotations", "spec.metadata", "spec.taints"},
		Shows:  setShows,
		Tells: func(s *machinev1.MachineSet, o dialect.SetOutcome) dialecttest.SetShown {
			out := setShows(s)
			delete(out.Troubles, "unready")
			if out.Generation = s.Generation; len(o.Faults) > 0 {
				out.Troubles["fault"], out.Troubles["unready"] = o.Faults[0].String(), "InvalidSpec"
				return out
			}
			if want := *s.Spec.Replicas; o.Tally.Replicas != want || o.Tally.Available < want {
				out.Troubles["unready"] = "MachinesUnavailable"
			}
			delete(out.Troubles, "fault")
			out.Selector = metav1.FormatLabelSelector(&s.Spec.Selector)
			out.Tally.Replicas, out.Tally.FullyLabeled, out.Tally.Ready, out.Tally.Available = o.Tally.Replicas, o.Tally.FullyLabeled, o.Tally.Ready, o.Tally.Available
			if o.Withheld != "" {
				out.Troubles["held"] = o.Withheld
			} else if o.Judged {
				delete(out.Troubles, "held")
			}
			if f := o.Failure; f != nil {
				out.Troubles["failure"] = map[bool]string{true: "FailedCreate", false: "FailedDelete"}[f.Creating]
			} else if o.Judged {
				delete(out.Troubles, "failure")
			}
			return out
		},
	}.Check(t)
}

func setShows(s *machinev1.MachineSet) dialecttest.SetShown {
	st := s.Status
	out := dialecttest.SetShown{Generation: st.ObservedGeneration, Selector: st.LabelSelector, Troubles: map[string]string{}}
	out.Tally.Replicas, out.Tally.FullyLabeled, out.Tally.Ready, out.Tally.Available = st.Replicas, st.FullyLabeledReplicas, st.ReadyReplicas, st.AvailableReplicas
	if ptr.Deref(st.ErrorReason, "") == machinev1.InvalidConfigurationMachineSetError {
		out.Troubles["fault"] = ptr.Deref(st.ErrorMessage, "")
	}
	for _, c := range st.Conditions {
		if c.Type == openshift.HeldCondition && c.Status == "True" {
			out.Troubles["held"] = c.Message
		}
		if c.Type == openshift.FailureCondition {
			out.Troubles["failure"] = c.Reason
		}
		if c.Type == openshift.ReadyCondition && c.Status != "True" {
			out.Troubles["unready"] = c.Reason
		}
	}
	return out
}

var pools = []map[string]string{{"pool": "a"}, {"pool": "a", "tier": "x"}, {"pool": "b"}}

func prepareSet(s *machinev1.MachineSet, r *rand.Rand) {
	s.Spec.Replicas, s.Spec.DeletePolicy = ptr.To(int32(r.Intn(5)-r.Intn(2))), []string{"", "Random", "Newest", "Oldest"}[r.Intn(4)]
	s.Spec.Selector = metav1.LabelSelector{MatchLabels: pools[0]}
	s.Spec.Template.Labels = pools[r.Intn(3)%(1+r.Intn(3))]
	s.OwnerReferences = nil
	if r.Intn(2) == 0 {
		s.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1beta1.GroupVersion.String(), Kind: v1beta1.KindMachineDeployment, Name: "d", UID: "d-uid", Controller: ptr.To(true),
		}}
	}
	if r.Intn(3) == 0 {
		s.Status.ErrorReason = ptr.To(machinev1.InvalidConfigurationMachineSetError)
	}
	if r.Intn(3) == 0 {
		s.Status.Conditions = append(s.Status.Conditions, machinev1.Condition{Type: openshift.HeldCondition, Status: "True", Message: "2 of 2 members would go at once"})
	}
	if r.Intn(3) == 0 {
		s.Status.Conditions = append(s.Status.Conditions, machinev1.Condition{Type: openshift.FailureCondition, Status: "True", Reason: []string{"FailedCreate", "FailedDelete"}[r.Intn(2)], Message: "quota"})
	}
}

func prepareMember(o client.Object, r *rand.Rand) {
	m := o.(*machinev1.Machine)
	if prepare(m, r); r.Intn(2) == 0 {
		m.Labels = pools[r.Intn(3)]
	}
}
