package cloud_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ec2"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

var want = provider.Want{UserData: []byte("#cloud-config\n"), Role: "worker"}

func refOf(name string) provider.Ref {
	return provider.Ref{UID: "0b6c1a4e-0000-4000-8000-" + fmt.Sprintf("%012x", name), Namespace: "machines", Name: name}
}

// running makes the machine's instance and lets it boot.
func (w *world) running(t *testing.T, s provider.Session, ref provider.Ref) provider.Instance {
	t.Helper()
	if _, err := s.Create(t.Context(), ref, want); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Minute)
	return w.found(t, s, ref)
}

func (w *world) found(t *testing.T, s provider.Session, ref provider.Ref) provider.Instance {
	t.Helper()
	all, err := s.Find(t.Context(), ref)
	if err != nil || len(all) != 1 {
		t.Fatalf("find %s: %d instances, error %v", ref.Name, len(all), err)
	}
	return all[0]
}

func (w *world) deleted(t *testing.T, s provider.Session, ref provider.Ref, given ...provider.Instance) {
	t.Helper()
	for range 10 {
		done, err := s.Delete(t.Context(), ref, given)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			return
		}
		w.clock.Advance(2 * time.Second)
	}
	t.Fatal("delete does not end")
}

func initialize(t *testing.T, s provider.Session, ref provider.Ref, i provider.Instance) {
	t.Helper()
	in, _ := provider.As[provider.Initializer](s)
	if err := in.Initialize(t.Context(), ref, i); err != nil {
		t.Fatal(err)
	}
}

func sample(t *testing.T) *world {
	return newWorld(t, ec2.Options{Inventory: ec2.Sample()})
}

// Quirk of the original: a failed lookup went straight to RunInstances, without a token.
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

// Quirk of the original: a host took the place of zone, group and partition.
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

// Quirk of the original: a host that could not be released was only logged.
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

// Quirk of the originals: every answer of 4xx ended the machine. Quota and capacity come with 400 and 500.
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

// Weakness of the original (C4): a throttled lookup of a subnet, a group or an image ended the machine.
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

// Quirk of the other original: a provider ID with the region is not what nodes have. Both are read, and each API's is written.
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

// Quirk of plug-ins: a new session of the cloud for each call.
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
		a, _ := provider.As[provider.Accounter](s)
		if _, err := a.Account(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.server.Counts()["sts.GetCallerIdentity"]; n != 1 {
		t.Errorf("the account was asked for %d times", n)
	}
}

func TestLoadBalancersAreKeptUpToDate(t *testing.T) {
	w := sample(t)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"loadBalancers":[{"name":"c1-ext","type":"network"},{"name":"c1-int","type":"network"},{"name":"c1-classic","type":"classic"}]}`)
	s := w.open(t, class)
	ref := refOf("master-0")
	i := w.running(t, s, ref)
	if !i.Uninitialized {
		t.Fatal("no load balancer knows it, and it is initialized")
	}
	knows := func(want int) {
		t.Helper()
		for _, group := range []string{"c1-aext", "c1-aint", "c1-sint", "c1-classic"} {
			if got := w.Targets(group); len(got) != want {
				t.Errorf("%s knows %v, want %d", group, got, want)
			}
		}
	}
	initialize(t, s, ref, i)
	knows(1)
	if i = w.found(t, s, ref); i.Uninitialized {
		t.Error("it is registered, and not initialized")
	}
	if err := w.Do("deregister", i.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(2 * time.Minute)
	if i = w.found(t, s, ref); !i.Uninitialized {
		t.Error("that somebody has taken it out of load balancers is not seen")
	}
	initialize(t, s, ref, i)
	knows(1)
	w.deleted(t, s, ref, i)
	knows(0)
}

func TestEndedOutsideLeavesNoAddressInLoadBalancers(t *testing.T) {
	w := sample(t)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"loadBalancers":[{"name":"c1-ext","type":"network"}]}`)
	s := w.open(t, class)
	ref := refOf("master-0")
	i := w.running(t, s, ref)
	initialize(t, s, ref, i)
	w.Vanish(i.ID)
	if got := w.Targets("c1-aext"); len(got) != 1 {
		t.Fatalf("groups of addresses do not notice that: %v", got)
	}
	// The address is another machine's by now: it stays.
	other := w.running(t, s, refOf("master-1"))
	if other.Addresses[0] != i.Addresses[0] {
		t.Fatalf("the address was not given again: %v, %v", other.Addresses, i.Addresses)
	}
	w.deleted(t, s, ref, i)
	if got := w.Targets("c1-aext"); len(got) != 1 {
		t.Errorf("the address of a living machine was taken out: %v", got)
	}
	w.Vanish(other.ID)
	w.clock.Advance(2 * time.Minute)
	w.deleted(t, s, refOf("master-1"), other)
	if got := w.Targets("c1-aext"); len(got) != 0 {
		t.Errorf("an address is left: %v", got)
	}
}

func TestTagsAreRepaired(t *testing.T) {
	w := sample(t)
	infrastructure := w.objects["Infrastructure/cluster"].(*configv1.Infrastructure)
	infrastructure.Status.PlatformStatus.AWS.ResourceTags = []configv1.AWSResourceTag{{Key: "cost", Value: "7"}, {Key: "team", Value: "red"}}
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"tags":[{"name":"team","value":"blue"},{"name":"team","value":"green"},{"name":"Name","value":"mine"},{"name":"kubernetes.io/cluster/other","value":"owned"},{"name":"millwright.dev/machine-uid","value":"x"}]}`)
	s := w.open(t, class)
	ref := refOf("m")
	i := w.running(t, s, ref)
	for key, value := range map[string]string{"cost": "7", "team": "blue", "Name": "m", "kubernetes.io/cluster/c1": "owned", "kubernetes.io/cluster/other": "", "millwright.dev/machine-uid": ref.UID} {
		if i.Tags[key] != value {
			t.Errorf("tag %s is %q, want %q", key, i.Tags[key], value)
		}
	}
	if i.Uninitialized {
		t.Error("there is something to do to an instance that has all tags")
	}
	infrastructure.Status.PlatformStatus.AWS.ResourceTags[0].Value = "8"
	s = w.open(t, class)
	if i = w.found(t, s, ref); !i.Uninitialized {
		t.Fatal("a tag that has changed is not seen")
	}
	initialize(t, s, ref, i)
	if i = w.found(t, s, ref); i.Uninitialized || i.Tags["cost"] != "8" || i.Tags["team"] != "blue" {
		t.Errorf("repaired: %v", i.Tags)
	}
}

func TestTagsThatMayNotBeWrittenHoldUpNothing(t *testing.T) {
	w := sample(t)
	s := w.open(t, classOf(provider.OpenShift, "c1"))
	ref := refOf("m")
	w.running(t, s, ref)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"tags":[{"name":"team","value":"blue"}]}`)
	s = w.open(t, class)
	keys := ec2.Sample().Credentials[0]
	keys.Deny = []string{"CreateTags"}
	w.SetCredentials(keys)
	i := w.found(t, s, ref)
	initialize(t, s, ref, i)
	if w.found(t, s, ref).Uninitialized {
		t.Error("what may not be done is asked for in each pass")
	}
}

func TestSpotIsToldAndTakenBack(t *testing.T) {
	w := sample(t)
	class := classOf(provider.Gardener, "c1")
	class.Spec = merged(t, class.Spec, `{"spotPrice":""}`)
	s := w.open(t, class)
	ref := refOf("m")
	i := w.running(t, s, ref)
	if !i.Interruptible {
		t.Error("a spot instance is not called interruptible")
	}
	if err := w.Do("interrupt", i.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(3 * time.Minute)
	if i = w.found(t, s, ref); i.State != provider.Terminated || i.Fault != nil {
		t.Errorf("after it was taken back: %s, fault %v", i.State, i.Fault)
	}
	class.Spec = merged(t, class.Spec, `{"spotPrice":"0.0"}`)
	_, err := w.open(t, class).Create(t.Context(), refOf("m-2"), want)
	if provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != provider.ScopeType {
		t.Errorf("a price that is too low: %v", err)
	}
}

func TestUserDataIsBoundedAndArrives(t *testing.T) {
	w := sample(t)
	s := w.open(t, classOf(provider.OpenShift, "c1"))
	long := provider.Want{UserData: []byte(strings.Repeat("x", 16<<10))}
	if _, err := s.Create(t.Context(), refOf("m"), long); err != nil {
		t.Errorf("16 KiB: %v", err)
	}
	w.clock.Advance(time.Minute)
	if g := w.Guests(); len(g) != 1 || string(g[0].UserData) != string(long.UserData) {
		t.Error("the guest was not given the user data")
	}
	long.UserData = append(long.UserData, 'x')
	_, err := s.Create(t.Context(), refOf("m-2"), long)
	if provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), "16385 bytes") || !strings.HasPrefix(err.Error(), "userDataSecret: ") {
		t.Errorf("one byte more: %v", err)
	}
}

func TestNewestImageIsFoundByFilters(t *testing.T) {
	w := sample(t)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"ami":{"id":null,"filters":[{"name":"tag:os","values":["rh*"]}]}}`)
	w.running(t, w.open(t, class), refOf("m"))
	got := w.Received("RunInstances")[0]
	if got.Get("ImageId") != "ami-0fedcba9876543210" || got.Get("BlockDeviceMapping.1.DeviceName") != "/dev/sda1" {
		t.Errorf("made of %s with root %s", got.Get("ImageId"), got.Get("BlockDeviceMapping.1.DeviceName"))
	}
}

func TestWavelengthZonesGiveCarriersAddresses(t *testing.T) {
	w := sample(t)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"publicIp":true,"placement":{"availabilityZone":"us-east-1-wl1-bos-wlz-1"},"subnet":{"filters":[{"name":"tag:Name","values":["c1-edge"]}]}}`)
	w.running(t, w.open(t, class), refOf("m"))
	got := w.Received("RunInstances")[0]
	if got.Get("NetworkInterface.1.AssociateCarrierIpAddress") != "true" || got.Has("NetworkInterface.1.AssociatePublicIpAddress") {
		t.Errorf("request: %v", got)
	}
}

func TestClustersWhoseFirstProtocolIsIPv6(t *testing.T) {
	w := sample(t)
	w.objects["Infrastructure/cluster"].(*configv1.Infrastructure).Status.PlatformStatus.AWS.IPFamily = configv1.DualStackIPv6Primary
	w.running(t, w.open(t, classOf(provider.OpenShift, "c1")), refOf("m"))
	got := w.Received("RunInstances")[0]
	for key, value := range map[string]string{
		"NetworkInterface.1.PrimaryIpv6": "true", "NetworkInterface.1.Ipv6AddressCount": "1", "PrivateDnsNameOptions.HostnameType": "resource-name",
		"PrivateDnsNameOptions.EnableResourceNameDnsARecord": "true", "PrivateDnsNameOptions.EnableResourceNameDnsAAAARecord": "true", "MetadataOptions.HttpProtocolIpv6": "enabled",
	} {
		if got.Get(key) != value {
			t.Errorf("%s is %q, want %q", key, got.Get(key), value)
		}
	}
}

func TestRoutesAndPrefixesOfAClass(t *testing.T) {
	w := sample(t)
	class := classOf(provider.Gardener, "c1")
	class.Spec = merged(t, class.Spec, `{"networkInterfaces":[{"subnetID":"subnet-0a00000000000000a","securityGroupIDs":["sg-0123456789abcdef0"],"ipv6PrefixCount":1},{"subnetID":"subnet-0a00000000000000a","securityGroupIDs":["sg-0123456789abcdef0"],"interfaceType":"efa"}]}`)
	s := w.open(t, class)
	ref := refOf("m")
	i := w.running(t, s, ref)
	if !i.Uninitialized {
		t.Fatal("nothing is to be done to it")
	}
	initialize(t, s, ref, i)
	if w.found(t, s, ref).Uninitialized {
		t.Error("something is still to be done")
	}
	initialize(t, s, ref, i)
	if counts := w.server.Counts(); counts["ModifyNetworkInterfaceAttribute"] != 1 || counts["AssignIpv6Addresses"] != 1 {
		t.Errorf("calls: %v; an interface of type efa is left alone, and nothing is done twice", counts)
	}
}

func TestSizes(t *testing.T) {
	w := sample(t)
	class := classOf(provider.OpenShift, "c1")
	class.Spec = merged(t, class.Spec, `{"instanceType":"p3.8xlarge"}`)
	sizer, _ := provider.As[provider.Sizer](w.open(t, class))
	for range 3 {
		got, err := sizer.Size(t.Context())
		if err != nil || got.VCPU != 32 || got.GPU != 4 || got.GPUResource != "nvidia.com/gpu" || got.Architecture != "amd64" || got.MemoryMiB != 249856 || got.EphemeralStorageMiB != 120<<10 {
			t.Errorf("size %+v, error %v", got, err)
		}
	}
	if n := w.server.Counts()["DescribeInstanceTypes"]; n != 1 {
		t.Errorf("the type was asked for %d times", n)
	}
	class.Spec = merged(t, class.Spec, `{"instanceType":"m5.small-typo"}`)
	sizer, _ = provider.As[provider.Sizer](w.open(t, class))
	if _, err := sizer.Size(t.Context()); provider.KindOf(err) != provider.Invalid || !strings.HasPrefix(err.Error(), "instanceType: ") {
		t.Errorf("a type that does not exist: %v", err)
	}
	class = classOf(provider.Gardener, "c1")
	class.Spec = merged(t, class.Spec, `{"machineType":"m6g.large","cpuOptions":{"coreCount":1,"threadsPerCore":1}}`)
	sizer, _ = provider.As[provider.Sizer](w.open(t, class))
	if got, err := sizer.Size(t.Context()); err != nil || got.VCPU != 1 || got.Architecture != "arm64" {
		t.Errorf("size %+v, error %v", got, err)
	}
}

func TestStatusIsTheOriginals(t *testing.T) {
	w := sample(t)
	s := w.open(t, onHosts(provider.OpenShift, "c1"))
	i := w.running(t, s, refOf("m"))
	r, _ := provider.As[provider.StatusReporter](s)
	got, err := r.Status(i)
	if err != nil {
		t.Fatal(err)
	}
	host := i.Tags["millwright.dev/dedicated-host"]
	for _, part := range []string{`"kind":"AWSMachineProviderStatus"`, `"instanceId":"` + i.ID + `"`, `"instanceState":"running"`, `"type":"MachineCreation","status":"True"`, `"dedicatedHost":{"id":"` + host + `"}`} {
		if !strings.Contains(string(got), part) {
			t.Errorf("%s lacks %s", got, part)
		}
	}
}

// calls says what fifty machines cost: each is made by one call that changes something, and reads are shared.
func TestCallsOfFiftyMachines(t *testing.T) {
	const machines = 50
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		w := newWorld(t, ec2.Options{Inventory: ec2.Sample()})
		class := classOf(api, "c1")
		class.Spec = merged(t, class.Spec, `{"srcAndDstChecksEnabled":null}`)
		s, err := decorate.Coalesce(w.start(), w.clock, decorate.Reads{}).Open(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		before := w.server.Counts()
		spent := func() map[string]int {
			now := w.server.Counts()
			out := map[string]int{}
			for op, n := range now {
				if n > before[op] {
					out[op] = n - before[op]
				}
			}
			before = now
			return out
		}
		all := make([]provider.Instance, machines)
		each(t, machines, func(ctx context.Context, n int) (err error) {
			all[n], err = s.Create(ctx, refOf(fmt.Sprintf("m-%d", n)), want)
			return err
		})
		if got := spent(); got["RunInstances"] != machines || got["DescribeInstances"] > 2*machines || got["DescribeSubnets"] > 1 || got["DescribeSecurityGroups"] > 1 || got["DescribeImages"] > 1 || writes(got) != machines {
			t.Errorf("%s: creating %d machines: %v", api, machines, got)
		} else {
			t.Logf("%s: creating %d machines: %v", api, machines, got)
		}
		w.clock.Advance(2 * time.Minute)
		for range 6 { // a minute at rest: everybody looks every ten seconds
			each(t, machines, func(ctx context.Context, n int) error {
				ref := refOf(fmt.Sprintf("m-%d", n))
				ref.ProviderID = all[n].ProviderID
				found, err := s.Find(ctx, ref)
				if err == nil && len(found) != 1 {
					err = fmt.Errorf("%d instances", len(found))
				}
				return err
			})
			w.clock.Advance(10 * time.Second)
		}
		if got := spent(); got["DescribeInstances"] > 60 || writes(got) != 0 {
			t.Errorf("%s: a minute at rest: %v", api, got)
		} else {
			t.Logf("%s: a minute at rest: %v", api, got)
		}
		for range 3 {
			each(t, machines, func(ctx context.Context, n int) error {
				_, err := s.Delete(ctx, refOf(fmt.Sprintf("m-%d", n)), all[n:n+1])
				return err
			})
			w.clock.Advance(3 * time.Second)
		}
		got := spent()
		if got["TerminateInstances"] != machines || writes(got) != machines {
			t.Errorf("%s: deleting: %v", api, got)
		}
		t.Logf("%s: deleting %d machines: %v", api, machines, got)
	}
}

func writes(counts map[string]int) (n int) {
	for op, k := range counts {
		if !strings.HasPrefix(op, "Describe") && !strings.Contains(op, ".Describe") && op != "sts.GetCallerIdentity" {
			n += k
		}
	}
	return n
}

func each(t *testing.T, n int, do func(context.Context, int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() {
			if err := do(t.Context(), k); err != nil {
				t.Errorf("%d: %v", k, err)
			}
		})
	}
	wg.Wait()
}

func TestEveryWayToNameCredentials(t *testing.T) {
	keys := ec2.Sample().Credentials[0]
	id, secret := []byte(keys.AccessKeyID), []byte(keys.SecretAccessKey)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("token-of-the-workload"), 0o600); err != nil {
		t.Fatal(err)
	}
	role := "arn:aws:iam::123456789012:role/machines"
	for name, c := range map[string]struct {
		secret map[string][]byte
		kind   provider.Kind
		says   string
	}{
		"keys of the one original":   {secret: map[string][]byte{"aws_access_key_id": id, "aws_secret_access_key": append(secret, '\n')}},
		"keys of the other":          {secret: map[string][]byte{"accessKeyID": id, "secretAccessKey": secret, "userData": []byte("x")}},
		"former keys of the other":   {secret: map[string][]byte{"providerAccessKeyId": id, "providerSecretAccessKey": secret}},
		"a file of credentials":      {secret: map[string][]byte{"credentials": fmt.Appendf(nil, "# ours\n[default]\naws_access_key_id = %s\naws_secret_access_key=%s\n[other]\naws_access_key_id = x\n", id, secret)}},
		"a role by a file":           {secret: map[string][]byte{"credentials": fmt.Appendf(nil, "[default]\nsts_regional_endpoints = regional\nrole_arn = %s\nweb_identity_token_file = %s\n", role, token)}},
		"a workload's identity":      {secret: map[string][]byte{"workloadIdentityTokenFile": []byte(token), "roleARN": []byte(role)}},
		"a role that trusts nobody":  {secret: map[string][]byte{"workloadIdentityTokenFile": []byte(token), "roleARN": []byte(role + "x")}, kind: provider.Denied, says: "role"},
		"a token without a role":     {secret: map[string][]byte{"workloadIdentityTokenFile": []byte(token)}, kind: provider.Denied, says: "roleARN"},
		"half a pair":                {secret: map[string][]byte{"accessKeyID": id}, kind: provider.Denied, says: "secretAccessKey"},
		"a misspelt key":             {secret: map[string][]byte{"acessKeyID": id, "secretAccesKey": secret}, kind: provider.Denied, says: "no credentials of AWS"},
		"a program":                  {secret: map[string][]byte{"credentials": []byte("[default]\ncredential_process = /bin/sh\n")}, kind: provider.Denied, says: "credential_process"},
		"a file without the profile": {secret: map[string][]byte{"credentials": []byte("[other]\naws_access_key_id = x\n")}, kind: provider.Denied, says: "default"},
		"wrong keys":                 {secret: map[string][]byte{"accessKeyID": id, "secretAccessKey": []byte("wrong")}, kind: provider.Denied, says: "SignatureDoesNotMatch"},
		"unknown keys":               {secret: map[string][]byte{"accessKeyID": []byte("AKIAX"), "secretAccessKey": secret}, kind: provider.Denied, says: "InvalidClientTokenId"},
	} {
		t.Run(name, func(t *testing.T) {
			class := classOf(provider.OpenShift, "c1")
			class.Credentials = c.secret
			a, _ := provider.As[provider.Accounter](sample(t).open(t, class))
			account, err := a.Account(t.Context())
			if provider.KindOf(err) != c.kind || c.kind == "" && account != "123456789012" {
				t.Errorf("account %q, error %v of kind %q", account, err, provider.KindOf(err))
			}
			if c.says != "" && !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%q does not say %q", err, c.says)
			}
		})
	}
}

func TestEndpointsOfTheClusterAndItsCertificates(t *testing.T) {
	w := sample(t)
	secure := httptest.NewTLSServer(w.server)
	defer secure.Close()
	i := w.objects["Infrastructure/cluster"].(*configv1.Infrastructure)
	for _, name := range []string{"ec2", "sts", "elasticloadbalancing"} {
		i.Status.PlatformStatus.AWS.ServiceEndpoints = append(i.Status.PlatformStatus.AWS.ServiceEndpoints, configv1.AWSServiceEndpoint{Name: name, URL: secure.URL})
	}
	w.url = ""
	class := classOf(provider.OpenShift, "c1")
	before := w.open(t, class)
	if _, err := before.Find(t.Context(), refOf("m")); provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without its certificate: %v", err)
	}
	w.objects["ConfigMap/kube-cloud-config"] = &corev1.ConfigMap{Data: map[string]string{"ca-bundle.pem": pemOf(secure)}}
	after := w.open(t, class)
	if _, err := after.Find(t.Context(), refOf("m")); err != nil {
		t.Errorf("with its certificate: %v", err)
	}
	a, _ := provider.As[provider.Sourced](before)
	b, _ := provider.As[provider.Sourced](after)
	if a.Source() == b.Source() {
		t.Error("a new bundle is no new source")
	}
}

func TestAPageOfHTMLIsNoAnswer(t *testing.T) {
	w := sample(t)
	s := w.open(t, classOf(provider.OpenShift, "c1"))
	w.server.Inject(double.Fault{Failure: double.Failure{Kind: "Garbage"}})
	_, err := s.Find(t.Context(), refOf("m"))
	if provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "not of AWS") {
		t.Errorf("a page of a proxy: %v", err)
	}
}

func TestWrongNamesAreToldByField(t *testing.T) {
	for _, c := range []struct{ api, patch, field string }{
		{provider.OpenShift, `{"ami":{"id":"ami-00000000000000000"}}`, "ami"},
		{provider.OpenShift, `{"ami":{"id":null,"filters":[{"name":"name","values":["none"]}]}}`, "ami"},
		{provider.OpenShift, `{"instanceType":"m5.lagre"}`, "instanceType"},
		{provider.OpenShift, `{"subnet":{"id":"subnet-00000000000000000","filters":null}}`, "subnet"},
		{provider.OpenShift, `{"subnet":{"filters":[{"name":"tag:Name","values":["none"]}]}}`, "subnet"},
		{provider.OpenShift, `{"subnet":{"filters":[{"name":"no-such-filter","values":["none"]}]}}`, ""},
		{provider.OpenShift, `{"securityGroups":[{"id":"sg-00000000000000000"}]}`, "securityGroups"},
		{provider.OpenShift, `{"securityGroups":[{"filters":[{"name":"group-name","values":["none"]}]}]}`, "securityGroups"},
		{provider.OpenShift, `{"placement":{"availabilityZone":"us-east-9z"},"subnet":{"id":null,"filters":null}}`, "placement.availabilityZone"},
		{provider.OpenShift, `{"iamInstanceProfile":{"id":"none"}}`, "iamInstanceProfile"},
		{provider.OpenShift, `{"keyName":"none"}`, "keyName"},
		{provider.OpenShift, `{"placementGroupName":"none"}`, "placementGroupName"},
		{provider.OpenShift, `{"capacityReservationId":"cr-00000000000000000"}`, "capacityReservationId"},
		{provider.OpenShift, `{"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"id":"h-00000000000000000"}}}}`, "placement.host"},
		{provider.OpenShift, `{"tags":[{"name":"aws:x","value":"1"}]}`, "tags"},
		{provider.Gardener, `{"ami":"ami-00000000000000000"}`, "ami"},
		{provider.Gardener, `{"machineType":"m5.lagre"}`, "machineType"},
		{provider.Gardener, `{"iam":{"name":"none"}}`, "iam"},
		{provider.Gardener, `{"networkInterfaces":[{"subnetID":"subnet-00000000000000000","securityGroupIDs":["sg-0123456789abcdef0"]}]}`, "networkInterfaces"},
	} {
		w := sample(t)
		class := classOf(c.api, "c1")
		class.Spec = merged(t, class.Spec, c.patch)
		_, err := w.open(t, class).Create(t.Context(), refOf("m"), want)
		if provider.KindOf(err) != provider.Invalid || c.field != "" && !strings.HasPrefix(err.Error(), c.field+": ") {
			t.Errorf("%s: %v of kind %q, want Invalid about %s", c.patch, err, provider.KindOf(err), c.field)
		}
		w.deleted(t, w.open(t, class), refOf("m"))
		if left := w.Orphans(); len(left) > 0 || len(w.Instances()) > 0 {
			t.Errorf("%s: there is %v", c.patch, left)
		}
	}
}
