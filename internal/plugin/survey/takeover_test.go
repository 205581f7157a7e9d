package survey

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/provider"
)

// TestLeader: leader finds the original program and its API by the name of the lease.
func TestLeader(t *testing.T) {
	for _, c := range []struct{ lease, api, leads string }{
		{"machine-controller", "", "a machine controller of machine.sapcloud.io"},
		{"machine-controller-manager", "", "a controller of sets of machine.sapcloud.io"},
		{"machine-controller-manager", provider.OpenShift, ""},
		{"cluster-api-provider-machineset-leader", "", "a controller of sets of machine.openshift.io"},
		{"cluster-api-provider-healthcheck-leader", "", "a controller of health checks of machine.openshift.io"},
		{"cluster-api-provider-nodelink-leader", provider.OpenShift, "a node link controller of machine.openshift.io"},
		{"cluster-api-provider-aws-leader", "", "a machine controller of machine.openshift.io"},
		{"cluster-api-provider-aws-leader", provider.Gardener, ""},
		{"machine-api-operator", provider.OpenShift, others["machine-api-operator"]},
		{"cluster-machine-approver-leader", "", others["cluster-machine-approver-leader"]},
		{"cluster-machine-approver-leader", provider.Gardener, ""},
		{"kube-scheduler", "", ""},
		{"", "", ""},
	} {
		t.Run(c.lease, func(t *testing.T) {
			if got := leader(c.lease, c.api); got != c.leads {
				t.Errorf("lease %q, API %q: leader %q, want %q", c.lease, c.api, got, c.leads)
			}
		})
	}
}

// TestUnknownFields: unknownFields returns each unknown path once, also for lists, and ignores status and metadata.
func TestUnknownFields(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine",
		"metadata": map[string]any{"name": "m", "later": "x"},
		"spec": map[string]any{
			"warp": int64(9), "class": map[string]any{"name": "c", "generation": "next"},
			"nodeTemplate": map[string]any{"spec": map[string]any{"taints": []any{map[string]any{"key": "a", "hue": "red"}, map[string]any{"key": "b", "hue": "blue"}}}},
		},
		"status": map[string]any{"mood": "good"},
	}}
	want := []string{"spec.class.generation", "spec.nodeTemplate.spec.taints[].hue", "spec.warp"}
	if got := unknownFields(o, &v1alpha1.Machine{}); !slices.Equal(got, want) {
		t.Errorf("unknown fields %v, want %v", got, want)
	}
}
