package cloud_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
)

// accessRules are those that the documentation lists for the application credential.
func accessRules(t *testing.T) (all []nova.AccessRule) {
	t.Helper()
	raw, err := os.ReadFile("../../../docs/providers/openstack-access-rules.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// ruled is a cloud, and classes of both APIs that together use every feature, with an application
// credential that has the rules.
func ruled(t *testing.T, rules []nova.AccessRule) (*bench, map[string]provider.Class) {
	t.Helper()
	b := newBench(t, func(o *nova.Options) { o.Inventory.Users[0].ApplicationCredentials[0].AccessRules = rules })
	id, url := nova.Sample().Users[0].ApplicationCredentials[0].ID, b.http.URL+"/identity/v3"
	master := b.class(provider.OpenShift, "c1")
	master.Spec = merged(t, string(master.Spec), everything)
	master.Spec = merged(t, string(master.Spec), `{"networks":[{"filter":{"name":"net1"},"subnets":[{"filter":{"name":"sub1"}}]}],"image":"",`+
		`"rootVolume":{"diskSize":20,"availabilityZone":"nova","sourceUUID":"`+image2+`"},"serverGroupName":"g"}`)
	master.Credentials = map[string][]byte{"clouds.yaml": fmt.Appendf(nil,
		"clouds: {openstack: {region_name: RegionOne, auth: {auth_url: %q, application_credential_id: %s, application_credential_secret: app-secret}}}", url, id)}
	node := b.class(provider.Gardener, "c1")
	node.Credentials = map[string][]byte{"authURL": []byte(url), "applicationCredentialID": []byte(id), "applicationCredentialSecret": []byte("app-secret")}
	return b, map[string]provider.Class{"master-0": master, "node-0": node}
}

// life runs one machine from its creation to its deletion, with every operation in between, up to the first
// error.
func (b *bench) life(ctx context.Context, s provider.Session, r provider.Ref) error {
	i, err := b.created(ctx, s, r)
	if err != nil {
		return err
	}
	b.stripAll(i.ID)
	b.clock.Advance(2 * time.Hour)
	if err := s.(provider.Maintainer).Maintain(ctx, r, i); err != nil {
		return err
	}
	if _, err := s.(provider.Sizer).Size(ctx); err != nil {
		return err
	}
	if _, err := s.(provider.ConsoleReader).Console(ctx, r, i, 100); err != nil {
		return err
	}
	for _, op := range []provider.PowerOp{provider.Reboot, provider.PowerOff, provider.PowerOn} {
		if err := s.(provider.Powerer).Power(ctx, r, i, op, ""); err != nil {
			return err
		}
		b.clock.Advance(time.Minute)
	}
	for _, err := range s.List(ctx) {
		if err != nil {
			return err
		}
	}
	for _, err := range s.(provider.LeftoverLister).Leftovers(ctx) {
		if err != nil {
			return err
		}
	}
	if err := b.remove(s, r, i); err != nil {
		return err
	}
	return b.halfLife(ctx, s, r)
}

// halfLife is that of a machine whose server is never created, at first since its zone has no host.
func (b *bench) halfLife(ctx context.Context, s provider.Session, r provider.Ref) error {
	r.UID = "1b2f6d3e-6b1c-4c56-9f1b-7f0b3c2a1d4e"
	zone := map[string]string{"master-0": "volumes/nova", "node-0": "nova"}[r.Name]
	if err := b.cloud.Do("close", zone); err != nil {
		return err
	}
	if _, err := b.created(ctx, s, r); provider.KindOf(err) != provider.Exhausted {
		return fmt.Errorf("its zone is open: %w", err)
	}
	if err := b.cloud.Do("open", zone); err != nil {
		return err
	}
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "nova.POST.servers", Times: 1})
	if _, err := b.created(ctx, s, r); provider.KindOf(err) != provider.Transient {
		return fmt.Errorf("it is made: %w", err)
	}
	return b.remove(s, r)
}

func (b *bench) created(ctx context.Context, s provider.Session, r provider.Ref) (i provider.Instance, err error) {
	for range 20 {
		i, err = s.Create(ctx, r, provider.Want{UserData: boot})
		if err == nil && i.State == provider.Running || err != nil && provider.KindOf(err) != provider.Conflict {
			return i, err
		}
		b.clock.Advance(time.Second)
	}
	return i, err
}

// stripAll removes tags and metadata from a server, its ports and their trunks.
func (b *bench) stripAll(server string) {
	b.t.Helper()
	send := b.rest()
	_ = b.strip(provider.Class{}, server)
	for _, d := range b.cloud.Dependants() {
		switch {
		case d.Kind == "port" && d.Server == server:
			send("PUT", "/network/v2.0/ports/"+d.ID+"/tags", `{"tags":[]}`)
		case d.Kind == "trunk":
			send("PUT", "/network/v2.0/trunks/"+d.ID+"/tags", `{"tags":[]}`)
		}
	}
}

// TestTheAccessRulesAreEnough: the rules suffice for every operation on machines of both APIs.
func TestTheAccessRulesAreEnough(t *testing.T) {
	b, classes := ruled(t, accessRules(t))
	for name, class := range classes {
		if err := b.life(t.Context(), b.session(class), ref(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.holds(t, 0, 0)
}

// TestEachAccessRuleIsNeeded: without the rule an operation is Denied, and the error names the request,
// which the cloud's answer does not.
func TestEachAccessRuleIsNeeded(t *testing.T) {
	all := accessRules(t)
	for n, missing := range all {
		t.Run(missing.Method+" "+missing.Path, func(t *testing.T) {
			b, classes := ruled(t, slices.Delete(slices.Clone(all), n, n+1))
			for _, name := range []string{"master-0", "node-0"} {
				err := b.life(t.Context(), b.session(classes[name]), ref(name))
				if err == nil {
					continue
				}
				told := strings.Contains(err.Error(), missing.Method+" /") && strings.Contains(err.Error(), "if the application credential has access rules")
				if provider.KindOf(err) != provider.Denied || !told {
					t.Errorf("%v of kind %q", err, provider.KindOf(err))
				}
				return
			}
			t.Error("nobody needs it")
		})
	}
}
