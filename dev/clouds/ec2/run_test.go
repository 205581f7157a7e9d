package ec2

import (
	"net/url"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/form"
)

// launching creates an instance, and returns the code of the error.
func launching(c *Cloud, more ...string) string {
	in := call{Form: form.Form{Values: url.Values{}}, service: "ec2", action: "RunInstances", account: c.options.Inventory.Account}
	all := append([]string{"ImageId", "ami-0123456789abcdef0", "InstanceType", "m5.large", "MinCount", "1", "MaxCount", "1", "ClientToken", "t"}, more...)
	for n := 0; n < len(all); n += 2 {
		in.Values.Set(all[n], all[n+1])
	}
	if _, no := runInstances(c, &in); no != nil {
		return no.code
	}
	return ""
}

// As in EC2, a token is kept also if the launch was refused for lack of capacity, and is valid in the zone of
// the request.
func TestTokensAreKeptByZone(t *testing.T) {
	const insufficient, mismatch = "InsufficientInstanceCapacity", "IdempotentParameterMismatch"
	c := New(&double.Clock{}, Options{Inventory: Sample()})
	if err := c.Do("exhaust", "us-east-1a/m5.large"); err != nil {
		t.Fatal(err)
	}
	if got := c.Exhausted(); len(got) != 1 || got[0] != "us-east-1a/m5.large" {
		t.Errorf("exhausted are %v", got)
	}
	for _, s := range []struct {
		reason, want string
		instances    int
		more         []string
	}{
		{"there is no capacity", insufficient, 0, []string{"Placement.AvailabilityZone", "us-east-1a"}},
		{"the same is asked for again", insufficient, 0, []string{"Placement.AvailabilityZone", "us-east-1a"}},
		{"the token is spent for another type", mismatch, 0, []string{"Placement.AvailabilityZone", "us-east-1a", "InstanceType", "m6a.large"}},
		{"a subnet says the zone as well", mismatch, 0, []string{"SubnetId", "subnet-0a00000000000000a"}},
		{"another token", "", 1, []string{"Placement.AvailabilityZone", "us-east-1a", "InstanceType", "m6a.large", "ClientToken", "t-1"}},
		{"another zone", "", 2, []string{"Placement.AvailabilityZone", "us-east-1b"}},
		{"what was made is reported again", "", 2, []string{"Placement.AvailabilityZone", "us-east-1b"}},
		{"what is not valid spends no token", "InvalidParameterValue", 2, []string{"Placement.AvailabilityZone", "us-east-1b", "ClientToken", "t-2", "InstanceType", "none"}},
		{"so it is good for another request", "", 3, []string{"Placement.AvailabilityZone", "us-east-1b", "ClientToken", "t-2"}},
	} {
		if got := launching(c, s.more...); got != s.want || len(c.Instances()) != s.instances {
			t.Errorf("%s: %q with %d instances, want %q with %d", s.reason, got, len(c.Instances()), s.want, s.instances)
		}
	}
}

// Quotas of vCPUs apply to families of types, and spot instances are counted separately.
func TestQuotasAreCountedByBucket(t *testing.T) {
	inventory := Sample()
	inventory.Quotas = Quotas{VCPUs: 4, SpotVCPUs: 2, Buckets: map[string]int64{"p": 0}}
	c := New(&double.Clock{}, Options{Inventory: inventory})
	for _, s := range []struct{ kind, market, want string }{
		{"p3.8xlarge", "", "VcpuLimitExceeded"},
		{"m5.large", "", ""},
		{"m6a.large", "", ""},
		{"m6g.large", "", "VcpuLimitExceeded"},
		{"m5.large", "spot", ""},
		{"m5.large", "spot", "MaxSpotInstanceCountExceeded"},
	} {
		more := []string{"InstanceType", s.kind, "ClientToken", ""}
		if s.market != "" {
			more = append(more, "InstanceMarketOptions.MarketType", s.market)
		}
		if got := launching(c, more...); got != s.want {
			t.Errorf("%s %s: %q, want %q", s.kind, s.market, got, s.want)
		}
	}
	for kind, want := range map[string]string{"c7g.large": "standard", "vt1.3xlarge": "g", "g5.xlarge": "g", "inf2.xlarge": "inf", "trn1.2xlarge": "trn", "u-6tb1.metal": "u"} {
		if got := bucket(kind, false); got != want {
			t.Errorf("%s is counted in %q, want %q", kind, got, want)
		}
	}
}
