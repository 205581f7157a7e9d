package cloud_test

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
)

// everything is a spec with every kind of object that can be left behind.
const everything = `{"networks":[{"uuid":"` + net1 + `"}],"ports":[{"networkID":"` + net1 + `","nameSuffix":"x","description":"for backups","trunk":true}],"trunk":false,` +
	`"rootVolume":{"diskSize":20},"additionalBlockDevices":[{"name":"etcd","sizeGiB":11,"storage":{"type":"Volume"}}],"floatingIP":"203.0.113.10"}`

// TestEverythingGoes: ports, trunks and volumes are deleted; the floating address stays with the project.
func TestEverythingGoes(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	class.Spec = merged(t, string(class.Spec), everything)
	s := b.session(class)
	i := b.running(s, ref("m"))
	b.holds(t, 1, 5) // two ports, two volumes, a trunk
	external := 0
	for _, a := range i.Addresses {
		if a.Type == "ExternalIP" && a.Address == "203.0.113.10" {
			external++
		}
	}
	if external != 1 {
		t.Errorf("the addresses are %v", i.Addresses)
	}
	if err := b.remove(s, ref("m"), i); err != nil {
		t.Fatal(err)
	}
	b.holds(t, 0, 0)
}

// TestHalfMadeGoes: the rest of a creation is deleted, wherever the creation ended, also with a class
// without its spec.
func TestHalfMadeGoes(t *testing.T) {
	for _, operation := range []string{
		"neutron.POST.ports", "neutron.POST.trunks", "neutron.PUT.trunks.id.tags", "cinder.POST.volumes", "nova.POST.servers",
		"neutron.PUT.ports.id.tags", "neutron.PUT.ports.id", "neutron.PUT.floatingips.id",
	} {
		for _, done := range []bool{false, true} {
			b := newBench(t)
			class := b.class(provider.OpenShift, "c1")
			class.Spec = merged(t, string(class.Spec), everything)
			s := b.session(class)
			b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: operation, Done: done})
			for range 10 {
				if _, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot}); provider.KindOf(err) == provider.Transient {
					break
				}
				b.clock.Advance(time.Second)
			}
			b.server.Heal()
			class.Spec = nil
			// A volume in creation cannot be removed yet, and Neutron unbinds ports when the server is
			// deleted.
			if err := b.remove(b.session(class), ref("m")); err != nil {
				t.Errorf("%s, done %t: %v", operation, done, err)
			}
			if n := len(b.cloud.Dependants()) + len(b.cloud.Instances()); n != 0 {
				t.Errorf("%s, done %t: %v is left", operation, done, b.cloud.Dependants())
			}
		}
	}
}

// TestLeftoversOfEachStep: leftovers are listed with their owner.
func TestLeftoversOfEachStep(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	class.Owner = "5f1c5b5e-5d0f-4b8e-9a60-0d7a3f6f2c11"
	class.Spec = merged(t, string(class.Spec), everything)
	s := b.session(class)
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "nova.POST.servers"})
	for range 10 {
		if _, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot}); provider.KindOf(err) == provider.Transient {
			break
		}
		b.clock.Advance(time.Second)
	}
	kinds := map[string]int{}
	lister, _ := provider.As[provider.LeftoverLister](s)
	for l, err := range lister.Leftovers(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if l.UID != ref("m").UID || l.Owner != class.Owner || l.Namespace != ref("m").Namespace {
			t.Errorf("%+v", l)
		}
		kinds[l.Kind]++
	}
	if kinds["port"] != 2 || kinds["volume"] != 2 {
		t.Errorf("listed are %v, want two ports and two volumes", kinds)
	}
}

// TestPortsOfTheOriginal: ports of the original are deleted with its server, also once that has our UID,
// and no other ports are.
func TestPortsOfTheOriginal(t *testing.T) {
	for api, r := range map[string]struct{ ours, tags string }{
		provider.OpenShift: {"m-0", `"openshiftClusterID=c1","cluster-api-provider-openstack","openshift-machine-api-c1"`},
		provider.Gardener:  {"m", `"kubernetes.io-cluster-c1","kubernetes.io-role-node"`},
	} {
		for _, uid := range []string{"", ref("m").UID} {
			t.Run(api+" "+uid, func(t *testing.T) {
				b := newBench(t)
				class := b.class(api, "c1")
				s := b.session(class)
				if err := b.plant(class, provider.Instance{Name: "m", UID: uid}); err != nil {
					t.Fatal(err)
				}
				b.foreignPort(r.ours, r.tags)
				for _, theirs := range []struct{ name, tags string }{{r.ours, `"kubernetes.io-cluster-other","openshift-machine-api-other"`}, {"m-1-0", r.tags}, {r.ours, ""}, {"mine", r.tags}} {
					b.foreignPort(theirs.name, theirs.tags)
				}
				found, err := s.Find(t.Context(), ref("m"))
				if err != nil || len(found) != 1 {
					t.Fatalf("%v %v", found, err)
				}
				if err := b.remove(s, ref("m"), found...); err != nil {
					t.Fatal(err)
				}
				b.holds(t, 0, 4)
			})
		}
	}
}

// foreignPort creates a port outside of the provider.
func (b *bench) foreignPort(name, tags string) {
	b.t.Helper()
	c := b.rest()
	id := c("POST", "/network/v2.0/ports", `{"port":{"name":"`+name+`","network_id":"`+net1+`"}}`)
	if tags != "" {
		c("PUT", "/network/v2.0/ports/"+id+"/tags", `{"tags":[`+tags+`]}`)
	}
}

// TestVolumeThatStays: the volume is reported, since only a user can remove it.
func TestVolumeThatStays(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	class.Spec = merged(t, string(class.Spec), `{"rootVolume":{"diskSize":20}}`)
	s := b.session(class)
	i := b.running(s, ref("m"))
	for _, d := range b.cloud.Dependants() {
		if d.Kind == "volume" {
			b.cloud.ReserveVolume(d.ID)
		}
	}
	err := b.remove(s, ref("m"), i)
	if provider.KindOf(err) != provider.Conflict || !strings.Contains(err.Error(), "m-root) is reserved, and cannot be removed: Invalid volume") {
		t.Error(err)
	}
}

// TestServerIsWaitedFor: ports and volumes stay while the server is under deletion.
func TestServerIsWaitedFor(t *testing.T) {
	b := newBench(t, func(o *nova.Options) { o.Delete = time.Minute })
	s := b.session(b.class(provider.OpenShift, "c1"))
	i := b.running(s, ref("m"))
	for range 3 {
		if done, err := s.Delete(t.Context(), ref("m"), []provider.Instance{i}); done || err != nil {
			t.Fatalf("done %t, error %v", done, err)
		}
	}
	if n := len(b.sent.With("DELETE /compute")); n != 1 {
		t.Errorf("the server was deleted %d times", n)
	}
	found, err := s.Find(t.Context(), ref("m"))
	if err != nil || len(found) != 1 || found[0].State != provider.Stopping || !strings.Contains(found[0].RawState, "deleting") {
		t.Errorf("found %+v, error %v", found, err)
	}
	b.holds(t, 1, 1)
}
