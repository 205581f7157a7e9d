package gardener_test

import (
	"maps"
	"math/rand"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/dialecttest"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
)

// TestDeploymentLaws holds the lens of deployments to the laws.
func TestDeploymentLaws(t *testing.T) {
	dialecttest.DeploymentLaws[*v1alpha1.MachineDeployment, *v1alpha1.MachineSet]{
		Dialect: gardener.Deployments{},
		Prepare: prepareDeployment, Set: prepareOwnedSet, Machine: prepareMember, Node: prepareNode,
		Owned: []string{"status"},
		Amended: []string{
			"metadata.labels[freeze]", "metadata.annotations[deployment.kubernetes.io/revision]",
			"metadata.annotations[" + v1alpha1.AnnotationKeyTriggerDeletion + "]", "metadata.annotations[" + v1alpha1.AnnotationKeyUnfreeze + "]",
		},
		Returned: []string{"spec.rollbackTo", "spec.template", "metadata.annotations"},
		Applied: []string{
			"spec.replicas", "spec.minReadySeconds", "spec.autoPreserveFailedMachineMax", "spec.template.spec", "metadata.annotations",
			"metadata.labels[" + v1alpha1.LabelKeyScaleUpDisabled + "]",
		},
		Marked: []string{"metadata.annotations[" + v1alpha1.AnnotationKeyMachinePriority + "]", "metadata.annotations[" + v1alpha1.AnnotationKeyMarkedForDeletionTime + "]"},
		Moved:  []string{"metadata.labels", "metadata.ownerReferences"},
		Shows:  deploymentShows,
		Tells:  deploymentTells,
	}.Check(t)
}

// deploymentShows passes over the conditions that sum the others up, which are tested by situation.
func deploymentShows(d *v1alpha1.MachineDeployment) dialecttest.DeploymentShown {
	st := d.Status
	out := dialecttest.DeploymentShown{
		Generation: st.ObservedGeneration, Collisions: int64(ptr.Deref(st.CollisionCount, 0)), Selector: st.LabelSelector,
		Kept: int(st.PreservedFailedReplicas), Unavailable: int(st.UnavailableReplicas), Conditions: map[string]string{},
	}
	for _, c := range st.Conditions {
		if !slices.Contains([]v1alpha1.MachineDeploymentConditionType{"Progressing", "Reconciling", "Stalled"}, c.Type) {
			out.Conditions[string(c.Type)] = string(c.Status) + " " + c.Reason
		}
	}
	for _, m := range st.FailedMachines {
		out.Failed = append(out.Failed, m.Name)
	}
	return out
}

func deploymentTells(d *v1alpha1.MachineDeployment, o dialect.DeploymentOutcome[*v1alpha1.MachineSet]) dialecttest.DeploymentShown {
	out, st := deploymentShows(d), o.Plan.Status
	out.Generation = d.Generation
	if o.Collided {
		out.Collisions++
	}
	if st.Faulty {
		return out
	}
	out.Selector, out.Kept, out.Unavailable = gardener.Deployments{}.View(d, o.Now).Selector.String(), st.Kept, st.Unavailable
	out.Conditions["Available"] = map[bool]string{true: "True MinimumReplicasAvailable", false: "False MinimumReplicasUnavailable"}[st.Enough]
	if delete(out.Conditions, "ReplicaFailure"); st.Failure != nil {
		out.Conditions["ReplicaFailure"] = "True " + st.Failure.Reason
	}
	delete(out.Conditions, "Frozen")
	out.Failed = nil
	for _, s := range o.Sets {
		frozen, reason := s.Labels["freeze"] == "True", v1alpha1.ReasonMachineDeploymentStateSync
		for _, c := range s.Status.Conditions {
			if c.Type == v1alpha1.MachineSetFrozen && c.Status == "True" {
				frozen, reason = true, c.Reason
			}
		}
		if _, told := out.Conditions["Frozen"]; frozen && !told {
			out.Conditions["Frozen"] = "True " + reason
		}
		for _, m := range ptr.Deref(s.Status.FailedMachines, nil) {
			out.Failed = append(out.Failed, m.Name)
		}
	}
	slices.Sort(out.Failed)
	return out
}

func prepareDeployment(d *v1alpha1.MachineDeployment, r *rand.Rand) {
	d.Spec.Replicas = int32(r.Intn(5))
	d.Spec.RevisionHistoryLimit, d.Spec.ProgressDeadlineSeconds = ptr.To(int32(r.Intn(3))), ptr.To(int32(r.Intn(600)))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: maps.Clone(pools[0])}
	d.Spec.Template.Labels = maps.Clone(pools[r.Intn(2)])
	d.Spec.Template.Spec.Class = v1alpha1.ClassSpec{APIGroup: "machine.sapcloud.io", Kind: "MachineClass", Name: "pool"}
	bounds := v1alpha1.UpdateConfiguration{MaxSurge: ptr.To(intstr.FromString("25%")), MaxUnavailable: ptr.To(intstr.FromInt32(1))}
	d.Spec.Strategy = []v1alpha1.MachineDeploymentStrategy{
		{Type: "RollingUpdate", RollingUpdate: &v1alpha1.RollingUpdateMachineDeployment{UpdateConfiguration: bounds}},
		{Type: "InPlaceUpdate", InPlaceUpdate: &v1alpha1.InPlaceUpdateMachineDeployment{UpdateConfiguration: bounds, OrchestrationType: "Auto"}},
		{Type: "Recreate"},
	}[r.Intn(3)]
	switch r.Intn(8) {
	case 0:
		d.Spec.Selector = []*metav1.LabelSelector{nil, {}}[r.Intn(2)]
	case 1:
		d.Spec.Replicas = -1
	}
	d.Spec.Paused = r.Intn(4) == 0
	d.Status.CollisionCount = []*int32{nil, ptr.To(int32(r.Intn(3)))}[r.Intn(2)]
	d.Status.Replicas, d.Status.UpdatedReplicas = int32(r.Intn(9)), int32(r.Intn(9))
	d.Status.FailedMachines = slices.DeleteFunc(d.Status.FailedMachines, func(m *v1alpha1.MachineSummary) bool { return m == nil })
	if d.Annotations = nil; r.Intn(2) == 0 {
		d.Annotations = map[string]string{
			"deployment.kubernetes.io/revision": "2", dialect.EstimateAnnotation: "", "a": "b", dialect.CanaryAnnotation: "1",
			v1alpha1.AnnotationKeyTriggerDeletion: "m-0~2026-01-02T03:04:05Z,m-1,gone~2026-01-02T03:00:00Z", v1alpha1.AnnotationKeyUnfreeze: "",
		}
	}
	if d.Labels = nil; r.Intn(2) == 0 {
		d.Labels = map[string]string{"freeze": "True"}
	}
	first := r.Intn(5)
	for i := range d.Status.Conditions {
		c := &d.Status.Conditions[i]
		c.Type, c.Status, c.Reason = []v1alpha1.MachineDeploymentConditionType{"Progressing", "Available", "ReplicaFailure", "Frozen", "Foreign"}[(first+i)%5], []v1alpha1.ConditionStatus{"True", "False"}[r.Intn(2)], "FoundNewMachineSet"
	}
}

func prepareOwnedSet(s *v1alpha1.MachineSet, r *rand.Rand) {
	prepareSet(s, r)
	s.Spec.Replicas = int32(r.Intn(4))
	s.Status.ObservedGeneration = s.Generation - int64(r.Intn(2))
	if s.Annotations = nil; r.Intn(2) == 0 {
		s.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1", v1alpha1.AnnotationKeyPreferNoSchedule: "True"}
	}
	if r.Intn(3) == 0 {
		metav1.SetMetaDataLabel(&s.ObjectMeta, v1alpha1.LabelKeyScaleUpDisabled, "true")
	}
}

func prepareNode(n *corev1.Node, r *rand.Rand) {
	for _, key := range []string{v1alpha1.AnnotationKeyScaleDownDisabled, v1alpha1.AnnotationKeyScaleDownDisabledByUs} {
		if r.Intn(2) == 0 {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, "true")
		}
	}
	for _, key := range []string{v1alpha1.LabelKeyNodeCandidateForUpdate, v1alpha1.LabelKeyNodeSelectedForUpdate} {
		if r.Intn(2) == 0 {
			metav1.SetMetaDataLabel(&n.ObjectMeta, key, "true")
		}
	}
	if r.Intn(2) == 0 {
		metav1.SetMetaDataLabel(&n.ObjectMeta, v1alpha1.LabelKeyNodeUpdateResult, []string{"successful", "failed"}[r.Intn(2)])
	}
	if r.Intn(2) == 0 {
		n.Spec.Taints = []corev1.Taint{{Key: v1alpha1.TaintKeyPreferNoSchedule, Value: "True", Effect: corev1.TaintEffectPreferNoSchedule}, {Key: "foreign", Effect: corev1.TaintEffectNoSchedule}}
	}
	if r.Intn(3) == 0 {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: v1alpha1.NodePreserved, Status: "True", Reason: v1alpha1.ReasonPreservedByUser})
	}
}
