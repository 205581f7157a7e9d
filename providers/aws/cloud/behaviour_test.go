package cloud_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ec2"
	"github.com/millwright-dev/millwright/provider"
)

var want = provider.Want{UserData: []byte("#cloud-config\n"), Role: "worker"}

func refOf(name string) provider.Ref {
	return provider.Ref{UID: "0b6c1a4e-0000-4000-8000-" + fmt.Sprintf("%012x", name), Namespace: "machines", Name: name}
}

// running creates the machine's instance and lets it boot.
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

// maintain maintains the instance, if it is Unkept.
func maintain(t *testing.T, s provider.Session, ref provider.Ref, i provider.Instance) error {
	t.Helper()
	m, _ := provider.As[provider.Maintainer](s)
	if !m.Unkept(ref, i) {
		t.Errorf("%s is in no need of upkeep", i.ID)
	}
	return m.Maintain(t.Context(), ref, i)
}

func unkept(s provider.Session, ref provider.Ref, i provider.Instance) bool {
	m, _ := provider.As[provider.Maintainer](s)
	return m.Unkept(ref, i)
}

func sample(t *testing.T) *world {
	return newWorld(t, ec2.Options{Inventory: ec2.Sample()})
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

// Nodes of clusters with both protocols have their instance's name: the machine reports the name of its
// node.
func TestNodesOfDualStackClusters(t *testing.T) {
	for family, byID := range map[configv1.IPFamilyType]bool{configv1.DualStackIPv4Primary: true, configv1.DualStackIPv6Primary: true, configv1.IPv4: false, "": false} {
		w := sample(t)
		w.objects["Infrastructure/cluster"].(*configv1.Infrastructure).Status.PlatformStatus.AWS.IPFamily = family
		i := w.running(t, w.open(t, classOf(provider.OpenShift, "c1")), refOf("m"))
		node := w.Guests()[0].NodeName
		if strings.HasPrefix(node, i.ID+".") != byID {
			t.Errorf("%q: the node is called %s", family, node)
		}
		if !slices.Contains(i.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: node}) {
			t.Errorf("%q: the node is called %s, and the machine tells %v", family, node, i.Addresses)
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
	i = w.found(t, s, ref)
	w.Attach(i.ID, 5) // a network plug-in of the cluster
	if w.found(t, s, ref).Uninitialized {
		t.Error("an interface that was attached later throws the machine back")
	}
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
	got, err := s.Status(i)
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

// EC2 assigns another prefix for each request, and shows assigned ones only after a while.
func TestPrefixesAreAssignedOnce(t *testing.T) {
	class := classOf(provider.Gardener, "c1")
	class.Spec = merged(t, class.Spec, `{"networkInterfaces":[{"subnetID":"subnet-0a00000000000000a","securityGroupIDs":["sg-0123456789abcdef0"],"ipv6PrefixCount":1}]}`)
	for _, lost := range []bool{false, true} {
		w := sample(t)
		s, ref := w.open(t, class), refOf("m")
		i := w.running(t, s, ref)
		in, _ := provider.As[provider.Initializer](s)
		w.SetLag(15 * time.Second)
		if lost {
			w.server.Inject(double.Fault{Operation: "AssignIpv6Addresses", Failure: double.Failure{Kind: "Transient"}, Done: true, Times: 1})
		}
		if err := in.Initialize(t.Context(), ref, i); (err != nil) != lost {
			t.Errorf("with a lost reply %v: error %v", lost, err)
		}
		for range 4 {
			w.clock.Advance(5 * time.Second)
			initialize(t, s, ref, i)
		}
		if n := w.server.Counts()["AssignIpv6Addresses"]; n != 1 {
			t.Errorf("with a lost reply %v: prefixes are assigned %d times", lost, n)
		}
		if i = w.found(t, s, ref); i.Uninitialized {
			t.Errorf("with a lost reply %v: it lacks something", lost)
		}
	}
	// A step that was not taken is taken once that is certain.
	w := sample(t)
	s, ref := w.open(t, class), refOf("m")
	i := w.running(t, s, ref)
	in, _ := provider.As[provider.Initializer](s)
	w.server.Inject(double.Fault{Operation: "AssignIpv6Addresses", Failure: double.Failure{Kind: "Transient"}, Times: 1})
	if err := in.Initialize(t.Context(), ref, i); provider.KindOf(err) != provider.Transient {
		t.Errorf("a failure is %v", err)
	}
	w.clock.Advance(41 * time.Second)
	initialize(t, s, ref, i)
	if i = w.found(t, s, ref); i.Uninitialized {
		t.Errorf("a prefix that was not assigned is not asked for again: %v", w.server.Counts())
	}
}

// Each network card counts its devices: the same number is another network interface on another card.
func TestNetworkInterfacesAreToldByTheirCards(t *testing.T) {
	w := sample(t)
	class := classOf(provider.Gardener, "c1")
	nic := `{"subnetID":"subnet-0a00000000000000a","securityGroupIDs":["sg-0123456789abcdef0"],`
	class.Spec = merged(t, class.Spec, `{"networkInterfaces":[`+nic+`"deviceIndex":0},`+
		nic+`"networkCardIndex":1,"deviceIndex":1,"ipv6PrefixCount":2},`+nic+`"networkCardIndex":2,"deviceIndex":1,"ipv6PrefixCount":1}]}`)
	s, ref := w.open(t, class), refOf("m")
	i := w.running(t, s, ref)
	initialize(t, s, ref, i)
	counts := map[string]int{}
	for _, in := range w.Received("AssignIpv6Addresses") {
		counts[in.Get("Ipv6PrefixCount")]++
	}
	if len(counts) != 2 || counts["1"] != 1 || counts["2"] != 1 {
		t.Errorf("network interfaces are assigned so many prefixes: %v", counts)
	}
	if i = w.found(t, s, ref); i.Uninitialized {
		t.Error("it lacks something")
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
		{provider.OpenShift, `{"keyName":"none"}`, "keyName"},
		{provider.OpenShift, `{"placementGroupName":"none"}`, "placementGroupName"},
		{provider.OpenShift, `{"capacityReservationId":"cr-00000000000000000"}`, "capacityReservationId"},
		{provider.OpenShift, `{"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"id":"h-00000000000000000"}}}}`, "placement.host"},
		{provider.OpenShift, `{"tags":[{"name":"aws:x","value":"1"}]}`, "tags"},
		{provider.Gardener, `{"ami":"ami-00000000000000000"}`, "ami"},
		{provider.Gardener, `{"machineType":"m5.lagre"}`, "machineType"},
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

// A deleted class does not have the tags by which its instances are listed. That must not look like an
// empty listing.
func TestClassThatIsGoneHidesNoInstance(t *testing.T) {
	w := sample(t)
	class := classOf(provider.Gardener, "shoot--a--b")
	class.Cluster = "garden-namespace" // is in no tag
	ref := refOf("m")
	i := w.running(t, w.open(t, class), ref)
	class.Spec, class.Region = nil, ""
	bare := w.open(t, class)
	ref.ProviderID = i.ProviderID
	if got := w.found(t, bare, ref); got.ID != i.ID {
		t.Errorf("found %s, want %s", got.ID, i.ID)
	}
	other := refOf("other")
	other.ProviderID = i.ProviderID
	if all, err := bare.Find(t.Context(), other); err != nil || len(all) > 0 {
		t.Errorf("another machine finds it: %v, error %v", all, err)
	}
	w.deleted(t, bare, ref, i)
	if left := w.found(t, bare, ref); left.State != provider.Terminated {
		t.Errorf("it is %s", left.State)
	}
}
