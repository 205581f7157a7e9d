package openshift

import (
	"maps"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// Deployed reports whether s belongs to a machine deployment. Only then it behaves differently from other
// sets of this API.
func Deployed(s *machinev1.MachineSet) bool {
	ref := metav1.GetControllerOf(s)
	if ref == nil || ref.Kind != v1beta1.KindMachineDeployment {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == v1beta1.GroupName
}

// held returns why s creates no machine.
func held(s *machinev1.MachineSet) string {
	if millwright.Read(s.Annotations).On(ScaleUpDisabledAnnotation) {
		return "scaling up is disabled (annotation " + ScaleUpDisabledAnnotation + ")"
	}
	return ""
}

// setOrder returns the order in which machines are deleted. A rollout relies on unavailable machines being
// deleted before available ones, for any delete policy.
func setOrder(s *machinev1.MachineSet) []replicas.Criterion {
	policy := deleteOrders[machinev1.MachineSetDeletePolicy(s.Spec.DeletePolicy)]
	if Deployed(s) {
		return []replicas.Criterion{replicas.UnavailableFirst, policy}
	}
	return []replicas.Criterion{policy}
}

// Propagate copies changes of the template that need no new machine to the existing machines of a
// deployment's set: labels and annotations are added, the metadata for the node is replaced. In other sets
// the template applies to new machines only.
func (Sets) Propagate(s *machinev1.MachineSet, o client.Object, dry bool) bool {
	if !Deployed(s) {
		return false
	}
	m, t := o.(*machinev1.Machine), &s.Spec.Template
	labels, annotations := added(m.Labels, t.Labels), added(m.Annotations, t.Annotations)
	forNode := t.Spec.ObjectMeta
	if value, ok := m.Spec.ObjectMeta.Labels[InterruptibleLabel]; ok {
		forNode.Labels = maps.Clone(forNode.Labels)
		set(&forNode.Labels, InterruptibleLabel, value)
	}
	if maps.Equal(labels, m.Labels) && maps.Equal(annotations, m.Annotations) &&
		equality.Semantic.DeepEqual(forNode, m.Spec.ObjectMeta) && equality.Semantic.DeepEqual(t.Spec.Taints, m.Spec.Taints) {
		return false
	}
	if !dry {
		m.Labels, m.Annotations = labels, annotations
		forNode.DeepCopyInto(&m.Spec.ObjectMeta)
		m.Spec.Taints = t.DeepCopy().Spec.Taints
	}
	return true
}

// found are the labels and annotations that the machine controller writes from the infrastructure's facts,
// and the label that chose where the instance was requested. A template's value counts until then.
var found = map[string]bool{
	InstanceTypeLabel: true, RegionLabel: true, ZoneLabel: true, InterruptibleLabel: true, ClusterLabel: true,
	InstanceStateAnnotation: true, dialect.OriginAnnotation: true, DefaultsAnnotation: true,
}

// added returns m with the entries of more that it lacks.
func added(m, more map[string]string) map[string]string {
	out := maps.Clone(m)
	for key, value := range more {
		if !found[key] {
			set(&out, key, value)
		}
	}
	return out
}
