package openshift_test

import (
	"math/rand"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/dialecttest"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestMachineLaws holds the lens to the laws. The paths are the complete list
// of what this dialect writes into a machine.
func TestMachineLaws(t *testing.T) {
	dialecttest.Laws[*machinev1.Machine]{
		Dialect:   openshift.Machines{},
		Prepare:   prepare,
		Finalizer: "machine.machine.openshift.io",
		Owned: []string{
			"metadata.labels[machine.openshift.io/instance-type]",
			"metadata.labels[machine.openshift.io/region]",
			"metadata.labels[machine.openshift.io/zone]",
			"metadata.labels[machine.openshift.io/interruptible-instance]",
			"metadata.annotations[machine.openshift.io/instance-state]",
			"metadata.annotations[millwright.dev/origin]", "metadata.annotations[millwright.dev/reboot]",
			"metadata.annotations[millwright.dev/unrecorded-instances]", "metadata.annotations[millwright.dev/instance-stopped]",
			"metadata.annotations[millwright.dev/cluster-defaults]",
			"spec.providerID",
			"spec.metadata.labels[machine.openshift.io/interruptible-instance]",
			"status.addresses", "status.nodeRef", "status.phase", "status.lastUpdated", "status.providerStatus",
			"status.errorReason", "status.errorMessage",
			"status.conditions[InstanceExists]", "status.conditions[Drainable]", "status.conditions[Terminable]", "status.conditions[Drained]", "status.conditions[NodeExists]", "status.conditions[InstanceRecord]", "status.conditions[NodeHealthy]",
			"status.conditions[PreDrainHookStarted]", "status.conditions[DisruptionBudgetStarted]", "status.conditions[DrainStarted]",
			"status.conditions[VolumeDetachStarted]", "status.conditions[PreTerminateHookStarted]",
			"status.conditions[InstanceDeletionStarted]", "status.conditions[NodeDeletionStarted]",
		},
		Kept: []string{"spec.providerID", "status.addresses", "status.nodeRef", "status.providerStatus", "status.errorMessage"},
		Stages: map[lifecycle.Stage]lifecycle.Stage{
			lifecycle.StageCrashing: lifecycle.StageCreating,
			lifecycle.StageDetached: lifecycle.StageJoining,
		},
		KeepsDrained: true, KeepsNodeUID: true, TellsWrites: true,
		Addresses: func(_ lifecycle.Outcome, i provider.Instance) []corev1.NodeAddress { return i.Addresses },
		Never:     []lifecycle.Step{lifecycle.MarkUpdate, lifecycle.Replace, lifecycle.StorePreservation, lifecycle.WarnOfDrain, lifecycle.MarkPreserved, lifecycle.DrainPreserved, lifecycle.TellPreserved},
	}.Check(t)
}

func prepare(m *machinev1.Machine, r *rand.Rand) {
	phases := []*string{nil, ptr.To("Provisioning"), ptr.To("Provisioned"), ptr.To("Running"), ptr.To("Failed"), ptr.To("Deleting")}
	m.Status.Phase = phases[r.Intn(len(phases))]
	if r.Intn(5) > 0 {
		m.Labels = map[string]string{"machine.openshift.io/cluster-api-cluster": "blue", "a": "b"}
	}
	if r.Intn(3) == 0 {
		m.Annotations = map[string]string{dialect.AbandonAnnotation: ""}
	}
	if r.Intn(2) == 0 {
		m.Spec.LifecycleHooks = machinev1.LifecycleHooks{}
	}
	if r.Intn(2) == 0 {
		m.Spec.ProviderID = nil
	}
	for _, step := range lifecycle.DeletionSteps {
		if r.Intn(3) == 0 { // some of them older than the deletion, as of an object that was restored from a backup
			m.Status.Conditions = append(m.Status.Conditions, machinev1.Condition{
				Type: machinev1.ConditionType(dialect.StartedCondition(step)), Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(dialecttest.Now.Add(-time.Duration(r.Intn(400)) * time.Second)),
			})
		}
	}
}
