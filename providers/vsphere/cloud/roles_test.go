package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/provider"
)

// documented are the roles in the documentation.
func documented(t *testing.T) vcenter.Roles {
	t.Helper()
	raw, err := os.ReadFile("../../../docs/providers/vsphere-roles.json")
	if err != nil {
		t.Fatal(err)
	}
	var said map[string]struct {
		Role       string
		Privileges []string
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		t.Fatal(err)
	}
	roles := vcenter.Roles{}
	for on, role := range said {
		if roles[on] = role.Privileges; !slices.IsSorted(role.Privileges) || role.Role == "" {
			t.Errorf("the role on %s has no name, or is not sorted", on)
		}
	}
	return roles
}

// whole are specs that together need every privilege: one with attributes, a customization and old virtual
// hardware, one with the group, further disks and tags, one with properties of a vApp, and one whose
// template is an ordinary virtual machine.
func (s *stage) whole(t *testing.T) []provider.Class {
	t.Helper()
	ours := s.openShift()
	workspace("vmGroup", "rack1")(ours)
	ours["dataDisks"] = []m{{"name": "a", "sizeGiB": 1}}
	ours["tagIDs"] = []string{s.cloud.Probe().TagID("teams", "blue")}
	ours["diskGiB"] = 17
	theirs := s.gardener("c")
	theirs["templateVM"], theirs["customization"], theirs["memoryReservationLockedToMax"] = "old", "linux", true
	theirs["systemDisk"] = m{"size": 17}
	withProperties := s.gardener("c")
	withProperties["customization"] = "linux"
	golden, err := s.cloud.Plant(vcenter.Plant{Name: "golden", Folder: "/dc1/vm/golden", Template: "/dc1/vm/rhcos"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cloud.Do("stop", golden.InstanceID); err != nil {
		t.Fatal(err)
	}
	plain := s.openShift()
	plain["template"] = "/dc1/vm/golden/golden"
	return []provider.Class{
		s.classOf(provider.Gardener, "c", theirs), s.classOf(provider.OpenShift, "c", ours),
		s.classOf(provider.Gardener, "c", withProperties), s.classOf(provider.OpenShift, "c", plain),
	}
}

// life runs every operation on a machine, and returns all refusals.
func (s *stage) life(t *testing.T, p provider.Provider, class provider.Class, r provider.Ref) (errs []error) {
	t.Helper()
	opened, err := p.Open(t.Context(), class)
	if err != nil {
		return []error{err}
	}
	of := opened.(*session)
	try := func(err error) bool {
		if err != nil {
			errs = append(errs, err)
		}
		return err == nil
	}
	if _, err := of.Create(t.Context(), r, provider.Want{UserData: []byte("#cloud-config\n")}); !try(err) {
		return errs
	}
	i, ok := s.started(t, of, r, try)
	if !ok {
		return append(errs, s.removed(t, of, r)...)
	}
	try(of.Maintain(t.Context(), r, i))
	_, err = of.Size(t.Context())
	try(err)
	for _, op := range []provider.PowerOp{provider.Reboot, provider.PowerOff, provider.PowerOn} {
		try(of.Power(t.Context(), r, i, op, ""))
		s.clock.Advance(time.Second)
	}
	for _, err := range of.List(t.Context()) {
		try(err)
	}
	if err := s.cloud.Do("attach", i.ID); err != nil {
		t.Fatal(err)
	}
	return append(errs, s.removed(t, of, r)...)
}

// started starts the created instance, unless something is refused.
func (s *stage) started(t *testing.T, of *session, r provider.Ref, try func(error) bool) (provider.Instance, bool) {
	t.Helper()
	for range 20 {
		all, err := of.Find(t.Context(), r)
		if !try(err) || len(all) != 1 {
			return provider.Instance{}, false
		}
		i := all[0]
		if i.State == provider.Running && !i.Uninitialized {
			return i, true
		}
		if i.Uninitialized && i.State != provider.Pending {
			if err := of.Initialize(t.Context(), r, i); provider.KindOf(err) != provider.Conflict && !try(err) {
				return i, false
			}
		}
		s.clock.Advance(time.Second)
	}
	t.Fatal("it does not come up")
	return provider.Instance{}, false
}

// removed deletes until it is done or refused; it then removes the rest, so that later tests are not
// affected.
func (s *stage) removed(t *testing.T, of *session, r provider.Ref) []error {
	t.Helper()
	for range 20 {
		done, err := of.Delete(t.Context(), r, nil)
		if done {
			return nil
		}
		if err != nil {
			for _, machine := range s.cloud.Machines() {
				if machine.Name == r.Name {
					if err := s.cloud.Do("terminate", machine.InstanceID); err != nil {
						t.Fatal(err)
					}
				}
			}
			return []error{err}
		}
		s.clock.Advance(time.Second)
	}
	t.Fatal("it does not go")
	return nil
}

// The documented roles are enough for everything, and each privilege in them is needed: without it a call
// is refused, and the error names the privilege.
func TestTheRolesAreWhatIsNeeded(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	classes, roles, p := s.whole(t), documented(t), s.provider()
	lives := func(name string, roles vcenter.Roles) (errs []error) {
		s.user.Roles = roles
		s.cloud.SetUser(s.user)
		for of, class := range classes {
			if errs = s.life(t, p, class, machineRef(fmt.Sprint(name, "-", of))); len(errs) > 0 {
				break
			}
		}
		return errs
	}
	if errs := lives("all", roles); len(errs) > 0 {
		t.Fatalf("with all roles: %v", errors.Join(errs...))
	}
	for _, q := range s.server.Requests() {
		if q.Status >= http.StatusBadRequest {
			t.Errorf("%s is refused with %d", q.Operation, q.Status)
		}
	}
	n := 0
	for on, privileges := range roles {
		for _, privilege := range privileges {
			n++
			less := vcenter.Roles{}
			for other, all := range roles {
				less[other] = slices.DeleteFunc(slices.Clone(all), func(p string) bool { return other == on && p == privilege })
			}
			// Known custom attributes need not be defined.
			classes[0].Spec = []byte(strings.Replace(string(classes[0].Spec), `"tags":{`, fmt.Sprintf(`"tags":{"attribute-%d":"1",`, n), 1))
			told := errors.Join(lives(fmt.Sprintf("m%d", n), less)...)
			if provider.KindOf(told) != provider.Denied || !strings.Contains(told.Error(), privilege[strings.LastIndexByte(privilege, '.'):]) {
				t.Errorf("without %s on %s: %v", privilege, on, told)
			}
		}
	}
	if left := s.cloud.Machines(); len(left) != 1 {
		t.Errorf("%d virtual machines are left, want the one that is cloned", len(left))
	}
}

// installers are the privileges by which OpenShift's installer documents that machines are created, by
// object. Users who migrate from its provider have these.
var installers = vcenter.Roles{
	"vCenter": {"InventoryService.Tagging.AttachTag"},
	"folder": {
		"InventoryService.Tagging.ObjectAttachable", "VirtualMachine.Config.AddNewDisk", "VirtualMachine.Config.AddRemoveDevice", "VirtualMachine.Config.AdvancedConfig",
		"VirtualMachine.Config.Annotation", "VirtualMachine.Config.CPUCount", "VirtualMachine.Config.DiskExtend", "VirtualMachine.Config.EditDevice",
		"VirtualMachine.Config.Memory", "VirtualMachine.Config.RemoveDisk", "VirtualMachine.Config.Resource", "VirtualMachine.Config.Settings",
		"VirtualMachine.Interact.PowerOff", "VirtualMachine.Interact.PowerOn", "VirtualMachine.Interact.Reset", "VirtualMachine.Inventory.CreateFromExisting",
		"VirtualMachine.Inventory.Delete", "VirtualMachine.Provisioning.Clone", "VirtualMachine.Provisioning.DeployTemplate",
	},
	"cluster": {"Resource.AssignVMToPool"}, "datastore": {"Datastore.AllocateSpace"}, "network": {"Network.Assign"},
}

func TestTheInstallersRolesAreEnough(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	spec := s.openShift()
	spec["dataDisks"] = []m{{"name": "a", "sizeGiB": 1}}
	class := s.classOf(provider.OpenShift, "c", spec)
	s.user.Roles = installers
	s.cloud.SetUser(s.user)
	if errs := s.life(t, s.provider(), class, machineRef("m")); len(errs) > 0 {
		t.Error(errors.Join(errs...))
	}
}

// Few users may cancel tasks: without the privilege Delete waits for the clone, and removes its result.
func TestACloneThatMayNotBeCancelled(t *testing.T) {
	s := newStage(t, vcenter.Options{Clone: 10 * time.Second})
	s.user.Roles = documented(t)
	s.cloud.SetUser(s.user)
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	if _, err := of.Create(t.Context(), r, provider.Want{}); err != nil {
		t.Fatal(err)
	}
	if asked := s.gone(t, of, r); !slices.Contains(asked, "Destroy_Task") {
		t.Errorf("%q: what the clone has made is left", asked)
	}
	s.clock.Advance(time.Minute)
	if n := len(s.cloud.Machines()); n != 0 {
		t.Errorf("%d virtual machines are left", n)
	}
}
