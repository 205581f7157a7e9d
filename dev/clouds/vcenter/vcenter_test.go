package vcenter_test

import (
	"context"
	"encoding/base64"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
)

// site is a vCenter behind HTTP.
type site struct {
	clock  *double.Clock
	cloud  *vcenter.Cloud
	server *double.Server
	url    string
}

func start(t *testing.T, o vcenter.Options) site {
	t.Helper()
	s := site{clock: &double.Clock{}}
	if o.Inventory.Datacenters == nil {
		o.Inventory = vcenter.Sample()
	}
	s.cloud = vcenter.New(s.clock, o)
	t.Cleanup(s.cloud.Close)
	s.server = double.NewServer(s.clock, s.cloud)
	h := httptest.NewServer(s.server)
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

func (s site) login(t *testing.T, name, password string) (*govmomi.Client, error) {
	t.Helper()
	u, err := url.Parse(s.url + "/sdk")
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, password)
	return govmomi.NewClient(t.Context(), u, true)
}

func (s site) client(t *testing.T) *govmomi.Client {
	t.Helper()
	c, err := s.login(t, "millwright@vsphere.local", "Secret!1")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s site) clone(ctx context.Context, t *testing.T, c *govmomi.Client, name string, config *types.VirtualMachineConfigSpec) *object.Task {
	t.Helper()
	f := find.NewFinder(c.Client)
	template, err := f.VirtualMachine(ctx, "/dc1/vm/rhcos")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := f.Folder(ctx, "/dc1/vm/machines")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := f.ResourcePool(ctx, "/dc1/host/cluster1/Resources")
	if err != nil {
		t.Fatal(err)
	}
	ref := pool.Reference()
	task, err := template.Clone(ctx, folder, name, types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &ref}, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestLogin(t *testing.T) {
	s := start(t, vcenter.Options{})
	if _, err := s.login(t, "millwright@vsphere.local", "wrong"); err == nil {
		t.Error("a wrong password opens a session")
	}
	c := s.client(t)
	s.cloud.SetUser(vcenter.User{Name: "millwright@vsphere.local", Password: "other"})
	if _, err := find.NewFinder(c.Client).Datacenter(t.Context(), "dc1"); err == nil {
		t.Error("a session outlives its password")
	}
	if _, err := s.login(t, "millwright@vsphere.local", "other"); err != nil {
		t.Error(err)
	}
}

func TestCloneTakesItsTimeAndTheNameOnce(t *testing.T) {
	s := start(t, vcenter.Options{Clone: time.Minute})
	c, ctx := s.client(t), t.Context()
	const id = "5f1c5b5e-5d0f-4b8e-9a60-0d7a3f6f2c11"
	config := &types.VirtualMachineConfigSpec{InstanceUuid: id, NumCPUs: 3, NumCoresPerSocket: types.NewInt32(3), Annotation: "a machine"}
	first, second := s.clone(ctx, t, c, "m", config), s.clone(ctx, t, c, "m", config)
	if n := len(s.cloud.Machines()); n != 0 {
		t.Errorf("%d machines before their time", n)
	}
	s.clock.Advance(2 * time.Minute)
	if _, err := first.WaitForResult(ctx, nil); err != nil {
		t.Error(err)
	}
	if _, err := second.WaitForResult(ctx, nil); err == nil || !fault.Is(err, &types.DuplicateName{}) {
		t.Errorf("the second clone of a name: %v", err)
	}
	all := s.cloud.Machines()
	if len(all) != 1 || all[0].InstanceID != id || all[0].Config.Annotation != "a machine" || *all[0].Config.Hardware.NumCoresPerSocket != 3 {
		t.Errorf("%+v", all)
	}
}

// up creates a running machine.
func (s site) up(t *testing.T, c *govmomi.Client, name string, options map[string]string) *object.VirtualMachine {
	t.Helper()
	ctx := t.Context()
	config := &types.VirtualMachineConfigSpec{}
	for key, value := range options {
		config.ExtraConfig = append(config.ExtraConfig, &types.OptionValue{Key: key, Value: value})
	}
	info, err := s.clone(ctx, t, c, name, config).WaitForResult(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	vm := object.NewVirtualMachine(c.Client, info.Result.(types.ManagedObjectReference))
	task, err := vm.PowerOn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return vm
}

func TestGuests(t *testing.T) {
	s := start(t, vcenter.Options{Boot: time.Minute})
	c := s.client(t)
	vm := s.up(t, c, "m", map[string]string{
		"guestinfo.hostname": "node-1", "guestinfo.ignition.config.data": base64.StdEncoding.EncodeToString([]byte("{}")), "guestinfo.ignition.config.data.encoding": "base64",
		"guestinfo.afterburn.initrd.network-kargs": "ip=10.1.2.3::10.1.2.1:255.255.255.0:::none nameserver=10.1.2.2",
	})
	if n := len(s.cloud.Guests()); n != 0 {
		t.Errorf("%d guests are up at once", n)
	}
	s.clock.Advance(2 * time.Minute)
	guests := s.cloud.Guests()
	if len(guests) != 1 {
		t.Fatalf("%+v", guests)
	}
	g := guests[0]
	uuid := vm.UUID(t.Context())
	if g.NodeName != "node-1" || g.ProviderID != "vsphere://"+uuid || string(g.UserData) != "{}" || len(g.Addresses) != 1 || g.Addresses[0] != "10.1.2.3" || g.Boots != 1 {
		t.Errorf("%+v", g)
	}
	task, err := vm.Reset(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g := s.cloud.Guests()[0]; g.Boots != 2 {
		t.Errorf("after a reset it has booted %d times", g.Boots)
	}
	if err := s.cloud.Do("stop", s.cloud.Machines()[0].InstanceID); err != nil {
		t.Fatal(err)
	}
	if n := len(s.cloud.Guests()); n != 0 {
		t.Errorf("%d guests run on what is off", n)
	}
}

func TestRoom(t *testing.T) {
	all := vcenter.Sample()
	all.Datacenters[0].Clusters[0].Room = 1
	s := start(t, vcenter.Options{Inventory: all})
	c, ctx := s.client(t), t.Context()
	s.up(t, c, "a", nil)
	info, err := s.clone(ctx, t, c, "b", nil).WaitForResult(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	dc, err := find.NewFinder(c.Client).Datacenter(ctx, "dc1")
	if err != nil {
		t.Fatal(err)
	}
	vm := info.Result.(types.ManagedObjectReference)
	task, err := dc.PowerOnVM(ctx, []types.ManagedObjectReference{vm})
	if err != nil {
		t.Fatal(err)
	}
	info, err = task.WaitForResult(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, ok := info.Result.(types.ClusterPowerOnVmResult)
	if !ok || len(result.NotAttempted) != 1 || !fault.Is(result.NotAttempted[0].Fault.Fault, &types.InsufficientResourcesFault{}) {
		t.Errorf("%+v: want one that was not attempted", info.Result)
	}
	if err := s.cloud.Do("exhaust", "ds1"); err != nil {
		t.Fatal(err)
	}
}

func TestVerbs(t *testing.T) {
	s := start(t, vcenter.Options{})
	s.up(t, s.client(t), "a", nil)
	id := s.cloud.Machines()[0].InstanceID
	for _, r := range []struct{ verb, state string }{{"stop", "poweredOff"}, {"start", "poweredOn"}, {"attach", "poweredOn"}, {"strip", "poweredOn"}, {"terminate", ""}} {
		if err := s.cloud.Do(r.verb, id); err != nil {
			t.Errorf("%s: %v", r.verb, err)
		}
		state := ""
		for _, i := range s.cloud.Instances() {
			state = i.State
		}
		if state != r.state {
			t.Errorf("after %s it is %q, want %q", r.verb, state, r.state)
		}
	}
	if err := s.cloud.Do("stop", id); err == nil {
		t.Error("what is not there can be stopped")
	}
}

// A user with roles gets vCenter's error for missing privileges.
func TestRoles(t *testing.T) {
	s := start(t, vcenter.Options{})
	c, ctx := s.client(t), t.Context()
	user := vcenter.User{Name: "millwright@vsphere.local", Password: "Secret!1", Roles: vcenter.Roles{
		"folder":  {"VirtualMachine.Inventory.CreateFromExisting", "VirtualMachine.Provisioning.DeployTemplate", "VirtualMachine.Config.Memory", "VirtualMachine.Interact.PowerOn"},
		"cluster": {"Resource.AssignVMToPool"}, "datastore": {"Datastore.AllocateSpace"},
	}}
	s.cloud.SetUser(user)
	vm := s.up(t, c, "m", nil)
	for privilege, call := range map[string]func() error{
		"VirtualMachine.Interact.PowerOff": func() error { _, err := vm.PowerOff(ctx); return err },
		"VirtualMachine.Config.CPUCount": func() error {
			_, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{MemoryMB: 4096, NumCPUs: 8})
			return err
		},
	} {
		var denied *types.NoPermission
		if _, ok := fault.As(call(), &denied); !ok || denied.PrivilegeId != privilege || denied.Object == nil || *denied.Object != vm.Reference() {
			t.Errorf("without %s: %+v", privilege, denied)
		}
	}
	if _, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{MemoryMB: 4096}); err != nil {
		t.Error(err)
	}
}

// A clone runs in the cluster of its pool, wherever its template is.
func TestClonesGoToTheirPool(t *testing.T) {
	s := start(t, vcenter.Options{})
	c, ctx := s.client(t), t.Context()
	f := find.NewFinder(c.Client)
	template, err := f.VirtualMachine(ctx, "/dc1/vm/rhcos")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := f.Folder(ctx, "/dc1/vm/machines")
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range []string{"cluster1", "cluster2"} {
		pool, err := f.ResourcePool(ctx, "/dc1/host/"+cluster+"/Resources")
		if err != nil {
			t.Fatal(err)
		}
		ref := pool.Reference()
		task, err := template.Clone(ctx, folder, cluster, types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &ref}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := task.WaitForResult(ctx, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range s.cloud.Machines() {
		if m.Cluster != m.Name {
			t.Errorf("the clone for %s is in %s", m.Name, m.Cluster)
		}
	}
}

// A clone has the options of its template, except those that its request sets or removes; and files of its
// own.
func TestClonesInherit(t *testing.T) {
	s := start(t, vcenter.Options{})
	c := s.client(t)
	first := s.up(t, c, "first", map[string]string{"a": "1", "b": "2", "c": "3", "none": ""})
	if err := s.cloud.Do("stop", s.cloud.Machines()[0].InstanceID); err != nil {
		t.Fatal(err)
	}
	f, ctx := find.NewFinder(c.Client), t.Context()
	folder, err := f.Folder(ctx, "/dc1/vm/machines")
	if err != nil {
		t.Fatal(err)
	}
	devices, err := first.Device(ctx)
	if err != nil {
		t.Fatal(err)
	}
	disk := devices.SelectByType((*types.VirtualDisk)(nil))[0]
	task, err := first.Clone(ctx, folder, "second", types.VirtualMachineCloneSpec{Config: &types.VirtualMachineConfigSpec{
		ExtraConfig:  []types.BaseOptionValue{&types.OptionValue{Key: "a", Value: "4"}, &types.OptionValue{Key: "b", Value: ""}},
		DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: disk}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	for n, want := range []map[string]string{{"a": "1", "b": "2", "c": "3"}, {"a": "4", "c": "3"}} {
		got := s.cloud.Machines()[n]
		for _, key := range []string{"a", "b", "c", "none"} {
			if value, ok := got.Extra[key]; value != want[key] || ok != (want[key] != "") {
				t.Errorf("%s has %s=%q (%t)", got.Name, key, value, ok)
			}
		}
	}
	id := s.cloud.Machines()[1].InstanceID
	if err := s.cloud.Do("terminate", id); err != nil {
		t.Fatal(err)
	}
	if p := s.cloud.Probe(); !p.HasFile("dc1", "ds1", "first/first.vmdk") || p.HasFile("dc1", "ds1", "second/second.vmdk") {
		t.Error("a clone shares its disk with what it was made of")
	}
}

// After a logout there is no session, and an unreadable configuration is missing.
func TestSessionsAndReading(t *testing.T) {
	s := start(t, vcenter.Options{})
	c, ctx := s.client(t), t.Context()
	vm := s.up(t, c, "m", nil)
	if vm.UUID(ctx) == "" {
		t.Fatal("it has no UUID")
	}
	id := s.cloud.Machines()[0].InstanceID
	for _, unreadable := range []bool{true, false} {
		if err := s.cloud.Probe().Obscure(id, unreadable); err != nil {
			t.Fatal(err)
		}
		var said mo.VirtualMachine
		err := vm.Properties(ctx, vm.Reference(), []string{"name", "config.uuid", "config.extraConfig"}, &said)
		if err != nil || said.Name != "m" || (said.Config == nil) != unreadable {
			t.Errorf("unreadable is %t, and it says %+v, %v", unreadable, said, err)
		}
	}
	n := s.cloud.Probe().Sessions()
	if err := c.Logout(ctx); err != nil {
		t.Fatal(err)
	}
	if got := s.cloud.Probe().Sessions(); got != n-1 {
		t.Errorf("%d sessions are open, want %d", got, n-1)
	}
	if _, err := vm.PowerOff(ctx); !fault.Is(err, &types.NotAuthenticated{}) {
		t.Errorf("without a session: %v", err)
	}
}

// With AcceptAny, every requested object exists.
func TestAcceptAny(t *testing.T) {
	s := start(t, vcenter.Options{AcceptAny: true, Inventory: vcenter.Inventory{Datacenters: []vcenter.Datacenter{}}})
	c, err := s.login(t, "anybody", "anything")
	if err != nil {
		t.Fatal(err)
	}
	index, ctx := object.NewSearchIndex(c.Client), t.Context()
	for _, path := range []string{
		"/prod", "/prod/vm/a/b", "/prod/host/blue/Resources/green", "/prod/datastore/fast", "/prod/network/blue-network",
	} {
		if found, err := index.FindByInventoryPath(ctx, path); err != nil || found == nil {
			t.Errorf("%s is %v, %v", path, found, err)
		}
	}
	folder, err := index.FindByInventoryPath(ctx, "/prod/vm/a")
	if err != nil {
		t.Fatal(err)
	}
	if template, err := index.FindChild(ctx, folder, "rhcos-4.20"); err != nil || template == nil {
		t.Errorf("the template is %v, %v", template, err)
	}
	late, err := index.FindByInventoryPath(ctx, "/prod/host/late")
	if err != nil {
		t.Fatal(err)
	}
	on, err := object.NewClusterComputeResource(c.Client, late.Reference()).Datastores(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range on {
		name, err := d.ObjectName(ctx)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"datastore", "fast"}) {
		t.Errorf("a cluster that came late has the datastores %v", names)
	}
	prod, err := index.FindByInventoryPath(ctx, "/prod")
	if err != nil {
		t.Fatal(err)
	}
	finder := find.NewFinder(c.Client).SetDatacenter(object.NewDatacenter(c.Client, prod.Reference()))
	if _, err := finder.ResourcePool(ctx, "late"); err != nil {
		t.Errorf("what has a name only may be a resource pool: %v", err)
	}
}

// TestAcceptAnybody: any name and password may log in, until all are revoked.
func TestAcceptAnybody(t *testing.T) {
	s := start(t, vcenter.Options{AcceptAny: true, Inventory: vcenter.Sample()})
	if _, err := s.login(t, "somebody@example.net", "anything"); err != nil {
		t.Error(err)
	}
	vcenter.Administered{Cloud: s.cloud}.Revoke()
	if _, err := s.login(t, "somebody@example.net", "anything"); err == nil {
		t.Error("somebody is let in after all were locked out")
	}
}
