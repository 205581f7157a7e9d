package cloud

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// twoZones is an inventory with a cluster in each of two zones, and an Infrastructure with them as failure
// domains.
func twoZones(t *testing.T) *stage {
	t.Helper()
	all := vcenter.Sample()
	all.Datacenters[0].Clusters[0].Hosts, all.Datacenters[0].Clusters[1].VMGroups = 1, []string{"rack2"}
	all.Tags = append(all.Tags, vcenter.Tag{Category: categoryZone, Name: "zone2", On: []string{"/dc1/host/cluster2"}})
	s := newStage(t, vcenter.Options{Inventory: all})
	const domain = `{"name":"NAME","region":"region1","zone":"ZONE","server":"URL","topology":{"datacenter":"dc1","computeCluster":"/dc1/host/CLUSTER"}}`
	said := func(name, zone, cluster string) string {
		return strings.NewReplacer("NAME", name, "ZONE", zone, "CLUSTER", cluster, "URL", s.url).Replace(domain)
	}
	s.objects = objects{"config.openshift.io/v1 Infrastructure /cluster": `{"spec":{"platformSpec":{"vsphere":{"failureDomains":[` +
		said("a", "zone1", "cluster1") + "," + said("b", "zone2", "cluster2") + `]}}}}`}
	return s
}

// falling opens a class with fallbacks, and returns its choices too.
func (s *stage) falling(t *testing.T, class provider.Class, patches ...string) (provider.Session, []provider.Choice) {
	t.Helper()
	for _, p := range patches {
		class.Fallbacks = append(class.Fallbacks, []byte(p))
	}
	of, err := decorate.Fallback(s.provider()).Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	return of, of.Traits().Choices
}

// A spec names one placement. Its zone is that of a known failure domain; otherwise the placement itself
// identifies the capacity.
func TestOneChoice(t *testing.T) {
	s := twoZones(t)
	const kind = "2 CPUs, 8192 MiB, 120 GiB of rhcos in dc1/cluster1/Resources on ds1"
	for reason, r := range map[string]struct {
		change func(m)
		zone   string
		kind   string
	}{
		"a cluster's own pool": {func(m) {}, "zone1", kind},
		"the same by other paths": {func(s m) {
			workspace("resourcePool", "cluster1/Resources")(s)
			workspace("datastore", "/dc1/datastore/ds1")(s)
		}, "zone1", kind},
		"a pool below":                   {workspace("resourcePool", "/dc1/host/cluster1/Resources/machines"), "zone1", strings.Replace(kind, "Resources", "Resources/machines", 1)},
		"another cluster":                {workspace("resourcePool", "/dc1/host/cluster2/Resources"), "zone2", strings.Replace(kind, "cluster1", "cluster2", 1)},
		"a cluster of which nobody says": {workspace("resourcePool", "/dc1/host/cluster11/Resources"), "", strings.Replace(kind, "cluster1", "cluster11", 1)},
		"a name alone":                   {workspace("resourcePool", "machines"), "", strings.Replace(kind, "cluster1/Resources", "machines", 1)},
		"another datacenter":             {workspace("datacenter", "dc2"), "", strings.Replace(kind, "dc1", "dc2", 1)},
		"a group of virtual machines":    {workspace("vmGroup", "rack1"), "zone1", strings.Replace(kind, "Resources", "Resources (rack1)", 1)},
	} {
		spec := s.openShift()
		r.change(spec)
		all := s.open(t, s.classOf(provider.OpenShift, "c", spec)).Traits().Choices
		if len(all) != 1 || all[0].Zone != r.zone || all[0].Type != r.kind || (all[0].Region == "region1") != (r.zone != "") || all[0].Name == "" {
			t.Errorf("%s: %+v", reason, all)
		}
	}
	of := s.open(t, s.class(provider.Gardener, "c"))
	want := provider.Choice{
		Name: "2 CPUs, 8192 MiB in dc1/cluster1/Resources on ds1", Region: "region1",
		Type: "2 CPUs, 8192 MiB, 0 GiB of ubuntu in dc1/cluster1/Resources on ds1",
	}
	if all := of.Traits().Choices; len(all) != 1 || all[0] != want {
		t.Errorf("%+v", all)
	}
	class := s.class(provider.OpenShift, "c")
	class.Spec = nil
	if all := s.open(t, class).Traits().Choices; len(all) != 0 {
		t.Errorf("without a spec there are the choices %+v", all)
	}
}

// Contradicting failure domains, and regions with other tags, are ignored.
func TestDomains(t *testing.T) {
	at := placement{datacenter: "dc1", pool: "/dc1/host/cluster1/Resources", vmGroup: "rack1"}
	one := domain{"r", "z1", "VC", "dc1", "cluster1", ""}
	other := one
	other.zone = "z2"
	group := other
	group.vmGroup = "rack2"
	for reason, r := range map[string]struct {
		region  string
		domains []domain
		zone    string
	}{
		"one":                {categoryRegion, []domain{one}, "z1"},
		"the same twice":     {categoryRegion, []domain{one, one}, "z1"},
		"two":                {categoryRegion, []domain{one, other}, ""},
		"another group's":    {categoryRegion, []domain{one, group}, "z1"},
		"tags of another":    {"k8s-region", []domain{one}, ""},
		"none":               {categoryRegion, nil, ""},
		"of another vCenter": {categoryRegion, []domain{{"r", "z1", "other", "dc1", "cluster1", ""}}, ""},
	} {
		s := clusterConfig{region: r.region, zone: categoryZone, domains: r.domains}
		if got := s.domainOf("vc", at); got.zone != r.zone {
			t.Errorf("%s: %+v", reason, got)
		}
	}
}

// TestFallback: without room in the first zone, a machine is created in the second, and without space on a
// datastore on another one. The class's own session finds, lists and removes it.
func TestFallback(t *testing.T) {
	const elsewhere, store = `{"workspace":{"resourcePool":"/dc1/host/cluster2/Resources"}}`, `{"workspace":{"datastore":"ds2"}}`
	s := twoZones(t)
	class, r := s.class(provider.OpenShift, "c"), machineRef("m")
	of, choices := s.falling(t, class, elsewhere, store)
	base := s.open(t, class)
	if len(choices) != 3 || choices[1].Zone != "zone2" || choices[2].Zone != "zone1" {
		t.Fatalf("the choices are %+v", choices)
	}
	if err := s.cloud.Do("exhaust", "cluster1"); err != nil {
		t.Fatal(err)
	}
	first := s.chosen(t, of, r, choices[0])
	if first.Fault == nil || first.Fault.Kind != provider.Exhausted || first.Fault.Scope != provider.ScopeZone || first.Zone != "zone1" {
		t.Fatalf("of the first choice came %+v", first)
	}
	s.gone(t, base, r, first)
	second := s.chosen(t, of, r, choices[1])
	if second.State != provider.Running || second.Zone != "zone2" || s.only(t).Cluster != "cluster2" {
		t.Fatalf("of the second choice came %+v", second)
	}
	if all := base.Differences(r, second); len(all) > 0 {
		t.Errorf("it is called different: %q", all)
	}
	for listed, err := range base.List(t.Context()) {
		if err != nil || listed.ID != second.ID {
			t.Errorf("listed is %+v, %v", listed, err)
		}
	}
	s.gone(t, base, r, second)
}

// A machine joins, stays in and leaves the group that it was created with, also if a fallback has another
// group, or none.
func TestFallbackToAnotherGroup(t *testing.T) {
	s := twoZones(t)
	spec := s.openShift()
	workspace("vmGroup", "rack1")(spec)
	class := s.classOf(provider.OpenShift, "c", spec)
	const pool = `"resourcePool":"/dc1/host/cluster2/Resources"`
	of, choices := s.falling(t, class, `{"workspace":{`+pool+`,"vmGroup":"rack2"}}`, `{"workspace":{`+pool+`,"vmGroup":null}}`)
	if len(choices) != 3 {
		t.Fatalf("the choices are %+v", choices)
	}
	base := s.open(t, class)
	made := map[string]provider.Instance{}
	for n, name := range []string{"a", "b", "c"} {
		made[name] = s.chosen(t, of, machineRef(name), choices[n])
	}
	members := func() string {
		return strings.Join(append(s.cloud.Probe().GroupMembers("cluster1", "rack1"), s.cloud.Probe().GroupMembers("cluster2", "rack2")...), " ")
	}
	if got := members(); got != "a b" {
		t.Errorf("in the groups are %q", got)
	}
	for name, i := range made {
		if err := s.cloud.Probe().Ungroup(i.ID); err != nil {
			t.Fatal(err)
		}
		if grouped := groupOf(base, i.Tags) != ""; grouped == (name == "c") {
			t.Errorf("%s belongs in a group: %t", name, grouped)
		}
		if err := base.Maintain(t.Context(), machineRef(name), i); err != nil {
			t.Error(err)
		}
	}
	if got := members(); got != "a b" {
		t.Errorf("in the groups are %q again", got)
	}
	for name, i := range made {
		s.gone(t, base, machineRef(name), i)
	}
	if got := members(); got != "" {
		t.Errorf("in the groups are %q still", got)
	}
}

// A full datastore is detected after the clone has begun: a repeated call for the same choice gets the
// error, a call for another choice does not.
func TestFallbackToAnotherDatastore(t *testing.T) {
	for api, patch := range map[string]string{provider.OpenShift: `{"workspace":{"datastore":"ds2"}}`, provider.Gardener: `{"datastore":"ds2"}`} {
		s := twoZones(t)
		of, choices := s.falling(t, s.class(api, "c"), patch)
		if len(choices) != 2 {
			t.Fatalf("%s: the choices are %+v", api, choices)
		}
		if err := s.cloud.Do("exhaust", "ds1"); err != nil {
			t.Fatal(err)
		}
		for name, asks := range map[string][]int{"told": {0, 0, 1}, "at-once": {0, 1}} {
			r := machineRef(name)
			var err error
			for n, choice := range asks {
				_, err = of.Create(t.Context(), r, provider.Want{Choice: choices[choice].Name})
				if n == 1 && choice == 0 {
					if provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != provider.ScopeType {
						t.Errorf("%s: %v of scope %q", api, err, provider.ScopeOf(err))
					}
					err = nil
				}
				if found, ferr := of.Find(t.Context(), r); ferr != nil || choice == 0 && len(found) > 0 {
					t.Errorf("%s: of a datastore that is full came %+v, %v", api, found, ferr)
				}
			}
			if found, ferr := of.Find(t.Context(), r); err != nil || ferr != nil || len(found) != 1 {
				t.Errorf("%s, %s: %v, %v, %v", api, name, found, err, ferr)
			}
		}
		for _, machine := range s.cloud.Machines() {
			if machine.Datastore != "ds2" {
				t.Errorf("%s: %s is on %s", api, machine.Name, machine.Datastore)
			}
		}
	}
}

// A shortage in an unknown zone is one of the placement: others may be in other zones.
func TestAShortageOfAnUnknownZone(t *testing.T) {
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		s := newStage(t, vcenter.Options{})
		of, r := s.open(t, s.class(api, "c")), machineRef("m")
		if err := s.cloud.Do("exhaust", "cluster1"); err != nil {
			t.Fatal(err)
		}
		if i := s.chosen(t, of, r, of.Traits().Choices[0]); i.Fault == nil || i.Fault.Scope != provider.ScopeType {
			t.Errorf("%s: %+v", api, i)
		}
		_, err := of.Create(t.Context(), machineRef("n"), provider.Want{Choice: "no such choice"})
		if provider.KindOf(err) != provider.Invalid {
			t.Errorf("%s: a choice that the spec has not: %v", api, err)
		}
	}
}

// Another datacenter has its own listing: it cannot be a fallback.
func TestScopeIsTheDatacenter(t *testing.T) {
	s := twoZones(t)
	scope := func(change func(m)) string {
		spec := s.openShift()
		change(spec)
		return s.open(t, s.classOf(provider.OpenShift, "c", spec)).Traits().Scope
	}
	own := scope(func(m) {})
	for _, key := range []string{"resourcePool", "datastore", "folder"} {
		if scope(workspace(key, "another")) != own {
			t.Errorf("another %s is listed by itself", key)
		}
	}
	if scope(workspace("datacenter", "another")) == own {
		t.Error("another datacenter is listed with this one")
	}
}

// chosen creates an instance of a choice, starts it, and returns it.
func (s *stage) chosen(t *testing.T, of provider.Session, r provider.Ref, c provider.Choice) provider.Instance {
	t.Helper()
	if _, err := of.Create(t.Context(), r, provider.Want{Choice: c.Name}); err != nil {
		t.Fatal(err)
	}
	starts, _ := provider.As[provider.Initializer](of)
	for range 20 {
		all, err := of.Find(t.Context(), r)
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		if i := all[0]; i.Fault != nil || i.State == provider.Running && !i.Uninitialized {
			return i
		}
		if all[0].Uninitialized && all[0].State != provider.Pending {
			if err := starts.Initialize(t.Context(), r, all[0]); err != nil {
				t.Fatal(err)
			}
		}
		s.clock.Advance(time.Second)
	}
	t.Fatalf("of %s comes nothing", c.Name)
	return provider.Instance{}
}
