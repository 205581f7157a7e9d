package cloud_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/dev/clouds/arm"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

var both = []string{provider.OpenShift, provider.Gardener}

// eachAPI runs a test for both APIs.
func eachAPI(t *testing.T, run func(t *testing.T, api string)) {
	for _, api := range both {
		t.Run(api, func(t *testing.T) { run(t, api) })
	}
}

func machine(n int) provider.Ref {
	return provider.Ref{UID: fmt.Sprintf("00000000-0000-4000-8000-%012d", n), Namespace: "machines", Name: fmt.Sprintf("c1-worker-%03d", n)}
}

var want = provider.Want{UserData: []byte("#cloud-config\n"), Role: "worker"}

func (w *world) create(s provider.Session, ref provider.Ref) provider.Instance {
	w.t.Helper()
	i, err := s.Create(w.t.Context(), ref, want)
	if err != nil {
		w.t.Fatal(err)
	}
	return i
}

func (w *world) only(s provider.Session, ref provider.Ref) provider.Instance {
	w.t.Helper()
	all, err := s.Find(w.t.Context(), ref)
	if err != nil || len(all) != 1 {
		w.t.Fatalf("%d instances, error %v", len(all), err)
	}
	return all[0]
}

// remove deletes until nothing is left.
func (w *world) remove(s provider.Session, ref provider.Ref, instances ...provider.Instance) {
	w.t.Helper()
	for range 20 {
		done, err := s.Delete(w.t.Context(), ref, instances)
		if err != nil {
			w.t.Fatal(err)
		}
		if done {
			return
		}
		w.clock.Advance(time.Second)
	}
	w.t.Fatal("delete is never done")
}

func (w *world) empty() {
	w.t.Helper()
	if left := w.cloud.Orphans(); len(left) > 0 || len(w.cloud.Instances()) > 0 {
		w.t.Errorf("left behind: %v, machines %v", left, w.cloud.Instances())
	}
}

// TestCreationIsOneChangeAndWhatAzureForces counts the writes: a machine is one, its interface and its
// address are two more.
func TestCreationIsOneChangeAndWhatAzureForces(t *testing.T) {
	const machines = 50
	changes := map[string]map[string]int{
		provider.OpenShift: {"PUT virtualMachines": machines, "PUT networkInterfaces": machines, "PUT publicIPAddresses": machines},
		provider.Gardener:  {"PUT virtualMachines": machines, "PUT networkInterfaces": machines},
	}
	eachAPI(t, func(t *testing.T, api string) {
		w := newWorld(t, func(o *arm.Options) { o.PageSize = 100 })
		p := decorate.Coalesce(w.start(), w.clock, decorate.Reads{})
		s, err := p.Open(t.Context(), class(api, "c1"))
		if err != nil {
			t.Fatal(err)
		}
		var made []provider.Instance
		for n := range machines {
			made = append(made, w.create(s, machine(n)))
		}
		w.changed(t, changes[api])
		w.clock.Advance(time.Minute)
		before := w.server.Counts()
		for n := range machines { // at rest
			if i := w.only(s, machine(n)); i.State != provider.Running {
				t.Fatalf("%s is %s", i.Name, i.State)
			}
		}
		if n := w.reads(before); n > 40 {
			t.Errorf("%d requests to look after %d machines at rest", n, machines)
		}
		for n, i := range made {
			if _, err := s.Delete(t.Context(), machine(n), []provider.Instance{i}); err != nil {
				t.Fatal(err)
			}
		}
		w.clock.Advance(time.Minute)
		for n, i := range made {
			if done, err := s.Delete(t.Context(), machine(n), []provider.Instance{i}); err != nil || !done {
				t.Fatalf("done %t, error %v", done, err)
			}
		}
		w.empty()
		all := changes[api]
		all["DELETE virtualMachines"] = machines
		w.changed(t, all)
		if n := w.server.Counts()["POST token"]; n != 1 {
			t.Errorf("%d logins", n)
		}
	})
}

// TestLookersShareListings: Azure lists all or nothing, so that a thousand searches for one machine each
// must not read a thousand listings of a thousand machines.
func TestLookersShareListings(t *testing.T) {
	w := newWorld(t)
	s, err := w.start().Open(t.Context(), class(provider.OpenShift, "c1"))
	if err != nil {
		t.Fatal(err)
	}
	w.create(s, machine(0))
	before := w.server.Counts()["LIST virtualMachines"]
	w.server.Inject(double.Fault{Operation: "LIST virtualMachines", Delay: 200 * time.Millisecond})
	var all sync.WaitGroup
	for n := range 100 {
		all.Go(func() {
			found, err := s.Find(t.Context(), machine(n))
			if want := n == 0; err != nil || (len(found) == 1) != want {
				t.Errorf("machine %d: %v, %v", n, found, err)
			}
		})
	}
	all.Wait()
	if n := w.server.Counts()["LIST virtualMachines"] - before; n > 20 {
		t.Errorf("%d listings for 100 who looked at the same time", n)
	}
}

// changed checks for exactly these writes.
func (w *world) changed(t *testing.T, want map[string]int) {
	t.Helper()
	for operation, n := range w.server.Counts() {
		if verb, _, _ := strings.Cut(operation, " "); slices.Contains([]string{"PUT", "PATCH", "DELETE"}, verb) && n != want[operation] {
			t.Errorf("%d of %s, want %d", n, operation, want[operation])
		}
	}
}

func (w *world) reads(before map[string]int) (n int) {
	for operation, count := range w.server.Counts() {
		n += count - before[operation]
	}
	return n
}

// TestAddresses: the addresses are those of the original of OpenShift, in its order.
func TestAddresses(t *testing.T) {
	w := newWorld(t)
	s := w.open(patched(t, class(provider.OpenShift, "c1"), `{"subnet":"demo-dual-subnet"}`))
	w.create(s, machine(1))
	w.clock.Advance(time.Minute)
	name := machine(1).Name
	var got []string
	for _, a := range w.only(s, machine(1)).Addresses {
		got = append(got, string(a.Type)+" "+a.Address)
	}
	want := []string{"Hostname " + name, "InternalDNS " + name, "InternalDNS " + name + ".double.bx.internal.cloudapp.net"}
	if len(got) != 7 || !slices.Equal(got[:3], want) || !strings.HasPrefix(got[3], "InternalIP 10.1.") || !strings.HasPrefix(got[4], "ExternalIP 203.0.") ||
		got[5] != "ExternalDNS c1-"+name+".eastus.cloudapp.azure.com" || !strings.HasPrefix(got[6], "InternalIP fd00:1:") {
		t.Errorf("%q", got)
	}
	listed := 0
	for i, err := range s.List(t.Context()) {
		if err != nil || len(i.Addresses) != len(got) || i.RawState != "Running" {
			t.Errorf("a listing has %v in state %s, error %v", i.Addresses, i.RawState, err)
		}
		listed++
	}
	if listed != 1 {
		t.Errorf("%d are listed", listed)
	}
}

// TestGuestsAreWhatInstancesSay: a guest registers under the name, and with the provider ID, that the
// provider reports.
func TestGuestsAreWhatInstancesSay(t *testing.T) {
	eachAPI(t, func(t *testing.T, api string) {
		w := newWorld(t)
		s := w.open(class(api, "c1"))
		w.create(s, machine(1))
		w.clock.Advance(time.Minute)
		i, guests := w.only(s, machine(1)), w.cloud.Guests()
		if len(guests) != 1 || guests[0].NodeName != i.NodeName || !provider.SameInstance(s, guests[0].ProviderID, i.ProviderID) || string(guests[0].UserData) != string(want.UserData) {
			t.Errorf("%+v boots, and the instance is %s, %s", guests, i.NodeName, i.ProviderID)
		}
		if api == provider.OpenShift && guests[0].ProviderID != i.ProviderID {
			t.Errorf("%s is not %s", guests[0].ProviderID, i.ProviderID)
		}
	})
}

// TestUserData: it is sent in base64, and not read afterwards.
func TestUserData(t *testing.T) {
	w := newWorld(t)
	s := w.open(class(provider.OpenShift, "c1"))
	i := w.create(s, machine(1))
	if got := at(t, w.cloud.Read(i.ID), "properties.osProfile.customData"); got != "I2Nsb3VkLWNvbmZpZwo=" {
		t.Error(got)
	}
}

// TestControlPlaneIsBalanced: a machine of the control plane is in the pools of its load balancers from its
// creation on, and leaves them with its interface.
func TestControlPlaneIsBalanced(t *testing.T) {
	w := newWorld(t)
	s := w.open(patched(t, class(provider.OpenShift, "c1"), `{"publicLoadBalancer":"demo","internalLoadBalancer":"demo-internal","subnet":"demo-master-subnet"}`))
	i := w.create(s, machine(1))
	nic := strings.Replace(i.ID, "Microsoft.Compute/virtualMachines", "Microsoft.Network/networkInterfaces", 1) + "-nic"
	for n, pool := range []string{"demo", "demo-internal"} {
		if got := at(t, w.cloud.Read(nic), fmt.Sprintf("properties.ipConfigurations.0.properties.loadBalancerBackendAddressPools.%d.id", n)); !strings.HasSuffix(got, "/loadBalancers/"+pool+"/backendAddressPools/"+pool) {
			t.Errorf("pool %d is %s", n, got)
		}
	}
	w.remove(s, machine(1), i)
	w.empty()
	for patch, field := range map[string]string{`{"publicLoadBalancer":"x"}`: "publicLoadBalancer", `{"internalLoadBalancer":"x"}`: "internalLoadBalancer", `{"publicLoadBalancer":"demo","natRule":7}`: "natRule"} {
		_, err := w.open(patched(t, class(provider.OpenShift, "c1"), patch)).Create(t.Context(), machine(2), want)
		demandInvalid(t, err, field)
	}
	// Users may be creating the rule: each attempt reads the load balancer.
	s, read := w.open(patched(t, class(provider.OpenShift, "c1"), `{"publicLoadBalancer":"demo","natRule":7}`)), w.server.Counts()["GET loadBalancers"]
	for attempt := range 2 {
		_, err := s.Create(t.Context(), machine(2), want)
		if demandInvalid(t, err, "natRule"); w.server.Counts()["GET loadBalancers"] != read+attempt+1 {
			t.Errorf("attempt %d: a load balancer that lacked a rule was remembered", attempt)
		}
	}
}

func demandInvalid(t *testing.T, err error, field string) {
	t.Helper()
	if provider.KindOf(err) != provider.Invalid || !strings.Contains(fmt.Sprint(err), field+":") {
		t.Errorf("want an Invalid error about %s, got %v", field, err)
	}
}

// TestWhatIsNotThereIsInvalid: the field is named, and resources created before are deleted with the
// machine.
func TestWhatIsNotThereIsInvalid(t *testing.T) {
	for _, row := range []struct{ api, patch, field string }{
		{provider.OpenShift, `{"subnet":"x"}`, "subnet"},
		{provider.OpenShift, `{"vmSize":"Standard_X"}`, "vmSize"},
		{provider.OpenShift, `{"zone":"9"}`, "zone"},
		{provider.OpenShift, `{"image":{"resourceID":"/resourceGroups/x/providers/Microsoft.Compute/images/x"}}`, "image"},
		{provider.OpenShift, `{"securityGroup":"x"}`, "securityGroup"},
		{provider.OpenShift, `{"applicationSecurityGroups":["x"]}`, "applicationSecurityGroups"},
		{provider.OpenShift, `{"managedIdentity":"x"}`, "managedIdentity"},
		{provider.OpenShift, `{"resourceGroup":"x"}`, "resourceGroup"},
		{provider.OpenShift, `{"acceleratedNetworking":true,"vmSize":"Standard_A2_v2"}`, "vmSize"},
		{provider.Gardener, `{"subnetInfo":{"subnetName":"x"}}`, "subnetInfo"},
		{provider.Gardener, `{"resourceGroup":"x"}`, "resourceGroup"},
		{provider.Gardener, properties(`{"storageProfile":{"imageReference":{"urn":"a:b:c:d"}}}`), "properties.storageProfile.imageReference"},
		{provider.Gardener, properties(`{"storageProfile":{"imageReference":{"urn":null,"id":"/x"}}}`), "properties.storageProfile.imageReference"},
	} {
		w := newWorld(t)
		s := w.open(patched(t, class(row.api, "c1"), row.patch))
		_, err := s.Create(t.Context(), machine(1), want)
		demandInvalid(t, err, row.field)
		w.remove(s, machine(1))
		w.empty()
	}
}

// TestShortageComesLate: Azure accepts a machine, and has no room for it afterwards. The next choice is
// created as soon as the first is deleted.
func TestShortageComesLate(t *testing.T) {
	eachAPI(t, func(t *testing.T, api string) {
		w := newWorld(t)
		if err := w.cloud.Do("exhaust", "1/Standard_D4s_v3"); err != nil {
			t.Fatal(err)
		}
		s := w.open(patched(t, class(api, "c1"), `{"choices":[{"zone":"1"},{"zone":"2"}]}`))
		if i := w.create(s, machine(1)); i.State != provider.Pending {
			t.Errorf("accepted as %s", i.State)
		}
		w.clock.Advance(time.Minute)
		i := w.only(s, machine(1))
		if i.Fault == nil || i.Fault.Kind != provider.Exhausted || i.Fault.Scope != provider.ScopeType || i.State != provider.Stopped || i.Zone != "1" || i.Type != "Standard_D4s_v3" {
			t.Errorf("%+v", i)
		}
		for l, err := range s.List(t.Context()) {
			if err != nil || l.Fault == nil {
				t.Errorf("a listing has the fault %v, error %v", l.Fault, err)
			}
		}
		w.remove(s, machine(1), i)
		other, err := s.Create(t.Context(), machine(2), provider.Want{Choice: "Standard_D4s_v3 in zone 2"})
		if err != nil || other.Zone != "2" {
			t.Errorf("in zone %s, error %v", other.Zone, err)
		}
	})
}

// TestQuotas: a refused machine leaves its interface, which the next try reuses.
func TestQuotas(t *testing.T) {
	w := newWorld(t, func(o *arm.Options) { o.Inventory.Quotas.Cores = 4 })
	s := w.open(class(provider.OpenShift, "c1"))
	first := w.create(s, machine(1))
	_, err := s.Create(t.Context(), machine(2), want)
	if provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != provider.ScopeAccount {
		t.Errorf("%v", err)
	}
	w.remove(s, machine(1), first)
	second := w.create(s, machine(2))
	if n := w.server.Counts()["PUT networkInterfaces"]; n != 2 {
		t.Errorf("%d interfaces were asked for", n)
	}
	w.remove(s, machine(2), second)
	w.empty()
}

// TestSpot: a spot machine is requested as such, reports it, and is deleted when it is evicted.
func TestSpot(t *testing.T) {
	w := newWorld(t)
	s := w.open(patched(t, class(provider.OpenShift, "c1"), `{"spotVMOptions":{"maxPrice":"0.5"},"choices":[{"zone":"1"},{"zone":"2"}]}`))
	i := w.create(s, machine(1))
	vm := w.cloud.Read(i.ID)
	if at(t, vm, "properties.priority") != "Spot" || at(t, vm, "properties.evictionPolicy") != "Delete" || at(t, vm, "properties.billingProfile.maxPrice") != "0.5" {
		t.Errorf("%+v", vm)
	}
	if got := s.Traits().Choices[0].Type; got != "Standard_D4s_v3/spot" {
		t.Errorf("its capacity is counted as that of %s", got)
	}
	w.clock.Advance(time.Minute)
	if i = w.only(s, machine(1)); !i.Interruptible {
		t.Error("nobody is told that it may be taken back")
	}
	if err := w.cloud.Do("interrupt", i.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Hour)
	if all, err := s.Find(t.Context(), machine(1)); err != nil || len(all) > 0 {
		t.Errorf("%d instances, error %v", len(all), err)
	}
	w.remove(s, machine(1), i)
	w.empty()
}

// TestConsole reads the end of the log, if the spec enables it.
func TestConsole(t *testing.T) {
	w := newWorld(t)
	s := w.open(patched(t, class(provider.OpenShift, "c1"), `{"diagnostics":{"boot":{"storageAccountType":"AzureManaged"}}}`))
	i := w.create(s, machine(1))
	r, _ := provider.As[provider.ConsoleReader](s)
	if text, err := r.Console(t.Context(), machine(1), i, 8); err != nil || text != "login: \n" {
		t.Errorf("%q, error %v", text, err)
	}
	plain := w.open(class(provider.OpenShift, "c1"))
	i = w.create(plain, machine(2))
	if text, err := r.Console(t.Context(), machine(2), i, 100); err != nil || text != "" {
		t.Errorf("%q, error %v", text, err)
	}
}

// TestSizes: capacity for scaling from zero, the smallest of the choices.
func TestSizes(t *testing.T) {
	w := newWorld(t)
	for patch, want := range map[string]provider.Size{
		`{}`: {VCPU: 4, MemoryMiB: 16384, Architecture: "amd64", Labels: map[string]string{corev1.LabelTopologyZone: "eastus-1", corev1.LabelInstanceTypeStable: "Standard_D4s_v3"}},
		`{"choices":[{"zone":"2"},{"zone":"1","vmSize":"Standard_D2s_v3"}]}`:       {VCPU: 2, MemoryMiB: 8192, Architecture: "amd64", Labels: map[string]string{}},
		`{"choices":[{"vmSize":"Standard_D4ps_v5"},{"vmSize":"Standard_D8s_v3"}]}`: {VCPU: 4, MemoryMiB: 16384, Labels: map[string]string{corev1.LabelTopologyZone: "eastus-1"}},
		`{"choices":[{"vmSize":"Standard_NC6s_v3"}]}`:                              {VCPU: 6, GPU: 1, MemoryMiB: 114688, Architecture: "amd64", GPUResource: "nvidia.com/gpu", Labels: map[string]string{corev1.LabelTopologyZone: "eastus-1", corev1.LabelInstanceTypeStable: "Standard_NC6s_v3"}},
	} {
		s, _ := provider.As[provider.Sizer](w.open(patched(t, class(provider.Gardener, "c1"), patch)))
		want.Labels[corev1.LabelTopologyRegion] = "eastus"
		if got, err := s.Size(t.Context()); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, want %+v, error %v", patch, got, want, err)
		}
	}
	s, _ := provider.As[provider.Sizer](w.open(patched(t, class(provider.OpenShift, "c1"), `{"vmSize":"Standard_X"}`)))
	_, err := s.Size(t.Context())
	demandInvalid(t, err, "vmSize")
}
