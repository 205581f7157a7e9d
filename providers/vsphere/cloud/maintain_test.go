package cloud

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/provider"
)

// kept finds the instance of a machine, which must be Unkept, maintains it, and returns the result.
func (s *stage) kept(t *testing.T, of *session, r provider.Ref) provider.Instance {
	t.Helper()
	i := s.found(t, of, r)
	if !of.Unkept(r, i) {
		t.Fatalf("nobody asks for it: %v", i.Tags)
	}
	if err := of.Maintain(t.Context(), r, i); err != nil {
		t.Fatal(err)
	}
	i = s.found(t, of, r)
	if i.State != provider.Running || i.Uninitialized {
		t.Errorf("it is %s, uninitialized %t", i.State, i.Uninitialized)
	}
	return i
}

func (s *stage) found(t *testing.T, of *session, r provider.Ref) provider.Instance {
	t.Helper()
	all, err := of.Find(t.Context(), r)
	if err != nil || len(all) != 1 {
		t.Fatalf("find %s: %+v, %v", r.Name, all, err)
	}
	return all[0]
}

// rests fails if a machine without differences is Unkept, or changed.
func (s *stage) rests(t *testing.T, of *session, r provider.Ref, i provider.Instance) {
	t.Helper()
	if of.Unkept(r, i) && groupOf(of, i.Tags) == "" {
		t.Errorf("it is asked for again: %v", i.Tags)
	}
	before := s.server.Counts()
	if err := of.Maintain(t.Context(), r, i); err != nil {
		t.Error(err)
	}
	if writes, _, by := s.calls(before); writes > 0 {
		t.Errorf("at rest there are changes: %v", by)
	}
}

// A removed tag of the spec, or of the cluster, is added again; meanwhile the machine does not change.
func TestTagsAreMended(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class, r := s.openShift(), machineRef("m")
	blue := s.cloud.Probe().TagID("teams", "blue")
	class["tagIDs"] = []string{blue}
	of := s.open(t, s.classOf(provider.OpenShift, "c", class))
	i := s.make(t, of, r)
	for _, id := range []string{blue, s.cloud.Probe().TagID("openshift-c", "c")} {
		if err := s.cloud.Probe().Untag(id, i.ID); err != nil {
			t.Fatal(err)
		}
		if i := s.found(t, of, r); i.Uninitialized || i.State != provider.Running {
			t.Errorf("without a tag it is %s, uninitialized %t", i.State, i.Uninitialized)
		}
		i = s.kept(t, of, r)
		if got := s.only(t).Tags; len(got) != 2 {
			t.Errorf("it has the tags %q", got)
		}
		s.rests(t, of, r, i)
	}
}

// Missing tags are also detected in a listing.
func TestAListingShowsWhatIsLacking(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	i := s.make(t, of, r)
	for _, lacking := range []bool{false, true} {
		if lacking {
			if err := s.cloud.Do("strip", i.ID); err != nil {
				t.Fatal(err)
			}
		}
		for listed, err := range of.List(t.Context()) {
			if err != nil || of.Unkept(r, listed) != lacking {
				t.Errorf("unkept is %t, want %t (%v)", !lacking, lacking, err)
			}
		}
	}
}

// Edited or cleared custom attributes are restored to the spec's values; those of others stay.
func TestAttributesAreMended(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class, r := s.gardener("c"), machineRef("m")
	class["tags"].(m)["team"] = "blue"
	of := s.open(t, s.classOf(provider.Gardener, "c", class))
	i := s.make(t, of, r)
	for name, value := range map[string]string{"team": "red", "kubernetes.io/role/node": "", "theirs": "1"} {
		if err := s.cloud.Probe().SetAttribute(i.ID, name, value); err != nil {
			t.Fatal(err)
		}
	}
	i = s.kept(t, of, r)
	want := map[string]string{"team": "blue", "kubernetes.io/role/node": "1", "kubernetes.io/cluster/c": "1", "theirs": "1"}
	if got := s.only(t).Attributes; !maps.Equal(got, want) {
		t.Errorf("it has the attributes %v, want %v", got, want)
	}
	s.rests(t, of, r, i)
}

// A virtual machine that was removed from its group is added again.
func TestGroupsAreMended(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class, r := s.openShift(), machineRef("m")
	class["workspace"].(m)["vmGroup"] = "rack1"
	of := s.open(t, s.classOf(provider.OpenShift, "c", class))
	i := s.make(t, of, r)
	s.make(t, of, machineRef("n"))
	if err := s.cloud.Probe().Ungroup(i.ID); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(2 * memoAge) // the members are read once a minute
	if _, err := of.Find(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	i = s.kept(t, of, r)
	if got := s.cloud.Probe().GroupMembers("cluster1", "rack1"); !slices.Equal(got, []string{"m", "n"}) {
		t.Errorf("the group has %q", got)
	}
	s.clock.Advance(2 * memoAge)
	s.rests(t, of, r, i)
}

// Each removed option that records the owner of a virtual machine, one after the other and all at once, is
// written again: its instance UUID is proof. It is found meanwhile.
func TestIdentityIsMended(t *testing.T) {
	signs := []string{keyUID, keyNamespace, keyName, keyOwner, keyCluster}
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		s := newStage(t, vcenter.Options{})
		class, r := s.class(api, "c"), machineRef("m")
		class.Owner = "here"
		of := s.open(t, class)
		made := s.make(t, of, r)
		before := s.only(t).Extra
		for _, lost := range append([][]string{signs}, slices.Collect(slices.Chunk(signs, 1))...) {
			for _, key := range lost {
				if err := s.cloud.Probe().SetOption(made.ID, key, ""); err != nil {
					t.Fatal(err)
				}
			}
			i := s.kept(t, of, r)
			if now := s.only(t).Extra; !maps.Equal(now, before) {
				t.Errorf("%s: without %v it has the options %v, want %v", api, lost, now, before)
			}
			s.rests(t, of, r, i)
		}
		// Also if no other mark is left.
		if err := s.cloud.Do("strip", made.ID); err != nil {
			t.Fatal(err)
		}
		for _, key := range signs {
			if err := s.cloud.Probe().SetOption(made.ID, key, ""); err != nil {
				t.Fatal(err)
			}
		}
		if i := s.kept(t, of, r); i.UID != r.UID || i.ID != made.ID {
			t.Errorf("%s: it is %+v", api, i)
		}
	}
}

// Without the machine's UUID nothing proves the owner of a virtual machine: its options are left alone, and
// so are those with another machine's UID. The original's own marks are restored.
func TestIdentityIsNotMadeUp(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class, r := s.class(provider.Gardener, "c"), machineRef("m")
	if err := s.plant(class, provider.Instance{Name: r.Name}); err != nil {
		t.Fatal(err)
	}
	of := s.open(t, class)
	i := s.found(t, of, r)
	before := s.only(t).Extra
	if err := s.cloud.Probe().SetAttribute(i.ID, "kubernetes.io/role/node", "2"); err != nil {
		t.Fatal(err)
	}
	s.kept(t, of, r)
	if now := s.only(t); !maps.Equal(now.Extra, before) || now.Attributes["kubernetes.io/role/node"] != "1" {
		t.Errorf("it has the options %v and the attributes %v", now.Extra, now.Attributes)
	}
	if err := s.cloud.Probe().SetOption(i.ID, keyUID, "another"); err != nil {
		t.Fatal(err)
	}
	if err := s.cloud.Do("strip", i.ID); err != nil {
		t.Fatal(err)
	}
	i.UID = "another"
	if of.Unkept(r, i) {
		t.Error("what is another machine's is asked for")
	}
	for _, uid := range []string{"another", ""} { // also if that was not known yet
		i.UID = uid
		s.rests(t, of, r, i)
	}
}

// A virtual machine of OpenShift's provider records its owner from then on.
func TestOpenShiftsOwnAreMarked(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class, r := s.class(provider.OpenShift, "c"), machineRef("m")
	if _, err := s.cloud.Plant(vcenter.Plant{Name: r.Name, Folder: "/dc1/vm/machines", Template: "/dc1/vm/rhcos", InstanceID: r.UID}); err != nil {
		t.Fatal(err)
	}
	of := s.open(t, class)
	s.settle(t, of, r)
	i := s.kept(t, of, r)
	if i.UID != r.UID || i.Namespace != r.Namespace || !slices.Equal(s.only(t).Tags, []string{"c"}) {
		t.Errorf("it is %+v with the tags %q", i, s.only(t).Tags)
	}
	s.rests(t, of, r, i)
}

// A refused repair is reported, does not stop the others, and ends no session.
func TestARefusedRepairIsTold(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class, r := s.class(provider.OpenShift, "c"), machineRef("m")
	of := s.open(t, class)
	i := s.make(t, of, r)
	if err := s.cloud.Do("strip", i.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.cloud.Probe().SetOption(i.ID, keyNamespace, ""); err != nil {
		t.Fatal(err)
	}
	s.server.Inject(double.Fault{Failure: double.Failure{Kind: string(provider.Denied)}, Operation: "ReconfigVM_Task", Times: 1})
	err := of.Maintain(t.Context(), r, s.found(t, of, r))
	if provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), "write options of m") {
		t.Errorf("told is %v", err)
	}
	if got := s.only(t).Tags; len(got) != 1 {
		t.Errorf("it has the tags %q", got)
	}
	s.kept(t, of, r)
	if n := s.server.Counts()["Login"]; n != 1 {
		t.Errorf("%d logins", n)
	}
}

// The end of a session in the middle is no failure.
func TestRepairsInAnotherSession(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		of, r := s.open(t, s.class(api, "c")), machineRef("m-"+api)
		i := s.make(t, of, r)
		if err := s.cloud.Do("strip", i.ID); err != nil {
			t.Fatal(err)
		}
		i = s.found(t, of, r)
		s.cloud.EndSessions()
		if err := of.Maintain(t.Context(), r, i); err != nil {
			t.Errorf("%s: %v", api, err)
		}
		if i = s.found(t, of, r); of.Unkept(r, i) {
			t.Errorf("%s: it has %v", api, i.Tags)
		}
	}
}

// A deleted instance needs no repair.
func TestNothingToRepair(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	i := s.make(t, of, r)
	s.gone(t, of, r, i)
	s.clock.Advance(time.Minute)
	s.rests(t, of, r, i)
}

func TestAnUnknownTagIsTheSpecs(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class := s.openShift()
	class["tagIDs"] = []string{"urn:vmomi:InventoryServiceTag:11111111-2222-3333-4444-555555555555:GLOBAL"}
	of, r := s.open(t, s.classOf(provider.OpenShift, "c", class)), machineRef("m")
	if _, err := of.Create(t.Context(), r, provider.Want{}); err != nil {
		t.Fatal(err)
	}
	i := s.settle(t, of, r) // it is still usable
	if err := of.Maintain(t.Context(), r, i); !namesField(err, "tagIDs[0]") {
		t.Errorf("%v, want Invalid about tagIDs[0]", err)
	}
}
