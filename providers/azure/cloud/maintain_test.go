package cloud_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/arm"
	"github.com/millwright-dev/millwright/provider"
)

func maintainer(t *testing.T, s provider.Session) provider.Maintainer {
	t.Helper()
	m, ok := provider.As[provider.Maintainer](s)
	if !ok {
		t.Fatal("the session is no Maintainer")
	}
	return m
}

// TestTagsAreMended: tags of the spec and ours are restored. Tags of others stay, and users' tags never
// replace ours.
func TestTagsAreMended(t *testing.T) {
	eachAPI(t, func(t *testing.T, api string) {
		w := newWorld(t)
		made := w.create(w.open(patched(t, class(api, "c1"), `{"tags":{"theirs":"1","TEAM":"red"}}`)), machine(1))
		w.clock.Advance(time.Minute)
		s := w.open(patched(t, class(api, "c1"), `{"tags":{"team":"blue","Millwright.dev_machine-uid":"theirs"}}`))
		m, i := maintainer(t, s), w.only(s, machine(1))
		if !m.Unkept(machine(1), i) {
			t.Fatal("nobody asks for it")
		}
		if err := m.Maintain(t.Context(), machine(1), i); err != nil {
			t.Fatal(err)
		}
		i = w.only(s, machine(1))
		if i.Tags["team"] != "blue" || i.Tags["TEAM"] != "" || i.Tags["theirs"] != "1" || i.UID != made.UID || i.Tags["millwright.dev_cluster"] != "c1" {
			t.Errorf("tags %v", i.Tags)
		}
		if m.Unkept(machine(1), i) {
			t.Error("it is asked for again")
		}
		if n := w.server.Counts()["PATCH virtualMachines"]; n != 1 {
			t.Errorf("%d changes", n)
		}
	})
}

// TestOwnTagsAreMended: each tag that records a machine's owner is restored, one at a time.
func TestOwnTagsAreMended(t *testing.T) {
	eachAPI(t, func(t *testing.T, api string) {
		w := newWorld(t)
		c := class(api, "c1")
		c.Owner = "here"
		s := w.open(c)
		m := maintainer(t, s)
		made := w.create(s, machine(1))
		w.clock.Advance(time.Minute)
		for _, tag := range []string{"millwright.dev_machine-uid", "millwright.dev_machine-namespace", "millwright.dev_owner", "millwright.dev_cluster"} {
			if err := w.cloud.Do("untag", made.ID+" "+tag); err != nil {
				t.Fatal(err)
			}
			i := w.only(s, machine(1))
			if !m.Unkept(machine(1), i) {
				t.Errorf("nobody asks for %s", tag)
			}
			if err := m.Maintain(t.Context(), machine(1), i); err != nil {
				t.Fatal(err)
			}
			if now := w.only(s, machine(1)); now.Tags[tag] == "" || m.Unkept(machine(1), now) {
				t.Errorf("without %s: tags %v", tag, now.Tags)
			}
		}
	})
}

// TestAdoptedMachinesAreMarked: machines of the original get our tags. A machine with another's UID is left
// alone.
func TestAdoptedMachinesAreMarked(t *testing.T) {
	eachAPI(t, func(t *testing.T, api string) {
		w := newWorld(t)
		c := class(api, "c1")
		w.cloud.Plant(w.seed(c, "", "", machine(1).Name))
		w.cloud.Plant(w.seed(c, "another", "", machine(2).Name))
		s := w.open(c)
		m := maintainer(t, s)
		i := w.only(s, machine(1))
		if i.UID != "" || !m.Unkept(machine(1), i) {
			t.Fatalf("it is %+v", i)
		}
		if err := m.Maintain(t.Context(), machine(1), i); err != nil {
			t.Fatal(err)
		}
		if i = w.only(s, machine(1)); i.UID != machine(1).UID || i.Namespace != "machines" || i.Tags["millwright.dev_cluster"] != "c1" {
			t.Errorf("tags %v", i.Tags)
		}
		for other, err := range s.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if other.UID != "another" {
				continue
			}
			if m.Unkept(machine(2), other) || m.Maintain(t.Context(), machine(2), other) != nil {
				t.Errorf("%s is another's", other.Name)
			}
		}
		if n := w.server.Counts()["PATCH virtualMachines"]; n != 1 {
			t.Errorf("%d changes", n)
		}
	})
}

// TestDeniedRepairIsTold: the denial is reported, the machine runs, and there is no new login.
func TestDeniedRepairIsTold(t *testing.T) {
	eachAPI(t, func(t *testing.T, api string) {
		w := newWorld(t)
		s := w.open(class(api, "c1"))
		m := maintainer(t, s)
		made := w.create(s, machine(1))
		w.clock.Advance(time.Minute)
		if err := w.cloud.Do("untag", made.ID+" millwright.dev_machine-namespace"); err != nil {
			t.Fatal(err)
		}
		w.cloud.Restrict(arm.SampleClient, "Microsoft.*/read")
		i := w.only(s, machine(1))
		err := m.Maintain(t.Context(), machine(1), i)
		if provider.KindOf(err) != provider.Denied || !strings.Contains(fmt.Sprint(err), "tag virtual machine "+made.Name) {
			t.Errorf("told is %v", err)
		}
		if now := w.only(s, machine(1)); now.State != provider.Running || now.Uninitialized {
			t.Errorf("it is %+v", now)
		}
		if n := w.server.Counts()["POST token"]; n != 1 {
			t.Errorf("%d logins", n)
		}
	})
}

// TestNoRoomForTags: Azure stores fifty.
func TestNoRoomForTags(t *testing.T) {
	w := newWorld(t)
	c := class(provider.Gardener, "c1")
	seed := w.seed(c, "", "", machine(1).Name)
	for n := range 48 {
		seed.Tags[fmt.Sprintf("theirs-%d", n)] = "1"
	}
	w.cloud.Plant(seed)
	s := w.open(c)
	i := w.only(s, machine(1))
	err := maintainer(t, s).Maintain(t.Context(), machine(1), i)
	if err == nil || !strings.Contains(err.Error(), "no room") || w.server.Counts()["PATCH virtualMachines"] > 0 {
		t.Error(err)
	}
}

const balancers = `{"publicLoadBalancer":"demo","internalLoadBalancer":"demo-internal","natRule":1,"subnet":"demo-master-subnet","tags":{"role":"master"}}`

// nicID is the ID of a machine's interface.
func nicID(vm string) string {
	return strings.Replace(vm, "Microsoft.Compute/virtualMachines", "Microsoft.Network/networkInterfaces", 1) + "-nic"
}

// pools are the last parts of the IDs of the pools and rules of a machine's interface.
func (w *world) pools(t *testing.T, vm string) (all []string) {
	t.Helper()
	nic := w.cloud.Read(nicID(vm))
	for _, list := range []string{"loadBalancerBackendAddressPools", "loadBalancerInboundNatRules"} {
		for n := range 3 {
			if id := at(t, nic, fmt.Sprintf("%s%s.%d.id", ipConfig, list, n)); strings.Contains(id, "/") {
				all = append(all, id[strings.LastIndex(id, "/")+1:])
			}
		}
	}
	return all
}

// TestBalancersAreRejoined: a machine that a user removed from the pools of its load balancers is added
// again.
func TestBalancersAreRejoined(t *testing.T) {
	w := newWorld(t)
	s := w.open(patched(t, class(provider.OpenShift, "c1"), balancers))
	m := maintainer(t, s)
	made := w.create(s, machine(1))
	w.clock.Advance(time.Minute)
	i := w.only(s, machine(1))
	address := i.Addresses
	if err := w.cloud.Do("unbalance", made.ID); err != nil {
		t.Fatal(err)
	}
	if got := w.pools(t, made.ID); len(got) > 0 {
		t.Fatalf("it is in %v", got)
	}
	for range 2 {
		if !m.Unkept(machine(1), i) {
			t.Error("nobody asks for it")
		}
		if err := m.Maintain(t.Context(), machine(1), i); err != nil {
			t.Fatal(err)
		}
		if got := w.pools(t, made.ID); !slices.Equal(got, []string{"demo", "demo-internal", "ssh-1"}) {
			t.Errorf("it is in %v", got)
		}
	}
	if n := w.server.Counts()["PUT networkInterfaces"]; n != 2 {
		t.Errorf("the interface was written %d times", n)
	}
	w.clock.Advance(time.Minute)
	if now := w.only(s, machine(1)); !slices.Equal(now.Addresses, address) || now.State != provider.Running {
		t.Errorf("it is %+v", now)
	}
	w.remove(s, machine(1), made)
	w.empty()
}

// TestBalancersOfManyCostNothing: if a listing of the last minute has shown the pools of machines, no pool
// is read for them. A machine that is missing there, or in an older listing only, is read. Each load
// balancer is read once a minute.
func TestBalancersOfManyCostNothing(t *testing.T) {
	w := newWorld(t)
	s := w.open(patched(t, class(provider.OpenShift, "c1"), `{"publicLoadBalancer":"demo","internalLoadBalancer":"demo-internal","subnet":"demo-master-subnet"}`))
	m := maintainer(t, s)
	var made []provider.Instance
	for n := range 5 {
		made = append(made, w.create(s, machine(n)))
	}
	maintained := func(note string, reads, writes, balancers int) {
		t.Helper()
		before := w.server.Counts()
		for n, i := range made {
			if err := m.Maintain(t.Context(), machine(n), i); err != nil {
				t.Error(err)
			}
			if got := w.pools(t, i.ID); !slices.Equal(got, []string{"demo", "demo-internal"}) {
				t.Errorf("%s: machine %d is in %v", note, n, got)
			}
		}
		now := w.server.Counts()
		for operation, want := range map[string]int{
			"GET virtualMachines": reads, "GET networkInterfaces": reads, "PUT networkInterfaces": writes, "GET loadBalancers": balancers,
		} {
			if got := now[operation] - before[operation]; got != want {
				t.Errorf("%s: %d times %s, want %d", note, got, operation, want)
			}
		}
	}
	list := func() {
		for i, err := range s.List(t.Context()) {
			if err != nil || i.UID == "" {
				t.Fatal(i, err)
			}
		}
	}
	maintained("not listed", 5, 0, 0)
	list()
	maintained("listed", 0, 0, 0)
	if err := w.cloud.Do("unbalance", made[2].ID); err != nil {
		t.Fatal(err)
	}
	list()
	maintained("one is in no pool", 1, 1, 0)
	w.clock.Advance(2 * time.Minute)
	maintained("listed long ago", 5, 0, 2)
}

// TestDeniedBalancerIsTold: the tags are still restored.
func TestDeniedBalancerIsTold(t *testing.T) {
	w := newWorld(t)
	s := w.open(patched(t, class(provider.OpenShift, "c1"), balancers))
	m := maintainer(t, s)
	made := w.create(s, machine(1))
	w.clock.Advance(time.Minute)
	for verb, on := range map[string]string{"unbalance": made.ID, "untag": made.ID + " role"} {
		if err := w.cloud.Do(verb, on); err != nil {
			t.Fatal(err)
		}
	}
	w.cloud.Restrict(arm.SampleClient, "Microsoft.*/read", "Microsoft.Compute/virtualMachines/write")
	err := m.Maintain(t.Context(), machine(1), w.only(s, machine(1)))
	if provider.KindOf(err) != provider.Denied || !strings.Contains(fmt.Sprint(err), "load balancers") {
		t.Errorf("told is %v", err)
	}
	if i := w.only(s, machine(1)); i.State != provider.Running || i.Tags["role"] != "master" {
		t.Errorf("it is %+v", i)
	}
}

// TestMaintenanceWithoutASpec: without a spec there is nothing to restore.
func TestMaintenanceWithoutASpec(t *testing.T) {
	w := newWorld(t)
	c := class(provider.OpenShift, "c1")
	made := w.create(w.open(c), machine(1))
	c.Spec = nil
	m := maintainer(t, w.open(c))
	if m.Unkept(machine(2), made) || m.Maintain(t.Context(), machine(1), made) != nil {
		t.Error("something is to be mended")
	}
}

// TestCreationReadsBalancers: the load balancer settings in a new machine's interface exist at the time of
// the request.
func TestCreationReadsBalancers(t *testing.T) {
	w := newWorld(t)
	s := w.open(patched(t, class(provider.OpenShift, "c1"), `{"publicLoadBalancer":"demo","internalLoadBalancer":"demo-internal","subnet":"demo-master-subnet"}`))
	for n := range 3 {
		before := w.server.Counts()["GET loadBalancers"]
		w.create(s, machine(n))
		if got := w.server.Counts()["GET loadBalancers"] - before; got != 2 {
			t.Errorf("machine %d: %d load balancers are read, want 2", n, got)
		}
	}
}
