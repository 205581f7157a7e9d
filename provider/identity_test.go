package provider_test

import (
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

// paths reads provider IDs as those of an infrastructure on which a name is unique only within its group.
type paths struct{ provider.Session }

func (paths) Traits() provider.Traits {
	return provider.Traits{Identify: func(providerID string) string {
		rest, _ := strings.CutPrefix(strings.ToLower(providerID), "cloud:///")
		return rest
	}}
}

// TestSameInstance has one row for each way in which the originals write the provider IDs of one
// infrastructure (providers.md 4), read without and with Traits.Identify.
func TestSameInstance(t *testing.T) {
	for _, r := range []struct {
		reason string
		s      provider.Session
		a, b   string
		same   bool
	}{
		{"AWS: zone here, region there", nil, "aws:///eu-west-1a/i-0ab", "aws:///eu-west-1/i-0ab", true},
		{"AWS: another instance", nil, "aws:///eu-west-1a/i-0ab", "aws:///eu-west-1a/i-0ac", false},
		{
			"Azure: a whole path here, a name there, in other case", nil,
			"azure:///subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/VM-1", "azure:///westeurope/vm-1", true,
		},
		{"GCP: two slashes here, three there", nil, "gce://p/z/m-1", "gce:///p/z/m-1", true},
		{"another infrastructure", nil, "gce:///p/z/m-1", "azure:///z/m-1", false},
		{"nothing is no instance", nil, "", "", false},
		{"a text without a scheme names nothing", nil, "m-1", "m-1", false},
		{"a scheme alone names nothing", nil, "aws:///", "aws:///", false},
		{"the session's reading comes first", paths{}, "cloud:///a/m-1", "cloud:///b/m-1", false},
		{"and may say that case is nothing", paths{}, "cloud:///A/M-1", "cloud:///a/m-1", true},
	} {
		t.Run(r.reason, func(t *testing.T) {
			if got := provider.SameInstance(r.s, r.a, r.b); got != r.same {
				t.Errorf("SameInstance(%q, %q) = %t", r.a, r.b, got)
			}
			if got := provider.SameInstance(r.s, r.b, r.a); got != r.same {
				t.Errorf("SameInstance(%q, %q) = %t", r.b, r.a, got)
			}
		})
	}
}
