package cloud_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
)

// TestServerOfADeadHostGoes: Nova passes a deletion to the host while it believes that the host is alive,
// and removes the server by itself only if the deletion is repeated after it knows better.
func TestServerOfADeadHostGoes(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.OpenShift, "c1"))
	i := b.running(s, ref("m"))
	if err := b.cloud.Do("strand", i.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.remove(s, ref("m"), i); err == nil {
		t.Fatal("the host is dead, and the server gone within a minute")
	}
	b.clock.Advance(5 * time.Minute)
	if err := b.remove(s, ref("m"), i); err != nil {
		t.Error(err)
	}
	b.holds(t, 0, 0)
}

// TestServerThatCanBeRestored: a cloud that keeps deleted servers for a while (reclaim_instance_interval)
// keeps their volumes, too. Delete does not wait for that, since the volumes are deleted with the server.
func TestServerThatCanBeRestored(t *testing.T) {
	b := newBench(t, func(o *nova.Options) { o.Reclaim = 24 * time.Hour })
	class := b.class(provider.OpenShift, "c1")
	class.Spec = merged(t, string(class.Spec), `{"rootVolume":{"diskSize":20}}`)
	s := b.session(class)
	i := b.running(s, ref("m"))
	if err := b.remove(s, ref("m"), i); err != nil {
		t.Error(err)
	}
	b.holds(t, 1, 1)
	b.clock.Advance(25 * time.Hour)
	b.holds(t, 0, 0)
}

// TestAfterAServerThatCanBeRestored: another server is created: the first is deleted, though its port says
// that it is bound.
func TestAfterAServerThatCanBeRestored(t *testing.T) {
	b := newBench(t, func(o *nova.Options) { o.Reclaim = 24 * time.Hour })
	class := b.class(provider.OpenShift, "c1")
	class.Spec = merged(t, string(class.Spec), `{"rootVolume":{"diskSize":20}}`)
	s := b.session(class)
	i := b.running(s, ref("m"))
	b.rest()("DELETE", "/compute/v2.1/servers/"+i.ID, "")
	b.clock.Advance(time.Minute)
	if again := b.running(s, ref("m")); again.ID == i.ID {
		t.Error("it is the same server")
	}
}

// TestServerInACellThatIsDown: the server is in no listing. Its port identifies it, and stays until the
// server's end is certain.
func TestServerInACellThatIsDown(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.OpenShift, "c1"))
	i := b.running(s, ref("m"))
	if err := b.cloud.Do("lose", i.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.remove(s, ref("m")); provider.KindOf(err) != provider.Transient || errors.Is(err, errNotDone) {
		t.Errorf("%s: %v", provider.KindOf(err), err)
	}
	b.holds(t, 1, 1)
	if err := b.cloud.Do("recover", i.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.remove(s, ref("m")); err != nil {
		t.Error(err)
	}
	b.holds(t, 0, 0)
}

// TestPortOfAServerThatWent: the port says that it is bound, if Neutron was unreachable when Nova removed
// the server. It does not block a creation.
func TestPortOfAServerThatWent(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	class.Spec = merged(t, string(class.Spec), `{"ports":[{"networkID":"`+net1+`","nameSuffix":"x"}]}`)
	i := b.running(b.session(class), ref("m"))
	if err := b.cloud.Do("tear", i.ID); err != nil {
		t.Fatal(err)
	}
	s := b.session(class)
	again := b.running(s, ref("m"))
	b.holds(t, 1, 2)
	if err := b.cloud.Do("tear", again.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.remove(s, ref("m"), again); err != nil {
		t.Error(err)
	}
	b.holds(t, 0, 0)
}

// TestPortOfAnotherServer: a port that a user plugged into another server stays there, and the deletion of
// the machine reports it.
func TestPortOfAnotherServer(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.OpenShift, "c1"))
	i := b.running(s, ref("m"))
	port := b.cloud.Dependants()[0].ID
	if err := b.plant(b.class(provider.OpenShift, "other"), provider.Instance{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete(t.Context(), ref("m"), []provider.Instance{i}); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	if err := b.cloud.Do("plug", b.cloud.Instances()[0].ID+" "+port); err != nil {
		t.Fatal(err)
	}
	err := b.remove(s, ref("m"), i)
	if provider.KindOf(err) != provider.Conflict || !strings.Contains(err.Error(), "is plugged into server") {
		t.Errorf("%s: %v", provider.KindOf(err), err)
	}
	b.holds(t, 1, 1)
}

// TestZoneWithoutHosts: Nova and Cinder refuse a zone in which everything is disabled with the same words
// as a zone that does not exist.
func TestZoneWithoutHosts(t *testing.T) {
	for closed, r := range map[string]struct {
		set   string
		scope provider.Scope
	}{
		"az-2": {`{"availabilityZone":"az-2"}`, provider.ScopeZone}, "volumes/az-2": {`{"rootVolume":{"diskSize":10,"availabilityZone":"az-2"}}`, provider.ScopeType},
	} {
		b := newBench(t)
		class := b.class(provider.OpenShift, "c1")
		class.Spec = merged(t, string(class.Spec), r.set)
		s := b.session(class)
		if err := b.cloud.Do("close", closed); err != nil {
			t.Fatal(err)
		}
		_, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot})
		if provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != r.scope || !strings.Contains(err.Error(), "az-2") {
			t.Errorf("%s: %s: %v", closed, provider.KindOf(err), err)
		}
		if err := b.cloud.Do("open", closed); err != nil {
			t.Fatal(err)
		}
		b.running(s, ref("m"))
	}
}

// TestVolumeThatCannotBeRemoved: a volume that Cinder cannot delete is replaced by another. The deletion of
// the machine reports it.
func TestVolumeThatCannotBeRemoved(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	class.Spec = merged(t, string(class.Spec), `{"rootVolume":{"diskSize":20}}`)
	s := b.session(class)
	if _, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot}); provider.KindOf(err) != provider.Conflict {
		t.Fatalf("while the volume is made: %v", err)
	}
	for _, d := range b.cloud.Dependants() {
		if d.Kind == "volume" {
			b.cloud.FailVolume(d.ID)
			if err := b.cloud.Do("wedge", d.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.clock.Advance(time.Minute)
	if _, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot}); provider.KindOf(err) != provider.Transient {
		t.Fatalf("the volume failed: %v", err)
	}
	i := b.running(s, ref("m"))
	err := b.remove(s, ref("m"), i)
	if provider.KindOf(err) != provider.Conflict || !strings.Contains(err.Error(), "m-root) is error_deleting, and cannot be removed") {
		t.Error(err)
	}
}

// TestIngress: a 404 that is not OpenStack's says nothing about the requested object. It neither refuses a
// spec nor terminates a machine.
func TestIngress(t *testing.T) {
	all := merged(t, everything, `{"networks":[{"uuid":"`+net1+`"}],"trunk":true}`)
	for _, operation := range []string{
		"keystone.POST.auth.tokens", "glance.GET.images.id", "neutron.POST.ports", "neutron.GET.trunks", "neutron.POST.trunks", "neutron.GET.floatingips",
		"neutron.PUT.floatingips.id", "cinder.POST.volumes", "nova.POST.servers", "neutron.PUT.ports.id.tags",
	} {
		t.Run(operation, func(t *testing.T) {
			b := newBench(t)
			class := b.class(provider.OpenShift, "c1")
			class.Spec = merged(t, string(class.Spec), string(all))
			class.Spec = merged(t, string(class.Spec), `{"image":"`+image2+`"}`)
			s := b.session(class)
			b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Missing"}, Operation: operation})
			_, err := b.created(t.Context(), s, ref("m"))
			if kind := provider.KindOf(err); kind != provider.Transient && (kind != provider.Denied || !strings.HasPrefix(operation, "keystone")) {
				t.Errorf("%s: %v", kind, err)
			}
		})
	}
}

// TestIngressAtTheEnd: a 404 that is not OpenStack's never means that an object is deleted.
func TestIngressAtTheEnd(t *testing.T) {
	for _, operation := range []string{
		"nova.GET.servers.id", "nova.DELETE.servers.id", "neutron.DELETE.ports.id", "neutron.GET.trunks", "neutron.DELETE.trunks.id",
	} {
		t.Run(operation, func(t *testing.T) {
			b := newBench(t)
			class := b.class(provider.OpenShift, "c1")
			class.Spec = merged(t, string(class.Spec), everything)
			s := b.session(class)
			i := b.running(s, ref("m"))
			b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Missing"}, Operation: operation})
			if err := b.remove(s, ref("m"), i); provider.KindOf(err) != provider.Transient {
				t.Errorf("%v", err)
			}
			b.server.Heal()
			if err := b.remove(s, ref("m"), i); err != nil {
				t.Error(err)
			}
			b.holds(t, 0, 0)
		})
	}
}

// TestPortThatWent: another process may remove the first port as left behind. That is a race, and no fault
// of the spec.
func TestPortThatWent(t *testing.T) {
	for _, set := range []string{`{"trunk":true}`, `{"floatingIP":"203.0.113.10"}`, `{}`} {
		t.Run(set, func(t *testing.T) {
			b := newBench(t)
			b.losePortOn("POST /network/v2.0/trunks", "PUT /network/v2.0/floatingips", "POST /compute/v2.1/servers")
			class := b.class(provider.OpenShift, "c1")
			class.Spec = merged(t, string(class.Spec), set)
			s := b.session(class)
			if _, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot}); provider.KindOf(err) != provider.Conflict {
				t.Errorf("%s: %v", provider.KindOf(err), err)
			}
			b.running(s, ref("m"))
		})
	}
}

// losePortOn removes all ports just before the first request with this beginning.
func (b *bench) losePortOn(beginnings ...string) {
	b.t.Helper()
	through, lost := b.http.Config.Handler, false
	b.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begins := func(with string) bool { return strings.HasPrefix(r.Method+" "+r.URL.Path, with) }
		if !lost && slices.ContainsFunc(beginnings, begins) {
			lost = true
			for _, d := range b.cloud.Dependants() {
				b.rest()("DELETE", "/network/v2.0/ports/"+d.ID, "")
			}
		}
		through.ServeHTTP(w, r)
	}))
	b.t.Cleanup(b.http.Close)
}

// TestRulesWithoutVolumes: specs without volumes need no permissions at Cinder except to list them.
func TestRulesWithoutVolumes(t *testing.T) {
	rules := slices.DeleteFunc(accessRules(t), func(r nova.AccessRule) bool { return strings.Contains(r.Path, "volumes") && r.Method != http.MethodGet })
	b, classes := ruled(t, rules)
	if err := b.life(t.Context(), b.session(classes["node-0"]), ref("node-0")); err != nil {
		t.Error(err)
	}
}

// TestBrokenServersOfOthers: the provider does not read the faults of other servers, and does not depend on
// Nova's answer about them.
func TestBrokenServersOfOthers(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.Gardener, "c1"))
	theirs := b.class(provider.Gardener, "other")
	if _, err := b.session(theirs).Create(t.Context(), provider.Ref{UID: "1b2f6d3e-6b1c-4c56-9f1b-7f0b3c2a1d4e", Name: "m"}, provider.Want{UserData: boot}); err != nil {
		t.Fatal(err)
	}
	for _, i := range b.cloud.Instances() {
		if err := b.cloud.Do("fail", i.ID); err != nil {
			t.Fatal(err)
		}
	}
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "nova.GET.servers.id"})
	for _, err := range s.List(t.Context()) {
		if err != nil {
			t.Error(err)
		}
	}
	if found, err := s.Find(t.Context(), ref("m")); err != nil || len(found) > 0 {
		t.Errorf("found %v, %v", found, err)
	}
}
