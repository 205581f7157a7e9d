package apis

import (
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

func TestLeadsMachines(t *testing.T) {
	one, _ := Of(provider.OpenShift)
	other, _ := Of(provider.Gardener)
	for _, test := range []struct {
		reason string
		api    API
		lease  string
		want   bool
	}{
		{"any provider's", one, "cluster-api-provider-kubemark-leader", true},
		{"any provider's, as its controller names it", one, one.MachineLease("kubemark"), true},
		{"the sets' has a provider's form and is none's", one, one.SetLease(), false},
		{"nor is that of the original's health checks", one, "cluster-api-provider-healthcheck-leader", false},
		{"all providers of the other API have one name", other, other.MachineLease("kubemark"), true},
		{"whose sets have another", other, other.SetLease(), false},
		{"another program's", one, "kube-scheduler", false},
	} {
		t.Run(test.reason, func(t *testing.T) {
			if got := test.api.LeadsMachines(test.lease); got != test.want {
				t.Errorf("%s: %s leads machines: %v", test.reason, test.lease, got)
			}
		})
	}
}
