package cloud_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/millwright-dev/millwright/dev/clouds/arm"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/providers/azure/cloud"
)

// spelt returns credentials under other keys.
func spelt(c provider.Class, keys map[string]string) provider.Class {
	c.Credentials = map[string][]byte{}
	for key, value := range keys {
		c.Credentials[key] = []byte(value)
	}
	return c
}

// TestSpellingsOfCredentials: each spelling that an original reads opens the account, in either API.
func TestSpellingsOfCredentials(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("a.b.c"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	for what, keys := range map[string]map[string]string{
		"gardener":            {"subscriptionID": arm.SampleSubscription, "tenantID": arm.SampleTenant, "clientID": arm.SampleClient, "clientSecret": arm.SampleSecret},
		"gardener, as before": {"azureSubscriptionId": arm.SampleSubscription, "azureTenantId": arm.SampleTenant, "azureClientId": arm.SampleClient, "azureClientSecret": arm.SampleSecret + "\n"},
		"gardener, workload":  {"subscriptionID": arm.SampleSubscription, "tenantID": arm.SampleTenant, "clientID": arm.SampleClient, "workloadIdentityTokenFile": token},
		"openshift":           {"azure_subscription_id": arm.SampleSubscription, "azure_tenant_id": arm.SampleTenant, "azure_client_id": arm.SampleClient, "azure_client_secret": arm.SampleSecret},
		"openshift, workload": {"azure_subscription_id": arm.SampleSubscription, "azure_tenant_id": arm.SampleTenant, "azure_client_id": arm.SampleClient, "azure_federated_token_file": token},
	} {
		for _, api := range both {
			c := spelt(class(api, "c1"), keys)
			if api == provider.OpenShift {
				c = patched(t, c, `{"resourceGroup":"demo-rg"}`)
			}
			if name, err := w.open(c).Account(t.Context()); err != nil || name != arm.SampleSubscription {
				t.Errorf("%s in %s: account %q, error %v", what, api, name, err)
			}
		}
	}
}

// TestForeignCredentials: a simulator that accepts everything admits every client to any subscription, and
// any size in any location, until all are locked out.
func TestForeignCredentials(t *testing.T) {
	w := newWorld(t, func(o *arm.Options) { o.AcceptAny = true })
	foreign := func(secret string) provider.Class {
		c := patched(t, class(provider.OpenShift, "c1"), `{"location":"germanywestcentral","zone":"2","vmSize":"Standard_E16as_v5","vnet":"v","subnet":"s"}`)
		return spelt(c, map[string]string{
			"azure_subscription_id": "5a1b9c8d-6e7f-4a0b-8c1d-2e3f4a5b6c7d", "azure_tenant_id": "0e1f2a3b-4c5d-4e6f-8a7b-9c0d1e2f3a4b",
			"azure_client_id": "7c9f2d14-05e3-4f0a-9b6b-1d2e3f405162", "azure_client_secret": secret, "azure_resourcegroup": "x-rg",
		})
	}
	s := w.open(foreign("unknown"))
	if _, err := s.Create(t.Context(), machine(1), want); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Find(t.Context(), machine(1)); err != nil || len(all) != 1 {
		t.Errorf("it is found as %v, %v", all, err)
	}
	sizer, _ := provider.As[provider.Sizer](s)
	if size, err := sizer.Size(t.Context()); err != nil || size.VCPU != 16 || size.MemoryMiB != 128<<10 {
		t.Errorf("its size is %+v, %v", size, err)
	}
	arm.Administered{Cloud: w.cloud}.Revoke()
	if _, err := w.open(foreign("another")).Find(t.Context(), machine(1)); provider.KindOf(err) != provider.Denied {
		t.Errorf("after all were locked out: %v", err)
	}
}

// TestWhatCredentialsLack: missing credentials are reported as such: no request is sent with a part of
// them.
func TestWhatCredentialsLack(t *testing.T) {
	w := newWorld(t)
	for lack, keys := range map[string]map[string]string{
		"subscription":     {"tenantID": "t", "clientID": "c", "clientSecret": "s"},
		"tenant":           {"subscriptionID": "s", "clientID": "c", "clientSecret": "s"},
		"application":      {"subscriptionID": "s", "tenantID": "t", "clientSecret": "s"},
		"secret or token":  {"subscriptionID": "s", "tenantID": "t", "clientID": "c"},
		"give one of them": {"subscriptionID": "s", "tenantID": "t", "clientID": "c", "clientSecret": "s", "workloadIdentityTokenFile": "/x"},
	} {
		_, err := w.start().Open(t.Context(), spelt(class(provider.Gardener, "c1"), keys))
		if provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), lack) {
			t.Errorf("%s: %v", lack, err)
		}
	}
}

// TestWhoIsTurnedAway: wrong secrets, unknown applications, and subscriptions of others are Denied, never
// empty answers.
func TestWhoIsTurnedAway(t *testing.T) {
	w := newWorld(t)
	whole := map[string]string{"subscriptionID": arm.SampleSubscription, "tenantID": arm.SampleTenant, "clientID": arm.SampleClient, "clientSecret": arm.SampleSecret}
	for key, says := range map[string]string{"clientSecret": "AADSTS7000215", "clientID": "AADSTS700016", "tenantID": "AADSTS700016", "subscriptionID": "SubscriptionNotFound"} {
		wrong := map[string]string{}
		for k, v := range whole {
			wrong[k] = v
		}
		wrong[key] = "55555555-5555-5555-5555-555555555555"
		s, err := w.start().Open(t.Context(), spelt(class(provider.Gardener, "c1"), wrong))
		if err == nil {
			_, err = s.Find(t.Context(), machine(1))
		}
		if provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestOneLogin: the account and all reads share one login.
func TestOneLogin(t *testing.T) {
	w := newWorld(t)
	p := w.start()
	for n := range 20 {
		s, err := p.Open(t.Context(), class(provider.Gardener, "c1"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Account(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Find(t.Context(), machine(n)); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.server.Counts()["POST token"]; n != 1 {
		t.Errorf("%d logins, want one", n)
	}
}

// needed are the actions that a machine of the API requires, of those in docs/providers/azure-role.json.
var needed = map[string][]string{
	provider.OpenShift: append([]string{
		"Microsoft.Network/publicIPAddresses/read", "Microsoft.Network/publicIPAddresses/write", "Microsoft.Network/publicIPAddresses/join/action",
		"Microsoft.Network/virtualNetworks/subnets/read",
	}, neededByBoth...),
	provider.Gardener: append([]string{"Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read"}, neededByBoth...),
}

var neededByBoth = []string{
	"Microsoft.Compute/virtualMachines/read", "Microsoft.Compute/virtualMachines/write", "Microsoft.Compute/virtualMachines/delete", "Microsoft.Compute/disks/read",
	"Microsoft.Network/networkInterfaces/read", "Microsoft.Network/networkInterfaces/write", "Microsoft.Network/networkInterfaces/join/action",
	"Microsoft.Network/virtualNetworks/subnets/join/action",
}

// role is a documented role that is assigned in a scope below the subscription.
func role(t *testing.T, name, scope string) []string {
	t.Helper()
	raw, err := os.ReadFile("../../../docs/providers/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var has struct{ AssignableScopes, Actions []string }
	if err := json.Unmarshal(raw, &has); err != nil {
		t.Fatal(err)
	}
	if want := "/subscriptions/00000000-0000-0000-0000-000000000000" + scope; !slices.Equal(has.AssignableScopes, []string{want}) {
		t.Errorf("%s is for %v, want %s", name, has.AssignableScopes, want)
	}
	return has.Actions
}

// documented gives the account the documented roles, and returns their actions.
func documented(t *testing.T, cloud *arm.Cloud) (actions []string) {
	t.Helper()
	groups, subscription := role(t, "azure-role.json", "/resourceGroups/demo-rg"), role(t, "azure-role-subscription.json", "")
	cloud.Restrict(arm.SampleClient, groups...)
	cloud.RestrictAtSubscription(arm.SampleClient, subscription...)
	return append(groups, subscription...)
}

// TestRoleForReservations: a virtual machine may be put into a reservation.
func TestRoleForReservations(t *testing.T) {
	w := newWorld(t)
	documented(t, w.cloud)
	w.cloud.AcceptAny = true
	const group = "/subscriptions/s/resourceGroups/demo-rg/providers/Microsoft.Compute/capacityReservationGroups/r"
	c := patched(t, class(provider.OpenShift, "c1"), `{"capacityReservationGroupID":"`+group+`"}`)
	if _, err := w.open(c).Create(t.Context(), machine(1), want); err != nil {
		t.Error(err)
	}
}

// TestRole: the suite passes with the documented role.
func TestRole(t *testing.T) {
	actions := documented(t, newWorld(t).cloud)
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		w := newWorld(t)
		documented(t, w.cloud)
		return w.harness()
	})
	for api, some := range needed {
		for _, action := range some {
			if !slices.Contains(actions, action) {
				t.Errorf("%s: the role lacks %s", api, action)
			}
		}
	}
}

// TestRights: a machine's life works with these permissions; without any one of them an error reports it,
// and nothing counts as deleted.
func TestRights(t *testing.T) {
	eachAPI(t, func(t *testing.T, api string) {
		life := func(w *world) (err error) {
			s := w.open(class(api, "c1"))
			i, err := s.Create(t.Context(), machine(1), want)
			if err != nil {
				return err
			}
			w.clock.Advance(w.cloud.Boot)
			if _, err = s.Find(t.Context(), machine(1)); err != nil {
				return err
			}
			for _, err := range s.List(t.Context()) {
				if err != nil {
					return err
				}
			}
			for done := false; !done; w.clock.Advance(w.cloud.Delete) {
				if done, err = s.Delete(t.Context(), machine(1), []provider.Instance{i}); err != nil {
					return err
				}
			}
			w.empty()
			return nil
		}
		all := newWorld(t)
		all.cloud.Restrict(arm.SampleClient, needed[api]...)
		if err := life(all); err != nil {
			t.Fatal(err)
		}
		for n, action := range needed[api] {
			w := newWorld(t)
			w.cloud.Restrict(arm.SampleClient, append(append([]string{}, needed[api][:n]...), needed[api][n+1:]...)...)
			if err := life(w); provider.KindOf(err) != provider.Denied {
				t.Errorf("without %s: %v", action, err)
			}
		}
	})
}

// objects are those of a control cluster.
type objects map[string]any

func (o objects) Object(_ context.Context, ref provider.ObjectRef) ([]byte, error) {
	v, ok := o[ref.Kind+" "+ref.Name]
	if !ok {
		return nil, provider.ErrNoObject
	}
	return json.Marshal(v)
}

// TestInfrastructure: endpoint, certificates, resource group and tags of an OpenShift cluster come from its
// Infrastructure.
func TestInfrastructure(t *testing.T) {
	w := newWorld(t)
	infra := configv1.Infrastructure{Status: configv1.InfrastructureStatus{PlatformStatus: &configv1.PlatformStatus{Azure: &configv1.AzurePlatformStatus{
		CloudName: configv1.AzureStackCloud, ARMEndpoint: w.url, ResourceGroupName: group,
		ResourceTags: []configv1.AzureResourceTag{{Key: "cost", Value: "7"}, {Key: "team", Value: "red"}},
	}}}}
	has := objects{
		"Infrastructure cluster":      infra,
		"ConfigMap kube-cloud-config": map[string]any{"data": map[string]string{"ca-bundle.pem": string(w.ca)}},
	}
	p := cloud.New(cloud.Options{Clock: w.clock, Objects: has, Getenv: func(string) string { return "" }})
	c := patched(t, class(provider.OpenShift, "c1"), `{"tags":{"Team":"blue"}}`)
	delete(c.Credentials, "azure_resourcegroup")
	s, err := p.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	i := w.create(s, machine(1))
	if i.Tags["cost"] != "7" || i.Tags["Team"] != "blue" || i.Tags["team"] != "" || i.Tags["kubernetes.io_cluster.c1"] != "owned" {
		t.Errorf("tags %v", i.Tags)
	}
	before := s.Traits().Source
	infra.Status.PlatformStatus.Azure.ResourceTags[0].Value = "8"
	s, err = p.Open(t.Context(), c)
	if err != nil || s.Traits().Source == before {
		t.Errorf("a change of the Infrastructure is not told, error %v", err)
	}
}

// TestEnvironment: what a secret of OpenShift lacks comes from the process's environment; for Gardener the
// environment is ignored.
func TestEnvironment(t *testing.T) {
	w := newWorld(t)
	env := map[string]string{"AZURE_TENANT_ID": arm.SampleTenant, "AZURE_CLIENT_ID": arm.SampleClient, "AZURE_CLIENT_SECRET": arm.SampleSecret}
	p := cloud.New(cloud.Options{Clock: w.clock, Endpoint: w.url, CABundle: w.ca, Getenv: func(key string) string { return env[key] }})
	for api, kind := range map[string]provider.Kind{provider.OpenShift: "", provider.Gardener: provider.Denied} {
		c := spelt(class(api, "c1"), map[string]string{"azure_subscription_id": arm.SampleSubscription, "azure_resourcegroup": group})
		s, err := p.Open(t.Context(), c)
		if err == nil {
			_, err = s.Find(t.Context(), machine(1))
		}
		if provider.KindOf(err) != kind {
			t.Errorf("%s: %v", api, err)
		}
	}
}
