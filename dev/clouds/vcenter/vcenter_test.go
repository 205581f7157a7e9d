package vcenter_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
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
	s.cloud.SetPassword(vcenter.User{Name: "millwright@vsphere.local", Password: "other"})
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
