package gardener_test

import (
	"maps"
	"math/rand"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/dialecttest"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
)

// TestSetLaws holds the lens of sets to the laws.
func TestSetLaws(t *testing.T) {
	dialecttest.SetLaws[*v1alpha1.MachineSet]{
		Dialect: gardener.Sets{},
		Prepare: prepareSet,
		Machine: prepareMember,
		Owned: []string{
			"status.replicas", "status.fullyLabeledReplicas", "status.readyReplicas", "status.availableReplicas", "status.observedGeneration",
			"status.preservedFailedReplicas", "status.autoPreserveFailedMachineCount", "status.failedMachines", "status.labelSelector",
			"status.lastOperation.lastUpdateTime", "status.machineSetCondition[ReplicaFailure]", "status.machineSetCondition[Frozen]",
		},
		Handed: []string{"spec.class.kind", "spec.nodeTemplate", "spec.drainTimeout", "spec.healthTimeout", "spec.creationTimeout", "spec.nodeConditions", "spec.inPlaceUpdateTimeout", "spec.disableHealthTimeout", "spec.machinePreserveTimeout", "spec.maxEvictRetries"},
		Kept:   []string{"metadata.annotations[node.machine.sapcloud.io/preserve]"},
		Frozen: []string{"metadata.labels[freeze]", "metadata.annotations[safety.machine.sapcloud.io/unfreeze]"},
		Shows:  setShows,
		Tells:  setTells,
	}.Check(t)
}

func setShows(s *v1alpha1.MachineSet) dialecttest.SetShown {
	st := s.Status
	out := dialecttest.SetShown{Generation: st.ObservedGeneration, Selector: st.LabelSelector, Troubles: map[string]string{}}
	out.Tally.Replicas, out.Tally.FullyLabeled, out.Tally.Ready, out.Tally.Available = st.Replicas, st.FullyLabeledReplicas, st.ReadyReplicas, st.AvailableReplicas
	out.Tally.Kept, out.Tally.AutoKept = st.PreservedFailedReplicas, st.AutoPreserveFailedMachineCount
	if st.FailedMachines != nil {
		for _, m := range *st.FailedMachines {
			out.Troubles["machine "+m.Name] = m.ProviderID + " " + m.OwnerRef + " " + m.LastOperation.Description
		}
	}
	for _, c := range st.Conditions {
		out.Troubles[string(c.Type)] = c.Reason + ": " + c.Message
	}
	return out
}

// setTells: a failure is reported once, until it is replaced by another kind or ends.
func setTells(s *v1alpha1.MachineSet, o dialect.SetOutcome) dialecttest.SetShown {
	out := setShows(s)
	out.Generation = s.Generation
	failure, told := "", out.Troubles["ReplicaFailure"]
	switch {
	case len(o.Faults) > 0:
		failure = v1alpha1.ReasonFailedCreate + ": " + o.Faults[0].String()
	case o.Failure != nil && o.Failure.Creating:
		failure = v1alpha1.ReasonFailedCreate + ": " + o.Failure.Err.Error()
	case o.Failure != nil:
		failure = v1alpha1.ReasonFailedDelete + ": " + o.Failure.Err.Error()
	case o.Withheld != "":
		failure = dialect.HeldReason + ": " + o.Withheld
	}
	switch {
	case failure == "" && o.Judged:
		delete(out.Troubles, "ReplicaFailure")
	case failure == "", o.Failure != nil && len(told) > 12 && told[:12] == failure[:12]:
	default:
		out.Troubles["ReplicaFailure"] = failure
	}
	if frozen := s.Labels["freeze"] == "True"; !frozen {
		delete(out.Troubles, "Frozen")
	} else if o.Frozen != "" {
		out.Troubles["Frozen"] = v1alpha1.ReasonOverShootingReplicaCount + ": " + o.Frozen
	}
	if len(o.Faults) > 0 {
		return out
	}
	next := out.Tally.Next
	out.Tally, out.Selector = o.Tally, metav1.FormatLabelSelector(s.Spec.Selector)
	out.Tally.Next = next
	maps.DeleteFunc(out.Troubles, func(key, _ string) bool { return strings.HasPrefix(key, "machine ") })
	for _, obj := range o.Machines {
		m := obj.(*v1alpha1.Machine)
		preserved := m.Status.CurrentStatus.Phase == "Failed" && m.Status.CurrentStatus.PreserveExpiryTime != nil
		if m.Status.LastOperation.State == "Failed" && !preserved {
			out.Troubles["machine "+m.Name] = m.Spec.ProviderID + " " + s.Name + " " + m.Status.LastOperation.Description
		}
	}
	return out
}

var pools = []map[string]string{{"pool": "a"}, {"pool": "a", "tier": "x"}, {"pool": "b"}}

func prepareSet(s *v1alpha1.MachineSet, r *rand.Rand) {
	s.Spec.Replicas = int32(r.Intn(5) - r.Intn(2))
	s.Spec.Selector = &metav1.LabelSelector{MatchLabels: pools[0]}
	s.Spec.Template.Labels = pools[r.Intn(3)%(1+r.Intn(3))]
	s.Spec.Template.Spec.Class = v1alpha1.ClassSpec{APIGroup: "machine.sapcloud.io", Kind: "MachineClass", Name: "pool"}
	if r.Intn(9) == 0 {
		s.Spec.Template.Spec.Class.Name = ""
	}
	if s.Labels = nil; r.Intn(2) == 0 {
		s.Labels = map[string]string{"freeze": []string{"True", "no"}[r.Intn(2)]}
	}
	if r.Intn(3) == 0 {
		s.Annotations = map[string]string{v1alpha1.AnnotationKeyEffectiveCreationTimeout: "3m", "safety.machine.sapcloud.io/unfreeze": ""}
	}
	put := func(t v1alpha1.MachineSetConditionType, reasons ...string) {
		if r.Intn(3) == 0 {
			s.Status.Conditions = append(s.Status.Conditions, v1alpha1.MachineSetCondition{Type: t, Status: "True", Reason: reasons[r.Intn(len(reasons))], Message: "as before"})
		}
	}
	put("ReplicaFailure", "FailedCreate", "FailedDelete", dialect.HeldReason)
	put("Frozen", "OverShootingReplicaCount")
}

func prepareMember(o client.Object, r *rand.Rand) {
	m := o.(*v1alpha1.Machine)
	if prepare(m, r); r.Intn(2) == 0 {
		m.Labels = pools[r.Intn(3)]
	}
	if r.Intn(2) == 0 {
		m.Status.LastOperation.State = v1alpha1.MachineStateFailed
	}
}
