package apis_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	healthchecking "github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
)

// TestFaults: each kind of each API says what is wrong with an object, as its controller would find it.
func TestFaults(t *testing.T) {
	chosen := map[string]string{"a": "b"}
	for _, c := range []struct {
		reason string
		object client.Object
		want   []string
	}{
		{"no kind of an API", &corev1.Node{}, nil},
		{"a machine without a spec", &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"machine.openshift.io/cluster-api-cluster": "c"}}}, []string{"spec.providerSpec.value: value field must be set"}},
		{"a set that selects everything", &machinev1.MachineSet{Spec: machinev1.MachineSetSpec{Replicas: ptr.To[int32](1)}}, []string{"spec.selector: empty selector is not valid for MachineSet."}},
		{"a deployment with a strategy that is none", &v1beta1.MachineDeployment{Spec: v1beta1.MachineDeploymentSpec{
			Selector: metav1.LabelSelector{MatchLabels: chosen}, Strategy: v1beta1.MachineDeploymentStrategy{Type: "Odd"},
			Template: machinev1.MachineTemplateSpec{ObjectMeta: machinev1.ObjectMeta{Labels: chosen}},
		}}, []string{`spec.strategy.type: must be RollingUpdate, OnDelete or Recreate, is "Odd"`}},
		{"a check with a duration that is none", &lenient.MachineHealthCheck{Spec: lenient.MachineHealthCheckSpec{NodeStartupTimeout: ptr.To("0abc")}}, []string{`spec.nodeStartupTimeout: must be a duration like "5m", is "0abc"`}},
		{"a check of the older kind, with the same", &healthchecking.MachineHealthCheck{Spec: healthchecking.MachineHealthCheckSpec{
			Selector: metav1.LabelSelector{MatchLabels: chosen}, UnhealthyConditions: []lenient.UnhealthyCondition{{Type: "Ready", Status: "False", Timeout: "soon"}},
		}}, []string{`spec.unhealthyConditions[0].timeout: must be a duration like "5m", is "soon"`}},
		{"a machine of the other API, without a class", &v1alpha1.Machine{}, []string{"spec.class.kind: must be MachineClass", "spec.class.name: must name the MachineClass"}},
		{"a class without a node template", &v1alpha1.MachineClass{}, nil},
		{
			"half a node template", &v1alpha1.MachineClass{NodeTemplate: &v1alpha1.NodeTemplate{InstanceType: "t", Capacity: corev1.ResourceList{"cpu": {}, "memory": {}}}},
			[]string{"nodeTemplate.capacity: must have the key gpu", "nodeTemplate.region: must be set", "nodeTemplate.zone: must be set"},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var got []string
			for _, f := range apis.Faults(c.object, start) {
				got = append(got, f.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
