package cloud_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/ec2"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// elsewhere are patches of the specs of each API: another zone, and then another type.
var elsewhere = map[string][2]string{
	provider.OpenShift: {`{"placement":{"availabilityZone":"us-east-1b"}}`, `{"instanceType":"m6a.large"}`},
	provider.Gardener: {
		`{"networkInterfaces":[{"subnetID":"subnet-0b00000000000000b","securityGroupIDs":["sg-0123456789abcdef0"]}]}`, `{"machineType":"m6a.large"}`,
	},
}

// A machine is created in the second zone while the first is exhausted, and of another type while both are;
// the class's own session finds, lists and removes it.
func TestFallbacksOfZonesAndTypes(t *testing.T) {
	for api, patches := range elsewhere {
		w := sample(t)
		class := classOf(api, "c1")
		class.Fallbacks = [][]byte{[]byte(patches[0]), []byte(patches[1])}
		s, err := decorate.Fallback(w.start()).Open(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		base := w.open(t, classOf(api, "c1"))
		for _, step := range []struct{ exhaust, zone, kind string }{
			{"", "us-east-1a", "m5.large"}, {"us-east-1a/m5.large", "us-east-1b", "m5.large"}, {"us-east-1b", "us-east-1a", "m6a.large"},
		} {
			if err := w.Do("exhaust", step.exhaust); err != nil {
				t.Fatal(err)
			}
			ref := refOf(strings.ReplaceAll("m-"+step.zone+step.kind, ".", "-"))
			made, ok := provider.Instance{}, false
			for attempt, c := range s.Traits().Choices {
				choose := want
				choose.Choice, choose.Attempt = c.Name, attempt
				made, err = s.Create(t.Context(), ref, choose)
				if ok = err == nil; ok {
					break
				}
				if provider.KindOf(err) != provider.Exhausted {
					t.Fatalf("%s: choice %s: %v", api, c.Name, err)
				}
			}
			if !ok || made.Zone != step.zone || made.Type != step.kind {
				t.Fatalf("%s: without %s a machine is made of %s in %q, error %v", api, step.exhaust, made.Type, made.Zone, err)
			}
			w.clock.Advance(time.Minute)
			if i := w.found(t, base, ref); i.ID != made.ID {
				t.Errorf("%s: the class finds %s, want %s", api, i.ID, made.ID)
			}
			if !listed(t, base, made.ID) {
				t.Errorf("%s: the class does not list %s", api, made.ID)
			}
			w.deleted(t, base, ref, made)
		}
	}
}

func listed(t *testing.T, s provider.Session, id string) bool {
	t.Helper()
	for i, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if i.ID == id {
			return true
		}
	}
	return false
}

// Capacity of another stock is counted separately, and by the subnet if no zone is known.
func TestChoicesSayWhatCapacityIsCountedBy(t *testing.T) {
	for _, c := range []struct{ api, patch, zone, kind string }{
		{provider.OpenShift, `{}`, "us-east-1a", "m5.large"},
		{provider.OpenShift, `{"spotMarketOptions":{}}`, "us-east-1a", "m5.large (spot)"},
		{provider.OpenShift, `{"capacityReservationId":"cr-0123456789abcdef0"}`, "us-east-1a", "m5.large (cr-0123456789abcdef0)"},
		{provider.OpenShift, `{"placement":{"tenancy":"default"}}`, "us-east-1a", "m5.large"},
		{provider.OpenShift, `{"placement":{"tenancy":"dedicated"}}`, "us-east-1a", "m5.large (dedicated)"},
		{provider.OpenShift, `{"placement":{"availabilityZone":null},"subnet":{"id":"subnet-0a","filters":null}}`, "", "m5.large in subnet-0a"},
		{provider.OpenShift, `{"placement":{"availabilityZone":null},"subnet":{"filters":[{"name":"tag:Name","values":["a","b"]}]}}`, "", "m5.large in tag:Name=a,b"},
		{provider.OpenShift, `{"placement":{"availabilityZone":null},"subnet":null}`, "", "m5.large"},
		{provider.Gardener, `{}`, "", "m5.large in subnet-0a00000000000000a"},
		{provider.Gardener, `{"spotPrice":""}`, "", "m5.large (spot) in subnet-0a00000000000000a"},
		{provider.Gardener, `{"capacityReservation":{"capacityReservationId":"cr-1"}}`, "", "m5.large (cr-1) in subnet-0a00000000000000a"},
	} {
		class := classOf(c.api, "c1")
		class.Spec = merged(t, class.Spec, c.patch)
		got := sample(t).open(t, class).Traits().Choices
		place := []provider.Choice{{Region: "us-east-1", Zone: c.zone, Type: c.kind}}
		for n := range got {
			got[n].Name = ""
		}
		if !slices.Equal(got, place) {
			t.Errorf("%s %s: choices %+v, want %+v", c.api, c.patch, got, place)
		}
	}
}

// A subnet without free addresses does not exclude others whose zones are unknown.
func TestAFullSubnetIsNoFullZone(t *testing.T) {
	inventory := ec2.Sample()
	inventory.Subnets[0].CIDR = "10.0.0.0/29"
	for api, scope := range map[string]provider.Scope{provider.OpenShift: provider.ScopeZone, provider.Gardener: provider.ScopeType} {
		w := newWorld(t, ec2.Options{Inventory: inventory})
		s := w.open(t, classOf(api, "c1"))
		var err error
		for n := 0; err == nil && n < 10; n++ {
			_, err = s.Create(t.Context(), refOf(fmt.Sprintf("m-%d", n)), want)
		}
		if provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != scope {
			t.Errorf("%s: %v with scope %q, want %q", api, err, provider.ScopeOf(err), scope)
		}
	}
}

// EC2 counts vCPUs by families of types, and spot instances separately: an exhausted quota, or one of zero,
// only excludes the choices that it limits.
func TestAQuotaClosesOnlyWhatItCounts(t *testing.T) {
	inventory := ec2.Sample()
	inventory.Quotas.Buckets = map[string]int64{"p": 0, "standard/spot": 0}
	spot := map[string]string{provider.OpenShift: `{"spotMarketOptions":{}}`, provider.Gardener: `{"spotPrice":""}`}
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		w := newWorld(t, ec2.Options{Inventory: inventory})
		base := classOf(api, "c1")
		market := base
		market.Spec = merged(t, base.Spec, spot[api])
		for name, class := range map[string]provider.Class{"family": with(base, `"m5.large"`, `"p3.8xlarge"`), "market": market} {
			ref := refOf("m-" + name)
			_, err := w.open(t, class).Create(t.Context(), ref, want)
			if provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != provider.ScopeType {
				t.Errorf("%s: the quota of a %s: %v of kind %q, scope %q", api, name, err, provider.KindOf(err), provider.ScopeOf(err))
			}
			w.clock.Advance(time.Minute)
			other := w.open(t, base)
			made, err := other.Create(t.Context(), ref, want)
			for n := 0; provider.KindOf(err) == provider.Transient && n < 3; n++ { // another process: the token is spent
				w.clock.Advance(21 * time.Second)
				made, err = other.Create(t.Context(), ref, want)
			}
			if err != nil || made.Type != "m5.large" || made.Interruptible {
				t.Errorf("%s: beside the quota of a %s there is no %s: %v", api, name, made.Type, err)
			}
		}
	}
}
