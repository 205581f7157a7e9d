package controlplanemachineset

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestWakes(t *testing.T) {
	master := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Labels: masterLabels()}}
	elsewhere := master.DeepCopy()
	elsewhere.Namespace = "other"
	worker := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
	node := func(label string, ready corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{label: ""}}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
	}
	for _, c := range []struct {
		about         string
		before, after client.Object
		want          bool
	}{
		{"a master", nil, master, true},
		{"in another namespace", nil, elsewhere, false},
		{"a worker", nil, worker, false},
		{"a worker that becomes a master", worker, master, true},
		{"a heartbeat", node(nodeRoles[1], corev1.ConditionTrue), node(nodeRoles[1], corev1.ConditionTrue), false},
		{"a node that is not ready any more", node(nodeRoles[1], corev1.ConditionTrue), node(nodeRoles[1], corev1.ConditionUnknown), true},
		{"a node that gets the label", node("x", corev1.ConditionTrue), node(nodeRoles[0], corev1.ConditionTrue), true},
		{"a node of a worker", nil, node("x", corev1.ConditionTrue), false},
		{"another set", nil, &machinev1.ControlPlaneMachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other"}}, false},
		{"another ClusterOperator", nil, &configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: "etcd"}}, false},
		{"the Infrastructure", nil, &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: Name}}, true},
	} {
		got := wakes("ns", c.before, c.after)
		if (len(got) == 1) != c.want || len(got) > 1 {
			t.Errorf("%s: %v", c.about, got)
		}
	}
}
