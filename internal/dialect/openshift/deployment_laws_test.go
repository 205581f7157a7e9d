package openshift_test

import (
	"maps"
	"math/rand"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/dialecttest"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
)

// TestDeploymentLaws holds the lens of deployments to the laws.
func TestDeploymentLaws(t *testing.T) {
	dialecttest.DeploymentLaws[*v1beta1.MachineDeployment, *machinev1.MachineSet]{
		Dialect: openshift.Deployments{},
		Prepare: prepareDeployment, Set: prepareOwnedSet, Machine: prepareMember, Node: prepareNode,
		Owned:    []string{"status"},
		Amended:  []string{"metadata.annotations[deployment.kubernetes.io/revision]"},
		Returned: []string{"spec.rollbackTo", "spec.template", "metadata.annotations"},
		Applied:  []string{"spec", "metadata.labels", "metadata.annotations"},
		Shows:    deploymentShows,
		Tells: func(d *v1beta1.MachineDeployment, o dialect.DeploymentOutcome[*machinev1.MachineSet]) dialecttest.DeploymentShown {
			out, st := deploymentShows(d), o.Plan.Status
			out.Generation = d.Generation
			if o.Collided {
				out.Collisions++
			}
			if !st.Faulty {
				out.Selector, out.Unavailable = metav1.FormatLabelSelector(&d.Spec.Selector), st.Unavailable
				out.Conditions["Available"] = map[bool]string{true: "True MinimumReplicasAvailable", false: "False MinimumReplicasUnavailable"}[st.Enough]
				if delete(out.Conditions, "ReplicaFailure"); st.Failure != nil {
					out.Conditions["ReplicaFailure"] = "True"
				}
			}
			return out
		},
	}.Check(t)
}

// deploymentShows passes over the conditions that sum the others up, which are tested by situation.
func deploymentShows(d *v1beta1.MachineDeployment) dialecttest.DeploymentShown {
	st := d.Status
	out := dialecttest.DeploymentShown{
		Generation: st.ObservedGeneration, Collisions: int64(ptr.Deref(st.CollisionCount, 0)), Selector: st.LabelSelector, Unavailable: int(st.UnavailableReplicas),
		Conditions: map[string]string{},
	}
	for _, c := range st.Conditions {
		switch c.Type {
		case "Progressing", "Ready", "Stalled", "Reconciling":
		case "ReplicaFailure":
			out.Conditions[c.Type] = string(c.Status)
		default:
			out.Conditions[c.Type] = string(c.Status) + " " + c.Reason
		}
	}
	return out
}

func prepareDeployment(d *v1beta1.MachineDeployment, r *rand.Rand) {
	d.Spec.Replicas = []*int32{nil, ptr.To(int32(r.Intn(5)))}[r.Intn(2)]
	d.Spec.RevisionHistoryLimit, d.Spec.ProgressDeadlineSeconds, d.Spec.MinReadySeconds = ptr.To(int32(r.Intn(3))), ptr.To(int32(r.Intn(600))), int32(r.Intn(60))
	d.Spec.Selector = metav1.LabelSelector{MatchLabels: maps.Clone(pools[0])}
	d.Spec.Template.Labels = maps.Clone(pools[r.Intn(2)])
	d.Spec.Template.Spec.AuthoritativeAPI = ""
	d.Spec.Strategy = v1beta1.MachineDeploymentStrategy{Type: []v1beta1.MachineDeploymentStrategyType{"RollingUpdate", "OnDelete", "Recreate", ""}[r.Intn(4)]}
	if r.Intn(2) == 0 {
		d.Spec.Strategy.RollingUpdate = &v1beta1.MachineRollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromString("25%")), MaxUnavailable: ptr.To(intstr.FromInt32(1))}
	}
	switch r.Intn(8) {
	case 0:
		d.Spec.Selector = metav1.LabelSelector{}
	case 1:
		d.Spec.Replicas = ptr.To(int32(-1))
	}
	d.Spec.Paused = r.Intn(4) == 0
	d.Status.CollisionCount = []*int32{nil, ptr.To(int32(r.Intn(3)))}[r.Intn(2)]
	d.Status.Replicas, d.Status.UpdatedReplicas = int32(r.Intn(9)), int32(r.Intn(9))
	if r.Intn(2) == 0 {
		d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "2", dialect.EstimateAnnotation: "", "a": "b", dialect.CanaryAnnotation: "1"}
	}
	first := r.Intn(4)
	for i := range d.Status.Conditions {
		c := &d.Status.Conditions[i]
		c.Type, c.Status, c.Reason = []string{"Progressing", "Available", "ReplicaFailure", "Foreign"}[(first+i)%4], []metav1.ConditionStatus{"True", "False"}[r.Intn(2)], "FoundNewMachineSet"
	}
	if r.Intn(3) == 0 {
		d.Spec.Template.Spec.ProviderSpec.Value = nil
	}
}

func prepareOwnedSet(s *machinev1.MachineSet, r *rand.Rand) {
	prepareSet(s, r)
	s.Spec.Replicas = ptr.To(int32(r.Intn(4)))
	s.Status.ObservedGeneration = s.Generation - int64(r.Intn(2))
	if s.Annotations = nil; r.Intn(2) == 0 {
		s.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1", openshift.OutdatedKey: "true", openshift.ScaleUpDisabledAnnotation: ""}
	}
}

func prepareNode(n *corev1.Node, r *rand.Rand) {
	if r.Intn(2) == 0 {
		n.Annotations = map[string]string{openshift.ScaleDownDisabledAnnotation: "true"}
	}
	if r.Intn(2) == 0 {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, openshift.ScaleDownDisabledByAnnotation, "rollout")
	}
	if r.Intn(2) == 0 {
		n.Spec.Taints = []corev1.Taint{{Key: openshift.OutdatedKey, Effect: corev1.TaintEffectPreferNoSchedule}, {Key: "foreign", Effect: corev1.TaintEffectNoSchedule}}
	}
}
