package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/provider"
)

// only is the vCenter's only machine.
func (s *stage) only(t *testing.T) vcenter.Machine {
	t.Helper()
	all := s.cloud.Machines()
	if len(all) != 1 {
		t.Fatalf("there are %d virtual machines", len(all))
	}
	return all[0]
}

// gone deletes until it is done, and returns the requests, in order.
func (s *stage) gone(t *testing.T, of *session, r provider.Ref, i ...provider.Instance) (asked []string) {
	t.Helper()
	before := len(s.server.Requests())
	for range 60 {
		done, err := of.Delete(t.Context(), r, i)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			for _, q := range s.server.Requests()[before:] {
				if q.Writes {
					asked = append(asked, q.Operation)
				}
			}
			return asked
		}
		s.clock.Advance(time.Second)
	}
	t.Fatal("it does not go")
	return nil
}

func TestDeletionIsStepByStep(t *testing.T) {
	s := newStage(t, vcenter.Options{Delete: 3 * time.Second})
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	i := s.make(t, of, r)
	asked := s.gone(t, of, r, i)
	if want := []string{"PowerOffVM_Task", "Destroy_Task"}; !slices.Equal(asked, want) {
		t.Errorf("%q, want %q", asked, want)
	}
}

// A volume's disk that is still attached when a machine is deleted is detached, with its data.
func TestVolumesAreKept(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class := s.openShift()
	class["dataDisks"] = []m{{"name": "own", "sizeGiB": 1}}
	of, r := s.open(t, s.classOf(provider.OpenShift, "c", class)), machineRef("m")
	i := s.make(t, of, r)
	if err := s.cloud.Do("attach", i.ID); err != nil {
		t.Fatal(err)
	}
	asked := s.gone(t, of, r, i)
	if want := []string{"PowerOffVM_Task", "ReconfigVM_Task", "Destroy_Task"}; !slices.Equal(asked, want) {
		t.Errorf("%q, want %q", asked, want)
	}
	if !s.cloud.Probe().HasFile("dc1", "ds1", "fcd/volume-"+i.ID+".vmdk") {
		t.Error("the volume is gone")
	}
	if s.cloud.Probe().HasFile("dc1", "ds1", "m/m_1.vmdk") {
		t.Error("a disk of its own is left")
	}
}

func TestDeletionOfACloneUnderWay(t *testing.T) {
	s := newStage(t, vcenter.Options{Clone: 10 * time.Second})
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	if _, err := of.Create(t.Context(), r, provider.Want{}); err != nil {
		t.Fatal(err)
	}
	if asked := s.gone(t, of, r); !slices.Contains(asked, "CancelTask") && len(s.cloud.Machines()) > 0 {
		t.Errorf("%q, and something is left", asked)
	}
	s.clock.Advance(time.Minute)
	if n := len(s.cloud.Machines()); n != 0 {
		t.Errorf("%d virtual machines came later", n)
	}
}

func TestTags(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class := s.openShift()
	class["tagIDs"] = []string{s.cloud.Probe().TagID("teams", "blue")}
	of, r := s.open(t, s.classOf(provider.OpenShift, "c", class)), machineRef("m")
	s.make(t, of, r)
	got := s.only(t).Tags
	slices.Sort(got)
	if want := []string{"blue", "c"}; !slices.Equal(got, want) {
		t.Errorf("it has the tags %q, want %q", got, want)
	}
	if n := s.server.Counts()["tag-association attach-multiple-tags-to-object"]; n != 1 {
		t.Errorf("%d requests for two tags", n)
	}
}

func TestAttributes(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class := s.gardener("c")
	class["tags"].(m)["team"] = "blue"
	of, r := s.open(t, s.classOf(provider.Gardener, "c", class)), machineRef("m")
	s.make(t, of, r)
	got := s.only(t).Attributes
	for key, value := range map[string]string{"kubernetes.io/cluster/c": "1", "kubernetes.io/role/node": "1", "team": "blue"} {
		if got[key] != value {
			t.Errorf("%s is %q, want %q", key, got[key], value)
		}
	}
	// A spec without an owner gets the attributes by which the original would find its machines.
	delete(class, "tags")
	of = s.open(t, s.classOf(provider.Gardener, "d", class))
	s.make(t, of, machineRef("n"))
	for _, machine := range s.cloud.Machines() {
		if machine.Name == "n" && (machine.Attributes["kubernetes.io/cluster/d"] == "" || machine.Attributes["kubernetes.io/role/node"] == "") {
			t.Errorf("%v", machine.Attributes)
		}
	}
}

// An option records that a machine ran: if it is switched off later, it is not switched on again, whatever
// its tags.
func TestWhatRanIsNoted(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	s.tagged["c"] = true // an administrator has created no tag for the cluster
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	i := s.make(t, of, r)
	if got := s.only(t).Extra[keyStarted]; got != "true" {
		t.Errorf("nothing says that it ran: %q", got)
	}
	if err := s.cloud.Do("stop", i.ID); err != nil {
		t.Fatal(err)
	}
	found, err := of.Find(t.Context(), r)
	if err != nil || len(found) != 1 || found[0].State != provider.Stopped || found[0].Uninitialized {
		t.Errorf("%+v, %v: want one that is off, and stays off", found, err)
	}
}

func TestAMachineThatIsSwitchedOffStaysOff(t *testing.T) {
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		s := newStage(t, vcenter.Options{})
		of, r := s.open(t, s.class(api, "c")), machineRef("m")
		i := s.make(t, of, r)
		for _, verb := range []string{"strip", "stop"} { // also if only the note is left
			if err := s.cloud.Do(verb, i.ID); err != nil {
				t.Fatal(err)
			}
		}
		found, err := s.open(t, s.class(api, "c")).Find(t.Context(), r)
		if err != nil || len(found) != 1 || found[0].State != provider.Stopped || found[0].Uninitialized {
			t.Errorf("%s: %+v, %v: want one that is off, and stays off", api, found, err)
		}
	}
}

func TestVMGroup(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class := s.openShift()
	class["workspace"].(m)["vmGroup"] = "rack1"
	of := s.open(t, s.classOf(provider.OpenShift, "c", class))
	var made []provider.Instance
	for _, name := range []string{"a", "b"} {
		made = append(made, s.make(t, of, machineRef(name)))
	}
	if got := s.cloud.Probe().GroupMembers("cluster1", "rack1"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the group has %q", got)
	}
	joined, on := -1, -1
	for n, q := range s.server.Requests() {
		switch q.Operation {
		case "ReconfigureComputeResource_Task":
			joined = max(joined, n)
		case "PowerOnMultiVM_Task":
			on = max(on, n)
		}
	}
	if joined > on {
		t.Error("the last machine was powered on before it was in the group")
	}
	s.gone(t, of, machineRef("a"), made[0])
	if got := s.cloud.Probe().GroupMembers("cluster1", "rack1"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("after one is gone, the group has %q", got)
	}
	class["workspace"].(m)["vmGroup"] = "rack9"
	of = s.open(t, s.classOf(provider.OpenShift, "c", class))
	if _, err := of.Create(t.Context(), machineRef("c"), provider.Want{}); err != nil {
		t.Fatal(err)
	}
	found, err := of.Find(t.Context(), machineRef("c"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := of.Initialize(t.Context(), machineRef("c"), found[0]); !namesField(err, "workspace.vmGroup") {
		t.Errorf("%v, want Invalid about workspace.vmGroup", err)
	}
}

func TestWaitForIP(t *testing.T) {
	s := newStage(t, vcenter.Options{Boot: 20 * time.Minute})
	class := s.gardener("c")
	class["waitForIP"] = true
	of, r := s.open(t, s.classOf(provider.Gardener, "c", class)), machineRef("m")
	if _, err := of.Create(t.Context(), r, provider.Want{}); err != nil {
		t.Fatal(err)
	}
	found, _ := of.Find(t.Context(), r)
	if err := of.Initialize(t.Context(), r, found[0]); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(10 * time.Minute)
	if found, err := of.Find(t.Context(), r); err != nil || found[0].State != provider.Pending {
		t.Errorf("%+v, %v: want one that is waited for", found, err)
	}
	s.clock.Advance(10 * time.Minute)
	if i := s.settle(t, of, r); len(i.Addresses) == 0 {
		t.Error("it has no address")
	}
}

// A guest without tools never reports an address: the provider does not wait for one.
func TestAGuestThatTellsNoAddress(t *testing.T) {
	s := newStage(t, vcenter.Options{Boot: time.Hour})
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	if _, err := of.Create(t.Context(), r, provider.Want{}); err != nil {
		t.Fatal(err)
	}
	found, _ := of.Find(t.Context(), r)
	if err := of.Initialize(t.Context(), r, found[0]); err != nil {
		t.Fatal(err)
	}
	for _, want := range []provider.State{provider.Pending, provider.Running} {
		if found, err := of.Find(t.Context(), r); err != nil || found[0].State != want {
			t.Errorf("%+v, %v: want one that is %s", found, err, want)
		}
		s.clock.Advance(2 * addressPatience)
	}
}

func TestAddresses(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class := s.openShift()
	class["network"] = m{"devices": []m{{"networkName": "vm-network", "ipAddrs": []string{"10.1.2.3/24"}, "gateway": "10.1.2.1"}, {"networkName": "storage-network", "ipAddrs": []string{"10.9.0.3/24"}}}}
	of, r := s.open(t, s.classOf(provider.OpenShift, "c", class)), machineRef("m")
	s.make(t, of, r)
	i := s.settle(t, of, r)
	var got []string
	for _, a := range i.Addresses {
		got = append(got, string(a.Type)+" "+a.Address)
	}
	if want := []string{"InternalIP 10.1.2.3", "InternalIP 10.9.0.3", "InternalDNS m"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// objects are those of a control cluster, by kind and name.
type objects map[string]string

func (o objects) Object(_ context.Context, r provider.ObjectRef) ([]byte, error) {
	text, ok := o[strings.TrimPrefix(r.APIVersion, "ipam.cluster.x-k8s.io/")+" "+r.Kind+" "+r.Namespace+"/"+r.Name]
	if !ok {
		return nil, provider.ErrNoObject
	}
	return []byte(text), nil
}

func TestAddressesOfPools(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1beta2"} {
		s := newStage(t, vcenter.Options{})
		s.objects = objects{}
		class := s.openShift()
		class["network"] = m{"devices": []m{{
			"networkName": "vm-network", "ipAddrs": []string{"10.1.2.3/24"}, "nameservers": []string{"10.1.2.2"},
			"addressesFromPools": []m{{"group": "ipam.example.org", "resource": "pools", "name": "p"}},
		}}}
		of, r := s.open(t, s.classOf(provider.OpenShift, "c", class)), machineRef("m")
		claim := version + " IPAddressClaim machines/m-claim-0-0"
		for _, step := range []struct {
			object, text string
			kind         provider.Kind
		}{
			{"", "", provider.Conflict},
			{claim, `{"status":{}}`, provider.Conflict},
			{claim, `{"status":{"addressRef":{"name":"a"}}}`, provider.Conflict},
			{version + " IPAddress machines/a", `{"spec":{"address":"10.1.2.9","prefix":24,"gateway":"10.1.2.1"}}`, ""},
		} {
			s.objects.(objects)[step.object] = step.text
			_, err := of.Create(t.Context(), r, provider.Want{})
			if provider.KindOf(err) != step.kind || step.kind != "" && provider.AfterOf(err) == 0 {
				t.Fatalf("with %s: %v", step.object, err)
			}
		}
		clones := s.cloud.Probe().Clones()
		const want = "ip=10.1.2.3::10.1.2.1:255.255.255.0:::none ip=10.1.2.9::10.1.2.1:255.255.255.0:::none nameserver=10.1.2.2"
		if got := options(clones[len(clones)-1])[optionKargs]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// heldObjects are objects that can be created and released.
type heldObjects struct {
	objects
	kept, released []string
}

func (k *heldObjects) Keep(_ context.Context, raw []byte) error {
	var o struct {
		APIVersion, Kind string
		Metadata         struct{ Namespace, Name string }
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	version := strings.TrimPrefix(o.APIVersion, "ipam.cluster.x-k8s.io/")
	if version != "v1beta2" {
		return provider.ErrNoObject
	}
	k.kept = append(k.kept, string(raw))
	k.objects[version+" "+o.Kind+" "+o.Metadata.Namespace+"/"+o.Metadata.Name] = `{}`
	return nil
}

func (k *heldObjects) Release(_ context.Context, ref provider.ObjectRef, machine, finalizer string) error {
	k.released = append(k.released, ref.APIVersion+" "+ref.Namespace+"/"+ref.Name+" "+machine+" "+finalizer)
	return nil
}

// Claims are created as the original creates them, once, in the served version, and released when nothing
// is left of the machine.
func TestClaimsAreMadeAndReleased(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	k := &heldObjects{objects: objects{}}
	s.objects = k
	class := s.openShift()
	class["network"] = m{"devices": []m{{
		"networkName": "vm-network", "addressesFromPools": []m{{"group": "ipam.example.org", "resource": "IPPool", "name": "p"}},
	}}}
	of, r := s.open(t, s.classOf(provider.OpenShift, "c", class)), machineRef("m")
	for range 3 {
		if _, err := of.Create(t.Context(), r, provider.Want{}); provider.KindOf(err) != provider.Conflict {
			t.Fatal(err)
		}
	}
	want := fmt.Sprintf(`{"apiVersion":"ipam.cluster.x-k8s.io/v1beta2","kind":"IPAddressClaim","metadata":{"finalizers":["machine.openshift.io/ip-claim-protection"],`+
		`"name":"m-claim-0-0","namespace":"machines","ownerReferences":[{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","name":"m","uid":%q}]},`+
		`"spec":{"poolRef":{"apiGroup":"ipam.example.org","kind":"IPPool","name":"p"}}}`, r.UID)
	if len(k.kept) != 1 || k.kept[0] != want {
		t.Errorf("made %q,\nwant %q", k.kept, want)
	}
	k.objects["v1beta2 IPAddressClaim machines/m-claim-0-0"] = `{"status":{"addressRef":{"name":"a"}}}`
	k.objects["v1beta2 IPAddress machines/a"] = `{"spec":{"address":"10.1.2.9","prefix":24,"gateway":"10.1.2.1"}}`
	if _, err := of.Create(t.Context(), r, provider.Want{}); err != nil {
		t.Fatal(err)
	}
	for done := false; !done; {
		var err error
		if done, err = of.Delete(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		if !done && len(k.released) > 0 {
			t.Error("claims are released while the instance is there")
		}
	}
	const claim = " machines/m-claim-0-0 m machine.openshift.io/ip-claim-protection"
	if !slices.Equal(k.released, []string{"ipam.cluster.x-k8s.io/v1beta1" + claim, "ipam.cluster.x-k8s.io/v1beta2" + claim}) {
		t.Errorf("released %q", k.released)
	}
}

// The next Create reports the result of a clone: a failed one leaves nothing.
func TestAFailedCloneIsToldByTheNextCreate(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	if err := s.cloud.Do("exhaust", "ds1"); err != nil {
		t.Fatal(err)
	}
	if i, err := of.Create(t.Context(), r, provider.Want{}); err != nil || i.State != provider.Pending {
		t.Fatal(i, err)
	}
	if found, err := of.Find(t.Context(), r); err != nil || len(found) > 0 {
		t.Fatal(found, err)
	}
	_, err := of.Create(t.Context(), r, provider.Want{})
	if provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != provider.ScopeType || !strings.Contains(err.Error(), "ds1") {
		t.Errorf("%v of %s", err, provider.ScopeOf(err))
	}
	if err := s.cloud.Do("restock", "ds1"); err != nil {
		t.Fatal(err)
	}
	s.make(t, of, r)
}

func TestANameThatIsTaken(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	if _, err := s.cloud.Plant(vcenter.Plant{Name: "m", Folder: "/dc1/vm/machines", Template: "/dc1/vm/rhcos"}); err != nil {
		t.Fatal(err)
	}
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	if _, err := of.Create(t.Context(), r, provider.Want{}); err != nil {
		t.Fatal(err)
	}
	_, err := of.Create(t.Context(), r, provider.Want{})
	if provider.KindOf(err) != provider.Conflict || !strings.Contains(err.Error(), "has the name m") {
		t.Errorf("%v: want a Conflict that names the name", err)
	}
}

// OpenShift's provider finds its virtual machines by the machine's UID, and so does this provider. It
// continues with a half-finished one.
func TestOpenShiftsOwnVirtualMachines(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	s.tagged["c"] = true // a cluster without a tag
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	if _, err := s.cloud.Plant(vcenter.Plant{Name: "renamed", Folder: "/dc1/vm/machines", Template: "/dc1/vm/rhcos", InstanceID: r.UID}); err != nil {
		t.Fatal(err)
	}
	found, err := of.Find(t.Context(), r)
	if err != nil || len(found) != 1 || found[0].UID != "" {
		t.Fatalf("%+v, %v: want the one with the instance UUID", found, err)
	}
	if err := s.cloud.Do("stop", found[0].ID); err != nil {
		t.Fatal(err)
	}
	if i := s.settle(t, of, r); i.State != provider.Running {
		t.Errorf("%+v", i)
	}
	// And the way back: OpenShift's lookup uses the same UUID.
	other := machineRef("n")
	s.make(t, of, other)
	for _, machine := range s.cloud.Machines() {
		if machine.Name == "n" && machine.InstanceID != other.UID {
			t.Errorf("the instance UUID is %s, and OpenShift's provider looks for %s", machine.InstanceID, other.UID)
		}
	}
}

// A user makes a copy, or a template, of a node: neither belongs to a machine.
func TestCopies(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	s.make(t, of, r)
	if _, err := s.cloud.Plant(vcenter.Plant{Name: "copy of m", Folder: "/dc1/vm/machines", Template: "/dc1/vm/rhcos", Extra: s.only(t).Extra}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, err := range of.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; i.Name != "m" {
			t.Errorf("lists %+v", i)
		}
	}
	if n != 1 {
		t.Errorf("lists %d", n)
	}
}

func TestIdentityIsOutOfTheGuestsReach(t *testing.T) {
	for _, key := range identityKeys {
		if strings.HasPrefix(key, "guestinfo.") {
			t.Errorf("a guest can change %s", key)
		}
	}
}

// namesField reports whether an error is Invalid and about a field.
func namesField(err error, field string) bool {
	e, ok := errors.AsType[*provider.Error](err)
	return ok && e.Kind == provider.Invalid && e.Field == field
}
