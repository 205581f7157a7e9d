package cloud

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/provider"
)

// Volumes are kept wherever their driver has put them, and a virtual machine's own disks are deleted with
// it, wherever they were moved to.
func TestVolumesAreKeptWhereverTheyAre(t *testing.T) {
	const object = "25d8b159-948c-4b2a-8a3f-1c98ecfd4a7e"
	for _, r := range []struct {
		reason string
		volume vcenter.Volume
		kept   bool
	}{
		{"a folder that is a UUID, as on vSAN", vcenter.Volume{File: "[ds1] " + object + "/v.vmdk"}, true},
		{"a folder of somebody else's", vcenter.Volume{File: "[ds2] backups/v.vmdk"}, true},
		{"a first class disk, whatever it is called", vcenter.Volume{File: "[ds2] m/m_7.vmdk", ID: object}, true},
		{"a volume that is called as a disk of the virtual machine would be", vcenter.Volume{File: "[ds1] fcd/m_1.vmdk"}, true},
		{"a name that only begins like the virtual machine's", vcenter.Volume{File: "[ds1] " + object + "/m_1x.vmdk"}, true},
		{"a disk that somebody has added to the virtual machine", vcenter.Volume{File: "[ds1] m/extra.vmdk"}, false},
	} {
		t.Run(r.reason, func(t *testing.T) {
			s := newStage(t, vcenter.Options{})
			of, ref := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
			i := s.make(t, of, ref)
			if err := s.cloud.Probe().Attach(i.ID, r.volume); err != nil {
				t.Fatal(err)
			}
			store, file, _ := strings.Cut(strings.TrimPrefix(r.volume.File, "["), "] ")
			if !s.cloud.Probe().HasFile("dc1", store, file) {
				t.Fatal("it is not there to begin with")
			}
			s.gone(t, of, ref, i)
			if s.cloud.Probe().HasFile("dc1", store, file) != r.kept {
				t.Errorf("kept is %t", !r.kept)
			}
		})
	}
}

func TestOwnDisksThatWereMovedAreDestroyed(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class := s.openShift()
	class["dataDisks"] = []m{{"name": "own", "sizeGiB": 1}}
	of, r := s.open(t, s.classOf(provider.OpenShift, "c", class)), machineRef("m")
	i := s.make(t, of, r)
	if err := s.cloud.Probe().MoveDisk(i.ID, "[ds1] m/m_1.vmdk", "[ds2] 25d8b159-948c/m_1.vmdk"); err != nil {
		t.Fatal(err)
	}
	asked := s.gone(t, of, r, i)
	if want := []string{"PowerOffVM_Task", "Destroy_Task"}; !slices.Equal(asked, want) {
		t.Errorf("%q, want %q", asked, want)
	}
	if s.cloud.Probe().HasFile("dc1", "ds2", "25d8b159-948c/m_1.vmdk") {
		t.Error("the disk is left")
	}
}

func TestWhoseDisks(t *testing.T) {
	own := ownDisksOf("worker.1", "[ds1] worker.1_2/old-name.vmx")
	for file, want := range map[string]bool{
		"[ds1] worker.1_2/anything.vmdk": true, "[ds2] worker.1/worker.1.vmdk": true, "[ds2] x/worker.1_12.vmdk": true, "[ds2] x/old-name_3.vmdk": true,
		"[ds2] x/worker.1_1-000002.vmdk": true, "[ds2] x/workerx1.vmdk": false, "[ds2] x/worker.1-2.vmdk": false, "[ds2] worker.1_2/v.vmdk": false,
		"[ds1] kubevols/worker.1.vmdk": false,
	} {
		disk := &types.VirtualDisk{VirtualDevice: types.VirtualDevice{Backing: &types.VirtualDiskFlatVer2BackingInfo{
			VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: file},
		}}}
		if own.has(disk) != want {
			t.Errorf("%s: own is %t", file, !want)
		}
	}
}

// A virtual machine whose configuration the vCenter cannot read still exists: the provider changes nothing
// and keeps claims, until it can be read again.
func TestWhatCannotBeReadIsNotGone(t *testing.T) {
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		s := newStage(t, vcenter.Options{})
		k := &heldObjects{objects: objects{}}
		s.objects = k
		of, r := s.open(t, s.class(api, "c")), machineRef("m")
		i := s.make(t, of, r)
		if err := s.cloud.Probe().Obscure(i.ID, true); err != nil {
			t.Fatal(err)
		}
		before := s.server.Counts()
		told := map[string]error{}
		_, told["find"] = of.Find(t.Context(), r)
		_, told["create"] = of.Create(t.Context(), r, provider.Want{})
		var done, doneByID bool
		done, told["delete"] = of.Delete(t.Context(), r, nil)
		doneByID, told["delete by ID"] = of.Delete(t.Context(), provider.Ref{}, []provider.Instance{i})
		for what, err := range told {
			if provider.KindOf(err) != provider.Conflict || !strings.Contains(err.Error(), "cannot read the configuration of m") {
				t.Errorf("%s: %s: %v", api, what, err)
			}
		}
		if writes, _, by := s.calls(before); writes > 0 || done || doneByID || len(k.released) > 0 {
			t.Errorf("%s: %v, done %t and %t, released %q", api, by, done, doneByID, k.released)
		}
		for listed, err := range of.List(t.Context()) {
			t.Errorf("%s: a listing shows %+v, %v", api, listed, err)
		}
		if err := s.cloud.Probe().Obscure(i.ID, false); err != nil {
			t.Fatal(err)
		}
		s.gone(t, of, r, i)
	}
}

// During its own clone, the configuration cannot be read, and the machine is Pending.
func TestACloneThatCannotBeReadYet(t *testing.T) {
	s := newStage(t, vcenter.Options{Clone: time.Minute})
	s.user.Roles = documented(t) // which may not cancel tasks
	s.cloud.SetUser(s.user)
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	planted, err := s.cloud.Plant(vcenter.Plant{Name: r.Name, Folder: "/dc1/vm/elsewhere", Template: "/dc1/vm/rhcos"}) // stands for the result
	if err != nil {
		t.Fatal(err)
	}
	if _, err := of.Create(t.Context(), r, provider.Want{}); err != nil {
		t.Fatal(err)
	}
	if err := s.cloud.Probe().Obscure(planted.InstanceID, true); err != nil {
		t.Fatal(err)
	}
	if found, err := of.Find(t.Context(), r); err != nil || len(found) != 1 || found[0].State != provider.Pending {
		t.Errorf("%+v, %v", found, err)
	}
	if done, err := of.Delete(t.Context(), r, nil); err != nil || done {
		t.Errorf("done %t, %v", done, err)
	}
}

// A missing privilege is no reason to log in again: another session lacks it, too.
func TestADeniedCallEndsNoSession(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	of := s.open(t, s.class(provider.OpenShift, "c"))
	for n := range 5 {
		s.server.Inject(double.Fault{Failure: double.Failure{Kind: string(provider.Denied)}, Operation: "CloneVM_Task", Times: 1})
		if _, err := of.Create(t.Context(), machineRef(fmt.Sprint("m", n)), provider.Want{}); provider.KindOf(err) != provider.Denied {
			t.Fatal(err)
		}
		s.clock.Advance(time.Minute)
	}
	if n := s.server.Counts()["Login"]; n != 1 {
		t.Errorf("%d logins", n)
	}
}

// A connection that is refused is dropped, and the next call opens another session.
func TestASessionThatIsRefusedIsDropped(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	s.make(t, of, r)
	s.clock.Advance(time.Minute)
	old := s.user
	s.cloud.SetUser(vcenter.User{Name: old.Name, Password: "another"})
	if _, err := of.Find(t.Context(), r); provider.KindOf(err) != provider.Denied {
		t.Fatal(err)
	}
	s.cloud.SetUser(old)
	before := s.server.Counts()["RetrieveServiceContent"]
	if found, err := of.Find(t.Context(), r); err != nil || len(found) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	if n := s.server.Counts()["RetrieveServiceContent"] - before; n != 1 {
		t.Errorf("%d connections were opened", n)
	}
}

// A replaced connection is logged out, of SOAP and of REST.
func TestReplacedSessionsAreLoggedOut(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	s.make(t, of, r)
	open := s.cloud.Probe().Sessions()
	for range 3 {
		s.clock.Advance(2 * idleFor)
		if _, err := of.Find(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		if s.cloud.Probe().Sessions() == open {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d sessions are open, and %d were", s.cloud.Probe().Sessions(), open)
}

// The number of connections stays below the vCenter's limit, and a connection in use is not closed.
func TestTheSwitchboardHangsUp(t *testing.T) {
	clock := &double.Clock{}
	b := newConnPool(clock)
	var first *conn
	for n := range mostSessions + 1 {
		c := &conn{}
		if n == 0 {
			c.lease.take(clock.Now())
			first = c
		} else {
			c.lease.used = clock.Now()
		}
		b.open[provider.ClientKey(fmt.Sprint(n))] = c
		clock.Advance(time.Second)
	}
	if key := b.stalest(); key != "0" {
		t.Errorf("the stalest is %s", key)
	}
	b.hangUp("0")
	if _, ok := b.open["0"]; ok || !first.lease.ended || first.lease.users != 1 {
		t.Errorf("after it was dropped in use: %+v", &first.lease)
	}
	if !first.lease.give() {
		t.Error("the last use does not end it")
	}
}

func TestReasonsToDrop(t *testing.T) {
	for _, r := range []struct {
		fault types.BaseMethodFault
		want  bool
	}{
		{&types.NotAuthenticated{}, true},
		{&types.InvalidLogin{}, true},
		{&types.PasswordExpired{}, true},
		{&types.NoPermission{}, false},
		{&types.RestrictedByAdministrator{}, false},
		{nil, false},
	} {
		if err := classify(fmt.Errorf("x: %w", taskError{&types.LocalizedMethodFault{Fault: r.fault}})); spent(err) != r.want {
			t.Errorf("%T: %t", r.fault, !r.want)
		}
	}
}

// tagging lets all requests to the tagging service fail.
func (s *stage) tagging(kind provider.Kind) {
	for _, operation := range []string{"tag-association *", "category *", "tag *"} {
		s.server.Inject(double.Fault{Failure: double.Failure{Kind: string(kind)}, Operation: operation})
	}
}

// Without the tagging service machines are found, created, maintained and removed, unless a tag decides
// their owner.
func TestTheTaggingServiceIsDown(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class := s.openShift()
	class["tagIDs"] = []string{s.cloud.Probe().TagID("teams", "blue")}
	of, r, theirs := s.open(t, s.classOf(provider.OpenShift, "c", class)), machineRef("m"), machineRef("theirs")
	s.make(t, of, r)
	if _, err := s.cloud.Plant(vcenter.Plant{
		Name: "n", Folder: "/dc1/vm/machines", Template: "/dc1/vm/rhcos", Tags: []string{s.cloud.Probe().TagID("openshift-c", "c")}, InstanceID: theirs.UID,
	}); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []provider.Kind{provider.Transient, provider.Denied, provider.Throttled} {
		s.clock.Advance(2 * memoAge) // nothing is cached
		s.tagging(kind)
		i := s.found(t, of, r)
		if i.State != provider.Running || i.Uninitialized || i.Tags[tagLacks] != "" || of.Unkept(r, i) {
			t.Errorf("%s: %s, uninitialized %t, %v", kind, i.State, i.Uninitialized, i.Tags)
		}
		if err := of.Maintain(t.Context(), r, i); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		// Another implementation has created it, and only tags could record that it ran: it is not switched
		// on.
		if err := s.cloud.Do("stop", theirs.UID); err != nil && kind == provider.Transient {
			t.Fatal(err)
		}
		if i := s.found(t, of, theirs); i.State != provider.Stopped || i.Uninitialized {
			t.Errorf("%s: %s, uninitialized %t", kind, i.State, i.Uninitialized)
		}
		// Only a tag records the owner of this one.
		if _, err := of.Find(t.Context(), provider.Ref{UID: machineRef("other").UID, Name: "n"}); provider.KindOf(err) != kind {
			t.Errorf("%s comes out as %v", kind, err)
		}
		var told error
		for _, err := range of.List(t.Context()) {
			told = errors.Join(told, err)
		}
		if provider.KindOf(told) != kind {
			t.Errorf("a listing tells of %s as %v", kind, told)
		}
		s.settle(t, of, r)
		s.server.Heal()
	}
	s.clock.Advance(2 * memoAge)
	s.tagging(provider.Transient)
	if _, err := of.Create(t.Context(), machineRef("new"), provider.Want{}); err != nil {
		t.Fatal(err)
	}
	s.settle(t, of, machineRef("new"))
	s.gone(t, of, r)
	for _, q := range s.server.Requests() {
		if q.Operation == "Destroy_Task" && q.Status == http.StatusOK {
			return
		}
	}
	t.Error("nothing was removed")
}

// Machines that join their group at the same time, and one that leaves meanwhile, do not undo each other's
// changes.
func TestGroupsAreChangedOneAfterTheOther(t *testing.T) {
	s := newStage(t, vcenter.Options{Regroup: 5 * time.Second})
	class := s.openShift()
	class["workspace"].(m)["vmGroup"] = "rack1"
	of := s.open(t, s.classOf(provider.OpenShift, "c", class))
	leaves := s.make(t, of, machineRef("z"))
	refs := []provider.Ref{machineRef("a"), machineRef("b"), machineRef("c")}
	var made []provider.Instance
	for _, r := range refs {
		if _, err := of.Create(t.Context(), r, provider.Want{}); err != nil {
			t.Fatal(err)
		}
		made = append(made, s.found(t, of, r))
	}
	if done, err := of.Delete(t.Context(), machineRef("z"), []provider.Instance{leaves}); done || err != nil { // off
		t.Fatal(done, err)
	}
	s.clock.Advance(time.Second)
	s.server.Inject(double.Fault{Operation: "ReconfigureComputeResource_Task", Delay: 100 * time.Millisecond})
	for round := range 4 {
		before := s.server.Counts()["ReconfigureComputeResource_Task"]
		var all sync.WaitGroup
		for n := range refs {
			all.Go(func() {
				if err := of.Initialize(t.Context(), refs[n], made[n]); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			if _, err := of.Delete(t.Context(), machineRef("z"), nil); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		if n := s.server.Counts()["ReconfigureComputeResource_Task"] - before; n != 1 {
			t.Errorf("in round %d the group is changed %d times", round, n)
		}
		s.clock.Advance(6 * time.Second)
		s.cloud.Machines()
	}
	if got := s.cloud.Probe().GroupMembers("cluster1", "rack1"); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the group has %q", got)
	}
}

// A template that was created from a node has its options. A clone of it is switched on, and records its
// own owner.
func TestATemplateThatWasANode(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	of := s.open(t, s.class(provider.OpenShift, "c"))
	s.make(t, of, machineRef("m"))
	extra := s.only(t).Extra
	extra[keyGroup], extra[keyOwner] = "rack1", "another"
	golden, err := s.cloud.Plant(vcenter.Plant{Name: "golden", Folder: "/dc1/vm/golden", Template: "/dc1/vm/rhcos", Extra: extra})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cloud.Do("stop", golden.InstanceID); err != nil {
		t.Fatal(err)
	}
	class := s.openShift()
	class["template"] = "/dc1/vm/golden/golden"
	of, r := s.open(t, s.classOf(provider.OpenShift, "c", class)), machineRef("n")
	if i := s.make(t, of, r); i.State != provider.Running || i.UID != r.UID || i.Owner != "" || i.Tags[keyGroup] != "" {
		t.Errorf("%+v", i)
	}
}

// The namespace of an orphan's claims is unknown: the orphan can still be removed.
func TestOrphansHaveNoClaims(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	k := &heldObjects{objects: objects{}}
	s.objects = k
	class := s.openShift()
	of, r := s.open(t, s.classOf(provider.OpenShift, "c", class)), machineRef("m")
	i := s.make(t, of, r)
	class["network"] = m{"devices": []m{{"networkName": "vm-network", "addressesFromPools": []m{{"group": "ipam.example.org", "resource": "IPPool", "name": "p"}}}}}
	of = s.open(t, s.classOf(provider.OpenShift, "c", class))
	s.gone(t, of, provider.Ref{UID: r.UID, Name: r.Name}, i)
	if len(k.released) > 0 {
		t.Errorf("released %q", k.released)
	}
}

// A claim, or an address, under deletion is soon assigned to another machine.
func TestAddressesThatAreLeaving(t *testing.T) {
	const claim, given = "v1beta1 IPAddressClaim machines/m-claim-0-0", "v1beta1 IPAddress machines/a"
	for what, there := range map[string]objects{
		"the claim": {
			claim: `{"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"},"status":{"addressRef":{"name":"a"}}}`,
			given: `{"spec":{"address":"10.1.2.9","prefix":24}}`,
		},
		"the address": {
			claim: `{"status":{"addressRef":{"name":"a"}}}`,
			given: `{"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"},"spec":{"address":"10.1.2.9","prefix":24}}`,
		},
	} {
		s := newStage(t, vcenter.Options{})
		s.objects = there
		class := s.openShift()
		class["network"] = m{"devices": []m{{"networkName": "vm-network", "addressesFromPools": []m{{"group": "ipam.example.org", "resource": "IPPool", "name": "p"}}}}}
		_, err := s.open(t, s.classOf(provider.OpenShift, "c", class)).Create(t.Context(), machineRef("m"), provider.Want{})
		if provider.KindOf(err) != provider.Conflict || provider.AfterOf(err) == 0 || !strings.Contains(err.Error(), "is being deleted") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A machine is looked up by the one UUID that its clone requests, and by its name.
func TestOneUUIDIsLookedFor(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		of, r := s.open(t, s.class(api, "c")), machineRef("m-"+api)
		s.make(t, of, r)
		before := s.server.Counts()
		if found, err := of.Find(t.Context(), r); err != nil || len(found) != 1 || found[0].ID != of.uuids(r)[0] {
			t.Errorf("%s: %+v, %v", api, found, err)
		}
		if _, _, by := s.calls(before); by["FindAllByUuid"] != 1 {
			t.Errorf("%s: %v", api, by)
		}
	}
}

// A task whose effect is visible is not read.
func TestTasksWhoseEffectShows(t *testing.T) {
	for _, r := range []struct {
		what, power string
		want        bool
	}{
		{taskPowerOn, "poweredOn", true},
		{taskPowerOn, "poweredOff", false},
		{taskPowerOff, "poweredOff", true},
		{taskPowerOff, "poweredOn", false},
		{taskDestroy, "poweredOff", false},
		{taskOptions, "poweredOn", false},
	} {
		s := newStage(t, vcenter.Options{})
		of := s.open(t, s.class(provider.OpenShift, "c"))
		v := &vm{instanceUUID: "a", power: types.VirtualMachinePowerState(r.power)}
		of.provider.tasks.put("a", &task{what: r.what, ref: ref{Type: "Task", Value: "task-0"}})
		before := s.server.Counts()["RetrievePropertiesEx"]
		if err := of.with(t.Context(), func(c *conn) error {
			_, err := initializer{of}.busy(t.Context(), c, v, r.what)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if asked := s.server.Counts()["RetrievePropertiesEx"] > before; asked == r.want {
			t.Errorf("%s of one that is %s: asked is %t", r.what, r.power, asked)
		}
	}
}
