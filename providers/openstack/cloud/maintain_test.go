package cloud_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
)

// living is a running machine, with a session to maintain it.
type living struct {
	*bench
	provider.Session
	ref  provider.Ref
	send func(method, path, body string) string
	id   string
}

// live creates one of the class's spec with the patch.
func live(t *testing.T, api, set string) *living {
	t.Helper()
	b := newBench(t)
	class := b.class(api, "c1")
	class.Owner = "here"
	class.Spec = merged(t, string(class.Spec), set)
	s := b.session(class)
	return &living{bench: b, Session: s, ref: ref("m"), send: b.rest(), id: b.running(s, ref("m")).ID}
}

func (l *living) maintainer() provider.Maintainer { return l.Session.(provider.Maintainer) }

// found is the current instance of the machine.
func (l *living) found() provider.Instance {
	l.t.Helper()
	all, err := l.Find(l.t.Context(), l.ref)
	if err != nil || len(all) != 1 {
		l.t.Fatalf("found %v, error %v", all, err)
	}
	return all[0]
}

// keep maintains the machine, if it is Unkept, and returns the writes.
func (l *living) keep() (written map[string]int, err error) {
	l.t.Helper()
	_, before := l.counted(nil)
	if i := l.found(); l.maintainer().Unkept(l.ref, i) {
		err = l.maintainer().Maintain(l.t.Context(), l.ref, i)
	}
	delta, _ := l.counted(before)
	return writes(delta), err
}

// repairedBy checks that one write repairs it, and that nothing remains to be repaired.
func (l *living) repairedBy(what, operation string, n int) {
	l.t.Helper()
	written, err := l.keep()
	if err != nil || written[operation] != n || len(written) != 1 {
		l.t.Errorf("%s: written was %v, error %v; want %s %d times", what, written, err, operation, n)
	}
	l.clock.Advance(2 * time.Hour)
	if written, err := l.keep(); err != nil || len(written) > 0 {
		l.t.Errorf("%s: written again was %v, error %v", what, written, err)
	}
}

// port is the machine's first port in the simulator.
func (l *living) port() nova.Seen {
	l.t.Helper()
	for _, d := range l.cloud.Dependants() {
		if d.Kind == "port" && d.Server == l.id && strings.HasPrefix(d.Name, "m") {
			return d
		}
	}
	l.t.Fatal("it has no port")
	return nova.Seen{}
}

var bothAPIs = []string{provider.OpenShift, provider.Gardener}

// TestAtRest: a machine without differences gets no writes, and its ports and trunks are checked once an
// hour.
func TestAtRest(t *testing.T) {
	for _, api := range bothAPIs {
		l := live(t, api, `{}`)
		looks := 0
		for range 5 * 6 {
			l.clock.Advance(10 * time.Minute)
			if l.maintainer().Unkept(l.ref, l.found()) {
				looks++
			}
			if written, err := l.keep(); err != nil || len(written) > 0 {
				t.Fatalf("%s: written was %v, error %v", api, written, err)
			}
		}
		if looks != 5 {
			t.Errorf("%s: it was looked at %d times in five hours", api, looks)
		}
	}
}

// TestLooksAreSpread: a new process does not check all servers of its cloud at once.
func TestLooksAreSpread(t *testing.T) {
	l := live(t, provider.OpenShift, `{}`)
	fresh := l.session(l.class(provider.OpenShift, "c1")).(provider.Maintainer)
	i := l.found()
	due := func() (n int) {
		for k := range 60 {
			i.ID = fmt.Sprintf("00000000-0000-4000-8000-%012d", k*7919)
			if fresh.Unkept(l.ref, i) {
				n++
			}
		}
		return n
	}
	for _, most := range []int{20, 40, 58, 60} {
		if n := due(); n > most || most == 60 && n < 60 {
			t.Errorf("%d of 60 are due, want %d at most", n, most)
		}
		l.clock.Advance(20 * time.Minute)
	}
}

// TestMetadataIsMended: metadata is restored, one key at a time: ours, and those of the spec.
func TestMetadataIsMended(t *testing.T) {
	for api, set := range map[string]string{provider.OpenShift: `{"serverMetadata":{"color":"red"}}`, provider.Gardener: `{"spec":{"tags":{"color":"red"}}}`} {
		l := live(t, api, set)
		want := l.found().Tags
		for _, key := range []string{"millwright.dev-machine-namespace", "millwright.dev-owner", "millwright.dev-cluster", "millwright.dev-machine-uid", "color"} {
			l.send("DELETE", "/compute/v2.1/servers/"+l.id+"/metadata/"+key, "")
			l.repairedBy(api+": "+key, "nova.POST.servers.id.metadata", 1)
			if got := l.found(); got.Tags[key] != want[key] || got.UID != l.ref.UID || got.Owner != "here" {
				t.Errorf("%s: without %s it has %v", api, key, got.Tags)
			}
		}
		l.send("POST", "/compute/v2.1/servers/"+l.id+"/metadata", `{"metadata":{"color":"blue","theirs":"1"}}`)
		l.repairedBy(api+": an edit", "nova.POST.servers.id.metadata", 1)
		if got := l.found(); got.Tags["color"] != "red" || got.Tags["theirs"] != "1" {
			t.Errorf("%s: it has %v", api, got.Tags)
		}
		l.send("POST", "/compute/v2.1/servers/"+l.id+"/metadata", `{"metadata":{"millwright.dev-owner":"elsewhere"}}`)
		l.clock.Advance(2 * time.Hour)
		if written, err := l.keep(); err != nil || len(written) > 0 || l.found().Owner != "elsewhere" {
			t.Errorf("%s: another owner is written over: %v, error %v", api, written, err)
		}
	}
}

// TestServerTagsAreMended: tags are restored, one at a time; also one that metadata of the same key hide,
// at the next check.
func TestServerTagsAreMended(t *testing.T) {
	const set = `{"tags":["openshiftClusterID=c1","blue sky"],"serverMetadata":{"openshiftClusterID":"c1"}}`
	for api, all := range map[string][]string{
		provider.OpenShift: {"millwright.dev", "millwright-machine-uid=" + ref("m").UID, "cluster-api-provider-openstack", "openshift-machine-api-c1", "blue sky", "openshiftClusterID=c1"},
		provider.Gardener:  {"millwright.dev", "millwright-machine-uid=" + ref("m").UID, "kubernetes.io-cluster-c1", "kubernetes.io-role-node"},
	} {
		l := live(t, api, map[string]string{provider.OpenShift: set, provider.Gardener: `{}`}[api])
		for _, tag := range all {
			l.send("PUT", "/compute/v2.1/servers/"+l.id+"/tags/theirs", "")
			l.send("DELETE", "/compute/v2.1/servers/"+l.id+"/tags/"+url.PathEscape(tag), "")
			l.clock.Advance(2 * time.Hour)
			l.repairedBy(api+": "+tag, "nova.PUT.servers.id.tags.id", 1)
			if got := l.found(); got.UID != l.ref.UID || !hasKey(got.Tags, "theirs") {
				t.Errorf("%s: without %s it has %v", api, tag, got.Tags)
			}
		}
	}
}

func hasKey(m map[string]string, key string) bool { _, ok := m[key]; return ok }

// TestWhoseItIsHasToBeCertain: a server without marks belongs to the machine that has recorded it, within
// the scope; a server with another's UID is left alone, whatever else it lacks.
func TestWhoseItIsHasToBeCertain(t *testing.T) {
	l := live(t, provider.OpenShift, `{}`)
	path := "/compute/v2.1/servers/" + l.id
	l.send("DELETE", path+"/metadata/millwright.dev-machine-uid", "")
	l.send("DELETE", path+"/tags/millwright-machine-uid="+l.ref.UID, "")
	l.send("DELETE", path+"/tags/millwright.dev", "")
	if written, err := l.keep(); err != nil || len(written) > 0 {
		t.Errorf("by the name alone it is taken for the machine's: %v, error %v", written, err)
	}
	if err := l.maintainer().Maintain(t.Context(), l.ref, l.found()); err != nil || l.found().UID != "" {
		t.Errorf("it is %+v, error %v", l.found(), err)
	}
	recorded := l.ref
	recorded.ProviderID = "openstack:///" + l.id
	i := l.found()
	if !l.maintainer().Unkept(recorded, i) {
		t.Error("nobody asks for the server that is recorded")
	}
	if err := l.maintainer().Maintain(t.Context(), recorded, i); err != nil {
		t.Error(err)
	}
	if got := l.found(); got.UID != l.ref.UID || !hasKey(got.Tags, "millwright.dev") {
		t.Errorf("it has %v", got.Tags)
	}
	l.send("POST", path+"/metadata", `{"metadata":{"millwright.dev-machine-uid":"another"}}`)
	l.send("DELETE", path+"/metadata/millwright.dev-machine-namespace", "")
	l.clock.Advance(2 * time.Hour)
	all, err := l.Find(t.Context(), recorded)
	if err != nil || len(all) != 1 || all[0].UID != "another" {
		t.Fatalf("found %+v, error %v", all, err)
	}
	_, before := l.counted(nil)
	if l.maintainer().Unkept(recorded, all[0]) {
		t.Error("somebody asks for another's server")
	}
	if err := l.maintainer().Maintain(t.Context(), recorded, all[0]); err != nil {
		t.Error(err)
	}
	if delta, _ := l.counted(before); len(writes(delta)) > 0 {
		t.Errorf("another's server was written: %v", writes(delta))
	}
}

// TestServersOfTheOriginalAreMarked: they get our marks, with their ports, and both are deleted together
// afterwards.
func TestServersOfTheOriginalAreMarked(t *testing.T) {
	for api, r := range map[string]struct{ port, tags string }{
		provider.OpenShift: {"m-0", `"openshiftClusterID=c1","cluster-api-provider-openstack","openshift-machine-api-c1"`},
		provider.Gardener:  {"m", `"kubernetes.io-cluster-c1","kubernetes.io-role-node"`},
	} {
		b := newBench(t)
		class := b.class(api, "c1")
		s := b.session(class)
		if err := b.plant(class, provider.Instance{Name: "m"}); err != nil {
			t.Fatal(err)
		}
		recorded := ref("m")
		found, err := s.Find(t.Context(), recorded)
		if err != nil || len(found) != 1 || found[0].UID != "" {
			t.Fatalf("%s: found %+v, error %v", api, found, err)
		}
		recorded.ProviderID = found[0].ProviderID
		b.foreignPort(r.port, r.tags)
		b.foreignPort("theirs", "")
		b.foreignPort("theirs", r.tags+`,"millwright-machine-uid=another"`)
		for _, d := range b.cloud.Dependants() {
			if err := b.cloud.Do("plug", found[0].ID+" "+d.ID); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.(provider.Maintainer).Maintain(t.Context(), recorded, found[0]); err != nil {
			t.Fatalf("%s: %v", api, err)
		}
		if found, err = s.Find(t.Context(), recorded); err != nil || found[0].UID != recorded.UID || found[0].Tags["millwright.dev-cluster"] != "c1" {
			t.Errorf("%s: found %+v, error %v", api, found, err)
		}
		for _, d := range b.cloud.Dependants() {
			ours := slices.Contains(d.Tags, "millwright-server="+found[0].ID) && slices.Contains(d.Tags, "millwright-machine-uid="+recorded.UID)
			if ours != (d.Name == r.port) {
				t.Errorf("%s: port %s has the tags %q", api, d.Name, d.Tags)
			}
		}
		if err := b.remove(s, recorded, found...); err != nil {
			t.Fatal(err)
		}
		b.holds(t, 0, 2)
	}
}

// TestPortOfAnotherMachine: the port is left alone, although it has the name of this machine's, and is
// plugged into its server.
func TestPortOfAnotherMachine(t *testing.T) {
	l := live(t, provider.OpenShift, `{}`)
	path := "/network/v2.0/ports/" + l.port().ID
	l.send("PUT", path, `{"port":{"description":"millwright machine=another owner= namespace=n cluster=c1"}}`)
	l.send("PUT", path+"/tags", `{"tags":["openshiftClusterID=c1"]}`)
	l.clock.Advance(2 * time.Hour)
	if written, err := l.keep(); err != nil || len(written) > 0 {
		t.Errorf("written was %v, error %v", written, err)
	}
}

// TestPortTagsAreMended: those of users, of the original, and ours. A port without marks is recognized by
// its MAC address.
func TestPortTagsAreMended(t *testing.T) {
	for api, set := range map[string]string{provider.OpenShift: `{"networks":[{"uuid":"` + net1 + `","portTags":["red"]}]}`, provider.Gardener: `{}`} {
		l := live(t, api, set)
		want := l.port().Tags
		if len(want) < 5 {
			t.Fatalf("%s: the tags are %q", api, want)
		}
		path := "/network/v2.0/ports/" + l.port().ID
		for _, tag := range want {
			l.send("DELETE", path+"/tags/"+tag, "")
			l.clock.Advance(2 * time.Hour)
			l.repairedBy(api+": "+tag, "neutron.PUT.ports.id.tags.id", 1)
		}
		l.send("PUT", path+"/tags", `{"tags":["theirs"]}`)
		l.send("PUT", path, `{"port":{"description":"","name":"renamed"}}`)
		l.clock.Advance(2 * time.Hour)
		if written, err := l.keep(); err != nil || written["neutron.PUT.ports.id.tags.id"] != len(want) {
			t.Errorf("%s: written was %v, error %v", api, written, err)
		}
		l.send("PUT", path, `{"port":{"name":"m"}}`)
		if got := l.port().Tags; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(append(want, "theirs")))) {
			t.Errorf("%s: the tags are %q, want %q and theirs", api, got, want)
		}
		if err := l.remove(l.Session, l.ref, l.found()); err != nil {
			t.Fatal(err)
		}
		l.holds(t, 0, 0)
	}
}

// TestTrunkTagsAreMended: the trunk's tags are restored as those of its port.
func TestTrunkTagsAreMended(t *testing.T) {
	l := live(t, provider.OpenShift, `{"trunk":true}`)
	for _, d := range l.cloud.Dependants() {
		if d.Kind == "trunk" {
			l.send("DELETE", "/network/v2.0/trunks/"+d.ID+"/tags/millwright-machine-uid="+l.ref.UID, "")
		}
	}
	l.clock.Advance(2 * time.Hour)
	l.repairedBy("a trunk's tag", "neutron.PUT.trunks.id.tags.id", 1)
}

// TestSecurityIsMended: groups and address pairs of the spec are restored, those of others stay.
func TestSecurityIsMended(t *testing.T) {
	const groupOfOthers = "83022f8a-7a41-46e1-9089-80c393ee5cf2"
	for api, set := range map[string]string{
		provider.OpenShift: `{"securityGroups":[{"name":"workers"}],"networks":null,"ports":[{"networkID":"` + net1 + `","allowedAddressPairs":[{"ipAddress":"10.1.0.0/16"}]}]}`,
		provider.Gardener:  `{"spec":{"securityGroups":["workers"]}}`,
	} {
		l := live(t, api, set)
		path := "/network/v2.0/ports/" + l.port().ID
		l.send("PUT", path, `{"port":{"security_groups":["`+groupOfOthers+`"],"allowed_address_pairs":[{"ip_address":"192.0.2.1"}]}}`)
		l.clock.Advance(2 * time.Hour)
		l.repairedBy(api, "neutron.PUT.ports.id", 1)
		last := l.sent.With("PUT " + path + "?")
		pair := map[string]string{provider.OpenShift: "10.1.0.0/16", provider.Gardener: "100.96.0.0/11"}[api]
		for _, want := range []string{groupOfOthers, group1, `"ip_address":"192.0.2.1"`, `"ip_address":"` + pair + `"`} {
			if !strings.Contains(last[len(last)-1], want) {
				t.Errorf("%s: %s lacks %s", api, last[len(last)-1], want)
			}
		}
	}
}

// TestSecurityOfAPortThatIsChangedMeanwhile: a concurrent change is not overwritten.
func TestSecurityOfAPortThatIsChangedMeanwhile(t *testing.T) {
	l := live(t, provider.Gardener, `{"spec":{"securityGroups":["workers"]}}`)
	path := "/network/v2.0/ports/" + l.port().ID
	l.send("PUT", path, `{"port":{"security_groups":[]}}`)
	l.clock.Advance(2 * time.Hour)
	i := l.found()
	// Between reading and writing the groups are looked up: that takes a while, in which another client is
	// faster.
	l.server.Inject(double.Fault{Operation: "neutron.GET.security-groups", Times: 1, Delay: 300 * time.Millisecond})
	done := make(chan error, 1)
	go func() { done <- l.maintainer().Maintain(t.Context(), l.ref, i) }()
	for len(l.sent.With("GET /network/v2.0/security-groups")) < 2 {
		time.Sleep(5 * time.Millisecond)
	}
	l.send("PUT", path, `{"port":{"description":"theirs"}}`)
	if err := <-done; provider.KindOf(err) != provider.Conflict || !strings.Contains(err.Error(), "changed at the same time") {
		t.Errorf("told is %v", err)
	}
	l.repairedBy("asked again", "neutron.PUT.ports.id", 1)
}

// TestFloatingAddressIsGivenBack: the address is restored, unless another server has it by now.
func TestFloatingAddressIsGivenBack(t *testing.T) {
	l := live(t, provider.OpenShift, `{"floatingIP":"203.0.113.10"}`)
	const path = "/network/v2.0/floatingips/7e0b8c1d-2f3a-4b5c-9d6e-8f7a6b5c4d3e"
	l.send("PUT", path, `{"floatingip":{"port_id":null}}`)
	l.repairedBy("taken away", "neutron.PUT.floatingips.id", 1)
	theirs := l.send("POST", "/network/v2.0/ports", `{"port":{"name":"theirs","network_id":"`+net1+`"}}`)
	l.send("PUT", path, `{"floatingip":{"port_id":"`+theirs+`"}}`)
	written, err := l.keep()
	if provider.KindOf(err) != provider.Conflict || !strings.Contains(err.Error(), "floatingIP") || len(written) > 0 {
		t.Errorf("given to another: written was %v, told is %v", written, err)
	}
}

// TestRefusedRepair: the refusal is reported and has no other effect: the machine runs, all other settings
// are restored, and for half an hour the repair is not tried again.
func TestRefusedRepair(t *testing.T) {
	l := live(t, provider.OpenShift, `{}`)
	l.send("DELETE", "/compute/v2.1/servers/"+l.id+"/tags/millwright.dev", "")
	l.send("DELETE", "/compute/v2.1/servers/"+l.id+"/metadata/Name", "")
	l.server.Inject(double.Fault{Failure: double.Failure{Kind: "Denied"}, Operation: "nova.POST.servers.id.metadata", Times: 1})
	if written, err := l.keep(); provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), "write metadata of server "+l.id) || written["nova.PUT.servers.id.tags.id"] != 1 {
		t.Errorf("written was %v, told is %v", written, err)
	}
	tokens := l.server.Counts()["keystone.POST.auth.tokens"]
	i := l.found()
	_ = l.maintainer().Maintain(t.Context(), l.ref, i) // the tag has changed what it lacks
	for range 3 {
		if i := l.found(); i.State != provider.Running {
			t.Errorf("it is %+v", i)
		}
	}
	if i := l.found(); !hasKey(i.Tags, "Name") || l.server.Counts()["keystone.POST.auth.tokens"] != tokens {
		t.Errorf("it has %v", i.Tags)
	}
	l.send("DELETE", "/compute/v2.1/servers/"+l.id+"/metadata/Name", "")
	l.server.Inject(double.Fault{Failure: double.Failure{Kind: "Denied"}, Operation: "nova.POST.servers.id.metadata", Times: 1})
	for range 5 {
		if _, err := l.keep(); provider.KindOf(err) != provider.Denied {
			t.Errorf("told is %v", err)
		}
		l.clock.Advance(5 * time.Minute)
	}
	if n := len(l.sent.With("POST /compute/v2.1/servers/" + l.id + "/metadata")); n != 3 {
		t.Errorf("asked was %d times, want 3: twice at first, and once since", n)
	}
	l.clock.Advance(time.Hour)
	l.repairedBy("when the right is there", "nova.POST.servers.id.metadata", 1)
}

// TestMaintenanceWithoutASpec: without a spec there is nothing to restore.
func TestMaintenanceWithoutASpec(t *testing.T) {
	l := live(t, provider.OpenShift, `{}`)
	class := l.class(provider.OpenShift, "c1")
	class.Spec = nil
	m := l.session(class).(provider.Maintainer)
	l.send("DELETE", "/compute/v2.1/servers/"+l.id+"/metadata/Name", "")
	_, before := l.counted(nil)
	if m.Unkept(l.ref, l.found()) || m.Maintain(t.Context(), l.ref, l.found()) != nil {
		t.Error("something is to be mended")
	}
	if delta, _ := l.counted(before); len(writes(delta)) > 0 {
		t.Errorf("written was %v", writes(delta))
	}
}
