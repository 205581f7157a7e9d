package cloud

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/gce"
	"github.com/millwright-dev/millwright/provider"
)

// The quirks of the originals that are not copied, with a test for each. The one of pools is in
// load_balancers_test.go.

// TestQuirkClientErrorsAreTerminal: in the originals, any 4xx answer, also that of a quota, makes a machine
// fail.
func TestQuirkClientErrorsAreTerminal(t *testing.T) {
	for kind, want := range map[string]provider.Kind{"Exhausted": provider.Exhausted, "Throttled": provider.Throttled, "Denied": provider.Denied, "Conflict": provider.Conflict} {
		b := newBench(t)
		s := b.open(b.class(provider.OpenShift, "prod"))
		b.server.Inject(double.Fault{Failure: double.Failure{Kind: kind, Scope: "account"}, Operation: "instances.insert", Times: 1})
		if _, err := s.Create(t.Context(), ref("m"), provider.Want{}); provider.KindOf(err) != want {
			t.Errorf("%s is read as %s: %v", kind, provider.KindOf(err), err)
		}
	}
}

// TestQuirkMissingCredentials: the original ignores the error of a secret without credentials.
func TestQuirkMissingCredentials(t *testing.T) {
	b := newBench(t)
	for why, credentials := range map[string]map[string][]byte{
		"none of the keys": nil, "no JSON": {"service_account.json": []byte("x")}, `type "user"`: {"service_account.json": []byte(`{"type": "user"}`)},
		"client_email": {"serviceAccountJSON": []byte(`{"type": "service_account"}`)}, "no RSA key": {"serviceAccountJSON": []byte(`{"type": "service_account", "client_email": "a@b", "private_key": "no"}`)}, "audience": {"credentialsConfig": []byte(`{"type": "external_account"}`)},
		"no program": {"credentialsConfig": []byte(`{"type": "external_account", "audience": "a", "subject_token_type": "t", "credential_source": {"executable": {"command": "sh"}}}`)},
	} {
		class := b.class(provider.OpenShift, "prod")
		class.Credentials = credentials
		if _, err := b.start().Open(t.Context(), class); provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), why) {
			t.Errorf("want %q, got %v", why, err)
		}
	}
}

// TestQuirkInstanceIDIsTheName: the original's provider status has the name in place of the ID.
func TestQuirkInstanceIDIsTheName(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.OpenShift, "prod"))
	i := b.running(s, ref("m"), provider.Want{})
	raw, err := s.Status(i)
	var status struct {
		Kind, InstanceID, InstanceState string
		Conditions                      []struct{ Type, Status, Reason string }
	}
	if err != nil || json.Unmarshal(raw, &status) != nil {
		t.Fatal(err)
	}
	if status.InstanceID != i.ID || status.InstanceID == "m" || status.InstanceState != "RUNNING" || status.Kind != "GCPMachineProviderStatus" ||
		len(status.Conditions) != 1 || status.Conditions[0].Type != "MachineCreated" || status.Conditions[0].Status != "True" {
		t.Errorf("the status is %s", raw)
	}
}

// TestQuirkThreeSlashes: Gardener's provider IDs have three slashes, those of nodes two. Both are read, and
// each API's form is written.
func TestQuirkThreeSlashes(t *testing.T) {
	b := newBench(t)
	for api, want := range map[string]string{provider.OpenShift: "gce://rehearsal/us-east1-b/m", provider.Gardener: "gce:///rehearsal/us-east1-b/m"} {
		s := b.open(b.class(api, "of-"+strings.ReplaceAll(api, ".", "-")))
		r := ref("m")
		if i := b.running(s, r, provider.Want{}); i.ProviderID != want {
			t.Errorf("%s writes %s", api, i.ProviderID)
		}
		for _, g := range b.cloud.Guests() {
			if !provider.SameInstance(s, g.ProviderID, want) {
				t.Errorf("%s does not know its node's %s", api, g.ProviderID)
			}
		}
		b.remove(s, r)
	}
}

// TestQuirkListsTheZone: the original reads all instances of a zone to find one, and again to delete it.
func TestQuirkListsTheZone(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.Gardener, "prod"))
	for n := range 12 {
		b.create(s, ref(fmt.Sprintf("m-%02d", n)), provider.Want{})
	}
	b.clock.Advance(10 * time.Second)
	before := b.server.Counts()
	b.find(s, ref("m-07"))
	after := b.server.Counts()
	if n := after["instances.aggregatedList"] - before["instances.aggregatedList"]; n != 1 {
		t.Errorf("%d lists are made to find one instance", n)
	}
	if n := after["instances.aggregatedList page"] - before["instances.aggregatedList page"]; n != 0 {
		t.Errorf("%d further pages are read to find one instance", n)
	}
}

// TestQuirkSessionForEachCall: the originals' plug-ins open a session for each call, with a token of its own.
func TestQuirkSessionForEachCall(t *testing.T) {
	b := newBench(t)
	p := b.start()
	for n := range 5 {
		s, err := p.Open(t.Context(), b.class(provider.Gardener, "prod"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Find(t.Context(), ref(fmt.Sprint("m-", n))); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.server.Counts()["token"]; n != 1 {
		t.Errorf("%d tokens are asked for", n)
	}
}

// TestQuirkWaitsInsideACall: the original polls the operation for up to five minutes.
func TestQuirkWaitsInsideACall(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.Gardener, "prod"))
	if i := b.create(s, ref("m"), provider.Want{}); i.State != provider.Pending {
		t.Errorf("it is %s", i.State)
	}
	if done, err := s.Delete(t.Context(), ref("m"), nil); done || err != nil {
		t.Errorf("delete: %t, %v", done, err)
	}
	if c := b.server.Counts(); c["operations.get"]+c["operations.wait"] > 0 {
		t.Errorf("operations are polled: %v", c)
	}
}

// TestCallsForMachines counts the calls for fifty machines.
func TestCallsForMachines(t *testing.T) {
	const n = 50
	b := newBench(t, func(o *gce.Options) { o.PageSize = 500 })
	s := b.open(b.class(provider.OpenShift, "prod"))
	calls := func(do func()) map[string]int {
		before := b.server.Counts()
		do()
		made := map[string]int{}
		for name, count := range b.server.Counts() {
			if count > before[name] {
				made[name] = count - before[name]
			}
		}
		return made
	}
	all := func(do func(provider.Ref)) func() {
		return func() {
			for k := range n {
				do(ref(fmt.Sprintf("m-%02d", k)))
			}
		}
	}
	expect := func(what string, got, want map[string]int) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s costs %v, want %v", what, got, want)
		}
	}
	expect("creation", calls(all(func(r provider.Ref) { b.create(s, r, provider.Want{}) })), map[string]int{
		"instances.aggregatedList": n, "operations.aggregatedList": n, "instances.insert": n, // and once for all of them:
		"images.get": 1, "token": 1,
	})
	b.clock.Advance(10 * time.Second)
	expect("a look at all", calls(func() {
		for _, err := range s.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}), map[string]int{"instances.aggregatedList": 1})
	expect("the beginning of a deletion", calls(all(func(r provider.Ref) { _, _ = s.Delete(t.Context(), r, nil) })), map[string]int{
		"instances.aggregatedList": n, "instances.delete": n,
	})
	expect("a look at a deletion", calls(all(func(r provider.Ref) { _, _ = s.Delete(t.Context(), r, nil) })), map[string]int{
		"instances.aggregatedList": n, "operations.list": n,
	})
	b.clock.Advance(10 * time.Second)
	expect("the end of a deletion", calls(all(func(r provider.Ref) {
		if done, err := s.Delete(t.Context(), r, nil); !done || err != nil {
			t.Errorf("%t, %v", done, err)
		}
	})), map[string]int{"instances.aggregatedList": n, "operations.aggregatedList": n, "disks.aggregatedList": n})
}

// TestNoExternalIPv6: an IPv6 access type is sent as it is, and requests no address in any stack, as in the
// original.
func TestNoExternalIPv6(t *testing.T) {
	for _, stack := range []string{"IPV4_IPV6", "IPV4_ONLY", ""} {
		b := newBench(t)
		class := b.class(provider.Gardener, "prod")
		var all map[string]any
		if err := json.Unmarshal(class.Spec, &all); err != nil {
			t.Fatal(err)
		}
		all["networkInterfaces"] = []any{map[string]any{"network": "n", "subnetwork": "s", "stackType": stack, "ipv6accessType": "EXTERNAL", "disableExternalIP": true}}
		spec, err := decodeTree(all)
		if err != nil {
			t.Fatal(err)
		}
		i, err := spec.instance(placement{project: "p", region: "r", zone: "z", machineType: "t"}, nil)
		if err != nil || len(i.NetworkInterfaces[0].Ipv6AccessConfigs)+len(i.NetworkInterfaces[0].AccessConfigs) > 0 {
			t.Errorf("%q: %+v, %v", stack, i.NetworkInterfaces[0], err)
		}
		if sent := i.NetworkInterfaces[0].Ipv6AccessType; (sent == "EXTERNAL") != (stack == "IPV4_IPV6") {
			t.Errorf("%q: the type is %q", stack, sent)
		}
	}
}

func decodeTree(tree any) (plan, error) {
	raw, err := json.Marshal(tree)
	if err != nil {
		return plan{}, err
	}
	return decode(provider.Gardener, raw)
}
