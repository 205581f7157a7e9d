package cloud_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ec2"
	"github.com/millwright-dev/millwright/provider"
)

func TestQuirkNoInstanceAfterAFailedLookup(t *testing.T) {
	w := sample(t)
	s := w.open(t, classOf(provider.OpenShift, "c1"))
	w.server.Inject(double.Fault{Operation: "DescribeInstances", Failure: double.Failure{Kind: "Transient"}})
	if _, err := s.Create(t.Context(), refOf("m"), want); err == nil {
		t.Error("an instance is made although nobody could say whether there is one")
	}
	if n := w.server.Counts()["RunInstances"]; n != 0 {
		t.Errorf("RunInstances was called %d times", n)
	}
	w.server.Heal()
	w.running(t, s, refOf("m"))
	if token := w.Received("RunInstances")[0].Get("ClientToken"); token != refOf("m").Token("c1") {
		t.Errorf("the token is %q", token)
	}
}

func TestQuirkHostKeepsZoneGroupAndPartition(t *testing.T) {
	w := sample(t)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"placementGroupName":"together","placementGroupPartition":3,"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"id":"h-0123456789abcdef0"}}}}`)
	w.running(t, w.open(t, class), refOf("m"))
	got := w.Received("RunInstances")[0]
	for key, value := range map[string]string{
		"AvailabilityZone": "us-east-1a", "GroupName": "together", "PartitionNumber": "3", "HostId": "h-0123456789abcdef0", "Tenancy": "host", "Affinity": "host",
	} {
		if got.Get("Placement."+key) != value {
			t.Errorf("Placement.%s is %q, want %q", key, got.Get("Placement."+key), value)
		}
	}
	if tags := w.Received("CreateTags"); len(tags) != 1 || tags[0].Get("Tag.1.Value") != "shared" {
		t.Errorf("the user's host is tagged by %v", tags)
	}
}

// An instance stays its machine's when tags of the class change: that of the role, or that of the cluster.
func TestQuirkTagsOfAClassMayChange(t *testing.T) {
	for reason, tags := range map[string]string{
		"another role": `{"kubernetes.io/role/node":null,"kubernetes.io/role/worker":"1"}`, "another name of the cluster": `{"kubernetes.io/cluster/c1":null,"kubernetes.io/cluster/c2":"1"}`,
		"no tags": `null`,
	} {
		w := sample(t)
		class, ref := classOf(provider.Gardener, "c1"), refOf("m")
		ref.ProviderID = w.running(t, w.open(t, class), ref).ProviderID
		class.Spec = merged(t, class.Spec, `{"tags":`+tags+`}`)
		changed := w.open(t, class)
		i := w.found(t, changed, ref)
		initialize(t, changed, ref, i)
		w.deleted(t, changed, ref, i)
		if state := w.Instances()[0].State; state != "terminated" && state != "shutting-down" {
			t.Errorf("%s: the instance is %s", reason, state)
		}
	}
}

// Of tags with one name the first counts, as in the original: those of an instance, and those of a host.
func TestQuirkTheFirstOfTwoTagsCounts(t *testing.T) {
	w := sample(t)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, strings.Replace(dynamicHost, `{"name":"cost","value":"7"}`, `{"name":"cost","value":"7"},{"name":"cost","value":"8"}`, 1))
	class.Spec = merged(t, class.Spec, `{"tags":[{"name":"team","value":"blue"},{"name":"team","value":"red"}]}`)
	w.running(t, w.open(t, class), refOf("m"))
	for operation, tag := range map[string][2]string{"AllocateHosts": {"cost", "7"}, "RunInstances": {"team", "blue"}} {
		if got := (record{}).parametersOf(w.Received(operation)[0])["Tag."+map[string]string{"AllocateHosts": "dedicated-host", "RunInstances": "instance"}[operation]+"."+tag[0]]; got != tag[1] {
			t.Errorf("%s: tag %s is %q, want %q", operation, tag[0], got, tag[1])
		}
	}
}

// A user's host that may not be tagged is still used.
func TestQuirkAHostThatCannotBeTagged(t *testing.T) {
	for reason, refuse := range map[string]func(w *world){
		"a right is missing": func(w *world) {
			keys := ec2.Sample().Credentials[0]
			keys.Deny = []string{"CreateTags"}
			w.SetCredentials(keys)
		},
		"it has as many tags as it can have": func(w *world) {
			w.server.Inject(double.Fault{Operation: "CreateTags", Failure: double.Failure{Kind: "Invalid"}})
		},
	} {
		w := sample(t)
		refuse(w)
		class := classOf(provider.OpenShift, "c1")
		class.Spec = merged(t, class.Spec, `{"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"id":"h-0123456789abcdef0"}}}}`)
		if _, err := w.open(t, class).Create(t.Context(), refOf("m"), want); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
		if n := len(w.Received("RunInstances")); n != 1 {
			t.Errorf("%s: %d instances are asked for", reason, n)
		}
	}
}

// A zone that only a filter of subnets names is that of the subnet, as in the original.
func TestQuirkAZoneOfAFilterIsNoPlacement(t *testing.T) {
	w := sample(t)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"placement":{"availabilityZone":null},"subnet":{"filters":[{"name":"availability-zone","values":["us-east-1b"]}]}}`)
	if i := w.running(t, w.open(t, class), refOf("m")); i.Zone != "us-east-1b" {
		t.Errorf("it runs in %s", i.Zone)
	}
	if zone, ok := w.Received("RunInstances")[0]["Placement.AvailabilityZone"]; ok {
		t.Errorf("the placement is asked for in %s", zone)
	}
}

func TestQuirkDeleteIsNotDoneBeforeTheHostIsReleased(t *testing.T) {
	w := sample(t)
	s := w.open(t, onHosts(provider.OpenShift, "c1"))
	ref := refOf("m")
	i := w.running(t, s, ref)
	if len(w.Hosts()) != 1 {
		t.Fatalf("hosts: %v", w.Hosts())
	}
	w.server.Inject(double.Fault{Operation: "ReleaseHosts", Failure: double.Failure{Kind: "Throttled"}, Times: 2})
	failed := 0
	for range 20 {
		done, err := s.Delete(t.Context(), ref, []provider.Instance{i})
		if err != nil {
			failed++
		}
		if done {
			break
		}
		w.clock.Advance(2 * time.Second)
	}
	if failed != 2 || len(w.Hosts()) != 0 {
		t.Errorf("delete failed %d times, want 2; hosts left: %v", failed, w.Hosts())
	}
}

func TestQuirkQuotaAndCapacityAreNeverTerminal(t *testing.T) {
	for name, change := range map[string]func(*ec2.Inventory){
		"quota of vCPUs":     func(i *ec2.Inventory) { i.Quotas.VCPUs = 2 },
		"quota of instances": func(i *ec2.Inventory) { i.Quotas.Instances = 1 },
		"capacity of a type": func(i *ec2.Inventory) { i.Capacity = map[string]int{"us-east-1a/m5.large": 1} },
		"capacity of a zone": func(i *ec2.Inventory) { i.Capacity = map[string]int{"us-east-1a": 1} },
		"addresses":          func(i *ec2.Inventory) { i.Subnets[0].CIDR = "10.0.0.0/29" },
	} {
		for _, api := range []string{provider.OpenShift, provider.Gardener} {
			inventory := ec2.Sample()
			change(&inventory)
			w := newWorld(t, ec2.Options{Inventory: inventory})
			s := w.open(t, classOf(api, "c1"))
			var err error
			for n := range 5 {
				if _, err = s.Create(t.Context(), refOf(fmt.Sprintf("m-%d", n)), want); err != nil {
					break
				}
			}
			if provider.KindOf(err) != provider.Exhausted {
				t.Errorf("%s in %s: %v of kind %q, want Exhausted", name, api, err, provider.KindOf(err))
			}
		}
	}
}

func TestQuirkThrottledLookupsAreNotInvalid(t *testing.T) {
	for _, operation := range []string{"DescribeSubnets", "DescribeSecurityGroups", "DescribeImages"} {
		w := sample(t)
		s := w.open(t, classOf(provider.OpenShift, "c1"))
		w.server.Inject(double.Fault{Operation: operation, Failure: double.Failure{Kind: "Throttled"}, Times: 1})
		if _, err := s.Create(t.Context(), refOf("m"), want); provider.KindOf(err) != provider.Throttled {
			t.Errorf("throttled %s: %v of kind %q", operation, err, provider.KindOf(err))
		}
		if _, err := s.Create(t.Context(), refOf("m"), want); err != nil {
			t.Errorf("after throttled %s: %v", operation, err)
		}
	}
}

// Names of nodes in the domains of their network do not disappear because the domains cannot be read for a
// moment.
func TestQuirkDomainsDoNotComeAndGo(t *testing.T) {
	inventory := ec2.Sample()
	inventory.Networks[0].Domains = []string{"corp.example"}
	for _, operation := range []string{"DescribeVpcs", "DescribeDhcpOptions"} {
		for _, kind := range []string{"Throttled", "Transient"} {
			w := newWorld(t, ec2.Options{Inventory: inventory})
			s, ref := w.open(t, classOf(provider.OpenShift, "c1")), refOf("m")
			fail := func() {
				w.server.Inject(double.Fault{Operation: operation, Failure: double.Failure{Kind: kind}, Times: 1})
			}
			named := func(i provider.Instance) bool {
				return slices.ContainsFunc(i.Addresses, func(a corev1.NodeAddress) bool {
					return a.Type == corev1.NodeInternalDNS && strings.HasSuffix(a.Address, ".corp.example")
				})
			}
			fail()
			if i, err := s.Create(t.Context(), ref, want); err != nil || i.ID == "" {
				t.Fatalf("%s of %s: what was made is not told: %v", kind, operation, err)
			}
			w.clock.Advance(time.Minute)
			fail()
			if _, err := s.Find(t.Context(), ref); string(provider.KindOf(err)) != kind {
				t.Errorf("%s of %s is taken for no domains: %v", kind, operation, err)
			}
			if !named(w.found(t, s, ref)) {
				t.Errorf("%s of %s is remembered as no domains", kind, operation)
			}
			w.server.Inject(double.Fault{Operation: operation, Failure: double.Failure{Kind: kind}})
			before := w.server.Counts()[operation]
			for range 20 {
				w.clock.Advance(5 * time.Minute)
				if !named(w.found(t, s, ref)) {
					t.Fatalf("%s of %s takes away the name that was there", kind, operation)
				}
			}
			if w.server.Counts()[operation] == before {
				t.Errorf("%s was not asked for again", operation)
			}
		}
	}
}

// Without the permission to read domains the list is empty, and instances are still visible.
func TestQuirkDomainsThatMayNotBeRead(t *testing.T) {
	w := sample(t)
	keys := ec2.Sample().Credentials[0]
	keys.Deny = []string{"DescribeVpcs"}
	w.SetCredentials(keys)
	s, ref := w.open(t, classOf(provider.OpenShift, "c1")), refOf("m")
	w.running(t, s, ref)
	for range 3 {
		w.found(t, s, ref)
	}
	if n := w.server.Counts()["DescribeVpcs"]; n != 1 {
		t.Errorf("what is not permitted is asked for %d times", n)
	}
}

func TestQuirkProviderIDsOfBothFormatsNameOneInstance(t *testing.T) {
	w := sample(t)
	zoned := w.open(t, classOf(provider.OpenShift, "c1"))
	regional := w.open(t, classOf(provider.Gardener, "c1"))
	ref := refOf("m")
	a := w.running(t, zoned, ref)
	b := w.found(t, regional, ref)
	if a.ProviderID != "aws:///us-east-1a/"+a.ID || b.ProviderID != "aws:///us-east-1/"+a.ID {
		t.Errorf("provider IDs %s and %s", a.ProviderID, b.ProviderID)
	}
	node := w.Guests()[0]
	for _, s := range []provider.Session{zoned, regional} {
		if !provider.SameInstance(s, node.ProviderID, a.ProviderID) || !provider.SameInstance(s, node.ProviderID, b.ProviderID) {
			t.Error("the node's provider ID is not known again")
		}
	}
	if b.NodeName != node.NodeName {
		t.Errorf("the node is called %s, foretold is %q", node.NodeName, b.NodeName)
	}
	if !slices.Contains(a.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: node.NodeName}) {
		t.Errorf("addresses %v do not have the node's name %s", a.Addresses, node.NodeName)
	}
}

func TestQuirkClientsAreSharedBySessions(t *testing.T) {
	w := sample(t)
	p := w.start()
	for n := range 10 {
		class := classOf(provider.Gardener, "c1")
		class.Credentials["userData"] = fmt.Appendf(nil, "#cloud-config %d", n)
		s, err := p.Open(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Account(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.server.Counts()["sts.GetCallerIdentity"]; n != 1 {
		t.Errorf("the account was asked for %d times", n)
	}
}
