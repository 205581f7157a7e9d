package gardener_test

import (
	"math/rand"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/dialecttest"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestMachineLaws holds the lens to the laws. The paths are the complete list
// of what this dialect writes into a machine.
func TestMachineLaws(t *testing.T) {
	dialecttest.Laws[*v1alpha1.Machine]{
		Dialect:   gardener.Machines{Defaults: gardener.StandardDefaults()},
		Prepare:   prepareWhole,
		Finalizer: "machine.sapcloud.io/machine-controller-manager",
		Objects:   4000, // of 2,000, none is preserved with a node that has to be drained
		Owned: []string{
			"metadata.labels[node]",
			"metadata.annotations[millwright.dev/origin]", "metadata.annotations[millwright.dev/reboot]",
			"metadata.annotations[millwright.dev/unrecorded-instances]", "metadata.annotations[millwright.dev/instance-stopped]",
			"metadata.annotations[machinepriority.machine.sapcloud.io]",
			"metadata.annotations[node.machine.sapcloud.io/preserve]",
			"metadata.annotations[node.machine.sapcloud.io/last-applied-node-preserve-value]",
			"spec.providerID",
			"status.addresses", "status.conditions", "status.lastKnownState", "status.lastOperation", "status.currentStatus",
		},
		Kept: []string{"metadata.labels[node]", "spec.providerID", "status.lastKnownState"},
		Stages: map[lifecycle.Stage]lifecycle.Stage{
			lifecycle.StageCreating: lifecycle.StageJoining,
		},
		Addresses: func(o lifecycle.Outcome, i provider.Instance) []corev1.NodeAddress {
			if o.Stage != lifecycle.StageDetached || len(i.Addresses) == 0 {
				return nil // its node has them
			}
			out := slices.Clone(i.Addresses) // by type
			if slices.Reverse(out); i.NodeName != "" {
				out = slices.Insert(out, 1, corev1.NodeAddress{Type: corev1.NodeHostName, Address: i.NodeName})
			}
			return out
		},
	}.Check(t)
}

func prepare(m *v1alpha1.Machine, r *rand.Rand) {
	phases := []v1alpha1.MachinePhase{
		"", "Pending", "Available", "Running", "Terminating", "Unknown", "Failed", "CrashLoopBackOff",
		"InPlaceUpdating", "InPlaceUpdateSuccessful", "InPlaceUpdateFailed",
	}
	m.Status.CurrentStatus.Phase = phases[r.Intn(len(phases))]
	if r.Intn(4) > 0 {
		m.Spec.Class = v1alpha1.ClassSpec{APIGroup: "machine.sapcloud.io", Kind: "MachineClass", Name: "pool"}
	}
	if r.Intn(2) == 0 {
		m.Spec.ProviderID = ""
	}
	m.Labels = []map[string]string{nil, {"a": "b"}, {"node": "node-0"}, {"force-deletion": "True"}}[r.Intn(4)]
	if r.Intn(3) == 0 {
		m.Annotations = map[string]string{dialect.AbandonAnnotation: "", "machinepriority.machine.sapcloud.io": "1"}
	}
	if r.Intn(2) == 0 {
		m.Spec.MachineConfiguration = nil
	}
	for _, step := range lifecycle.DeletionSteps {
		if r.Intn(3) == 0 { // some of them older than the deletion, as of an object that was restored from a backup
			m.Status.Conditions = append(m.Status.Conditions, corev1.NodeCondition{
				Type: corev1.NodeConditionType(dialect.StartedCondition(step)), Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(dialecttest.Now.Add(-time.Duration(r.Intn(400)) * time.Second)),
			})
		}
	}
	values := []string{"", "now", "when-failed", "auto-preserved", "false", "please"}
	for _, key := range []string{"node.machine.sapcloud.io/preserve", "node.machine.sapcloud.io/last-applied-node-preserve-value"} {
		if r.Intn(3) == 0 {
			metav1.SetMetaDataAnnotation(&m.ObjectMeta, key, values[r.Intn(len(values))])
		}
	}
}

// prepareWhole prepares a machine that may be preserved, may have been, or has not been yet.
func prepareWhole(m *v1alpha1.Machine, r *rand.Rand) {
	prepare(m, r)
	switch r.Intn(3) { // else it is over
	case 0:
		m.Status.CurrentStatus.PreserveExpiryTime = nil
	case 1:
		m.Status.CurrentStatus.PreserveExpiryTime = &metav1.Time{Time: dialecttest.Now.Add(time.Hour)}
	}
}
