package run

import (
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

func TestLeadsMachines(t *testing.T) {
	for _, test := range []struct {
		reason, api, lease string
		want               bool
	}{
		{"any provider's", provider.OpenShift, MachineLease(provider.OpenShift, "kubemark"), true},
		{"the sets' has a provider's form and is none's", provider.OpenShift, SetLease(provider.OpenShift), false},
		{"nor is that of the original's health checks", provider.OpenShift, "cluster-api-provider-healthcheck-leader", false},
		{"all providers of the other API have one name", provider.Gardener, MachineLease(provider.Gardener, "kubemark"), true},
		{"whose sets have another", provider.Gardener, SetLease(provider.Gardener), false},
		{"another program's", provider.OpenShift, "kube-scheduler", false},
	} {
		if got := LeadsMachines(test.api, test.lease); got != test.want {
			t.Errorf("%s: %s leads machines: %v", test.reason, test.lease, got)
		}
	}
}
