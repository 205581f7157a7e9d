package cloud_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/arm"
	"github.com/millwright-dev/millwright/provider"
)

// TestIdentityByID: a full ID of an identity is used unchanged, of any subscription and group. A name is
// one in the machine's group.
func TestIdentityByID(t *testing.T) {
	for _, id := range []string{
		"/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/identities/providers/Microsoft.ManagedIdentity/userAssignedIdentities/workers",
		"/Subscriptions/11111111-2222-3333-4444-555555555555/resourcegroups/identities/providers/Microsoft.ManagedIdentity/userAssignedIdentities/workers",
	} {
		w := newWorld(t, func(o *arm.Options) { o.AcceptAny = true })
		made := w.create(w.open(patched(t, class(provider.OpenShift, "c1"), `{"managedIdentity":"`+id+`"}`)), machine(1))
		if got := at(t, w.cloud.Read(made.ID), "identity.userAssignedIdentities"); !strings.HasPrefix(got, `{"`+id+`"`) {
			t.Errorf("%s arrives as %s", id, got)
		}
	}
}

// TestPoolsOfBothVersions: a machine is in all pools of its load balancers, with the address of the version
// in a pool's name.
func TestPoolsOfBothVersions(t *testing.T) {
	for _, r := range []struct {
		reason, subnet, patch string
		four, six             []string
	}{
		{"two versions", "demo-dual-subnet", `{}`, []string{"demo", "outbound", "inner"}, []string{"demo-v6", "outbound-v6", "inner-v6"}},
		{"one version", "demo-worker-subnet", `{}`, []string{"demo", "outbound", "inner"}, nil},
		{"the internal one alone", "demo-dual-subnet", `{"publicLoadBalancer":""}`, []string{"inner"}, []string{"inner-v6"}},
		{"the public one alone", "demo-dual-subnet", `{"internalLoadBalancer":""}`, []string{"demo", "outbound"}, []string{"demo-v6", "outbound-v6"}},
	} {
		t.Run(r.reason, func(t *testing.T) {
			w := newWorld(t, func(o *arm.Options) {
				o.Inventory.LoadBalancers = []arm.LoadBalancer{
					{ResourceGroup: arm.SampleGroup, Name: "demo", Pools: []string{"demo", "demo-v6", "outbound", "outbound-v6"}},
					{ResourceGroup: arm.SampleGroup, Name: "internal", Internal: true, Pools: []string{"inner-v6", "inner"}},
				}
			})
			c := patched(t, class(provider.OpenShift, "c1"), `{"publicLoadBalancer":"demo","internalLoadBalancer":"internal","publicIP":false,"subnet":"`+r.subnet+`"}`)
			s := w.open(patched(t, c, r.patch))
			made := w.create(s, machine(1))
			w.clock.Advance(time.Minute)
			look := func(when string) {
				t.Helper()
				for n, want := range [][]string{r.four, r.six} {
					if got := w.poolsOf(t, made.ID, n); !slices.Equal(got, want) {
						t.Errorf("%s: configuration %d is in %v, want %v", when, n, got, want)
					}
				}
			}
			look("created")
			if err := w.cloud.Do("unbalance", made.ID); err != nil {
				t.Fatal(err)
			}
			if err := maintainer(t, s).Maintain(t.Context(), machine(1), w.only(s, machine(1))); err != nil {
				t.Fatal(err)
			}
			look("kept")
			w.only(s, machine(1))
			before := w.server.Counts()["GET networkInterfaces"]
			for range s.List(t.Context()) {
			}
			if err := maintainer(t, s).Maintain(t.Context(), machine(1), made); err != nil {
				t.Fatal(err)
			}
			if after := w.server.Counts()["GET networkInterfaces"]; after != before {
				t.Errorf("an interface that a listing showed in all of its pools was read %d times more", after-before)
			}
		})
	}
}

// poolsOf are the names of the pools that a configuration of a machine's interface is in.
func (w *world) poolsOf(t *testing.T, vm string, configuration int) (all []string) {
	for n := range 9 {
		id := at(t, w.cloud.Read(nicID(vm)), fmt.Sprintf("properties.ipConfigurations.%d.properties.loadBalancerBackendAddressPools.%d.id", configuration, n))
		if strings.Contains(id, "/") {
			all = append(all, id[strings.LastIndex(id, "/")+1:])
		}
	}
	return all
}
