package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/provider"
)

func TestOneSessionForAll(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	s.make(t, s.open(t, s.class(provider.OpenShift, "c0")), machineRef("m0"))
	before := s.server.Counts()
	p := s.provider()
	var wg sync.WaitGroup
	for n := range 20 {
		wg.Go(func() {
			of, err := p.Open(context.Background(), s.class(provider.OpenShift, fmt.Sprint("c", n%2)))
			if err == nil {
				_, err = of.Find(context.Background(), machineRef(fmt.Sprint("m", n)))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, _, by := s.calls(before)
	if by["Login"] != 1 || by["session POST"] != 1 {
		t.Errorf("%d sessions of SOAP and %d of REST were opened", by["Login"], by["session POST"])
	}
}

// A restarted vCenter knows no session. One new session is opened for all callers, and a listing in
// progress is not begun again.
func TestSessionsThatEnd(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	p := s.provider()
	of, err := p.Open(t.Context(), s.class(provider.OpenShift, "c"))
	if err != nil {
		t.Fatal(err)
	}
	s.make(t, of.(*session), machineRef("m"))
	for round := range 3 {
		s.cloud.EndSessions()
		s.clock.Advance(time.Hour / 2) // nothing is cached
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if found, err := of.Find(context.Background(), machineRef("m")); err != nil || len(found) != 1 {
					t.Errorf("%v, %v", found, err)
				}
			})
		}
		wg.Wait()
		if n := s.server.Counts()["Login"]; n != round+2 {
			t.Errorf("%d logins after the session has ended %d times", n, round+1)
		}
	}
	s.cloud.EndSessions()
	n := 0
	for _, err := range of.List(t.Context()) {
		if n++; err != nil {
			t.Error(err)
		}
	}
	if n != 1 {
		t.Errorf("a listing shows %d", n)
	}
}

func TestCredentials(t *testing.T) {
	const server = "vc.example.org"
	for _, r := range []struct {
		reason, api, server string
		credentials         map[string]string
		site                clusterConfig
		want                string // server user
		kind                provider.Kind
	}{
		{"OpenShift names the server in the keys", provider.OpenShift, server, map[string]string{server + ".username": "u", server + ".password": "p"}, clusterConfig{}, server + " u", ""},
		{"keys have no port", provider.OpenShift, server + ":8443", map[string]string{server + ".username": "u", server + ".password": "p"}, clusterConfig{}, server + ":8443 u", ""},
		{"keys have another sign for the colon", provider.OpenShift, server + ":8443", map[string]string{server + "_8443.username": "u", server + "_8443.password": "p"}, clusterConfig{}, server + ":8443 u", ""},
		{"a port for all", provider.OpenShift, server, map[string]string{server + ".username": "u", server + ".password": "p"}, clusterConfig{port: "8443"}, server + ":8443 u", ""},
		{"several servers", provider.OpenShift, server, map[string]string{server + ".username": "u", server + ".password": "p", "b.username": "x", "b.password": "y"}, clusterConfig{}, server + " u", ""},
		{"another server's", provider.OpenShift, server, map[string]string{"b.username": "x", "b.password": "y"}, clusterConfig{}, "", provider.Denied},
		{"no password", provider.OpenShift, server, map[string]string{server + ".username": "u"}, clusterConfig{}, "", provider.Denied},
		{"nothing but the credentials says where", provider.OpenShift, "", map[string]string{server + ".username": "u", server + ".password": "p"}, clusterConfig{}, server + " u", ""},
		{"the cluster says where", provider.OpenShift, "", map[string]string{server + ".username": "u", server + ".password": "p", "b.username": "x", "b.password": "y"}, clusterConfig{servers: []string{server}}, server + " u", ""},
		{"nobody says where", provider.OpenShift, "", map[string]string{"a.username": "u", "a.password": "p", "b.username": "x", "b.password": "y"}, clusterConfig{}, "", provider.Invalid},
		{"Gardener", provider.Gardener, "", map[string]string{"vsphereHost": server, "vsphereUsername": "u", "vspherePassword": "p"}, clusterConfig{}, server + " u", ""},
		{"Gardener without a host", provider.Gardener, "", map[string]string{"vsphereUsername": "u", "vspherePassword": "p"}, clusterConfig{}, "", provider.Denied},
	} {
		class := provider.Class{API: r.api, Credentials: map[string][]byte{}}
		for key, value := range r.credentials {
			class.Credentials[key] = []byte(value)
		}
		got, err := targetOf(class, r.server, r.site)
		if provider.KindOf(err) != r.kind || err == nil && got.server+" "+got.user != r.want {
			t.Errorf("%s: %s %s, %v", r.reason, got.server, got.user, err)
		}
	}
}

func TestServers(t *testing.T) {
	for server, ok := range map[string]bool{
		"vc.example.org": true, "10.0.0.1:8443": true, "https://vc.example.org/sdk": true, "http://127.0.0.1:8080": true, "http://localhost:1": true,
		"http://vc.example.org": false, "ftp://vc.example.org": false, "": false,
	} {
		u, err := endpoint(server)
		if (err == nil) != ok || ok && u.Path != "/sdk" {
			t.Errorf("%q: %v, %v", server, u, err)
		}
	}
}

func TestSites(t *testing.T) {
	infra := `{"spec":{"cloudConfig":{"name":"cloud-provider-config","key":"config"},"platformSpec":{"vsphere":{"vcenters":[{"server":"vc"}]}}}}`
	for reason, r := range map[string]struct {
		config string
		want   clusterConfig
	}{
		"sections": {
			"[Global]\\nsecret-name = \\\"x\\\"\\ninsecure-flag = \\\"1\\\"\\nport = \\\"8443\\\"\\n\\n[Labels]\\nregion = r\\nzone = \\\"z\\\"\\n",
			clusterConfig{servers: []string{"vc"}, insecure: true, port: "8443", region: "r", zone: "z"},
		},
		"YAML":    {"global:\\n  insecureFlag: true\\n  port: 443\\nlabels:\\n  region: r\\n  zone: z\\n", clusterConfig{servers: []string{"vc"}, insecure: true, port: "443", region: "r", zone: "z"}},
		"nothing": {"", clusterConfig{servers: []string{"vc"}}},
	} {
		o := objects{
			"config.openshift.io/v1 Infrastructure /cluster":           infra,
			"v1 ConfigMap openshift-config/cloud-provider-config":      `{"data":{"config":"` + r.config + `"}}`,
			"v1 ConfigMap openshift-config-managed/kube-cloud-config":  `{"data":{}}`,
			"v1 ConfigMap openshift-config-managed/kube-cloud-configs": ``,
		}
		got, err := clusterConfigOf(t.Context(), o)
		if err != nil || !reflect.DeepEqual(got, r.want) {
			t.Errorf("%s: %+v, %v; want %+v", reason, got, err, r.want)
		}
	}
	if got, err := clusterConfigOf(t.Context(), objects{}); err != nil || !reflect.DeepEqual(got, clusterConfig{}) {
		t.Errorf("without an Infrastructure: %+v, %v", got, err)
	}
}

// The kinds of faults, as a call or a task reports them.
func TestKindsOfFaults(t *testing.T) {
	for _, r := range []struct {
		fault types.BaseMethodFault
		kind  provider.Kind
		scope provider.Scope
	}{
		{&types.NoPermission{}, provider.Denied, ""},
		{&types.InvalidLogin{}, provider.Denied, ""},
		{&types.NotAuthenticated{}, provider.Denied, ""},
		{&types.NotEnoughLicenses{}, provider.Exhausted, provider.ScopeAccount},
		{&types.NoCompatibleHost{}, provider.Exhausted, provider.ScopeType},
		{&types.NoDiskSpace{}, provider.Exhausted, provider.ScopeType},
		{&types.InsufficientStorageSpace{}, provider.Exhausted, provider.ScopeType},
		{&types.InsufficientResourcesFault{}, provider.Exhausted, provider.ScopeZone},
		{&types.InsufficientCpuResourcesFault{}, provider.Exhausted, provider.ScopeZone},
		{&types.InsufficientMemoryResourcesFault{}, provider.Exhausted, provider.ScopeZone},
		{&types.InsufficientFailoverResourcesFault{}, provider.Exhausted, provider.ScopeZone},
		{&types.TaskInProgress{}, provider.Conflict, ""},
		{&types.ConcurrentAccess{}, provider.Conflict, ""},
		{&types.DuplicateName{}, provider.Conflict, ""},
		{&types.InvalidPowerState{}, provider.Conflict, ""},
		{&types.HostNotConnected{}, provider.Conflict, ""},
		{&types.InvalidArgument{}, provider.Invalid, ""},
		{&types.InvalidDeviceSpec{}, provider.Invalid, ""},
		{&types.InvalidDatastore{}, provider.Invalid, ""},
		{&types.UnsupportedGuest{}, provider.Invalid, ""},
		{&types.CustomizationFault{}, provider.Invalid, ""},
		{&types.ManagedObjectNotFound{}, provider.Transient, ""},
		{&types.HostCommunication{}, provider.Transient, ""},
		{&types.Timedout{}, provider.Transient, ""},
		{&types.SystemError{}, provider.Transient, ""},
		{&types.GenericVmConfigFault{}, provider.Transient, ""},
		{&types.VmConfigFault{}, provider.Transient, ""},
		{&types.CannotAccessNetwork{}, provider.Transient, ""},
		{&types.CannotAccessVmDevice{}, provider.Transient, ""},
		{nil, provider.Transient, ""},
	} {
		err := classify(fmt.Errorf("clone: %w", taskError{&types.LocalizedMethodFault{Fault: r.fault, LocalizedMessage: "said so"}}))
		e, ok := errors.AsType[*provider.Error](err)
		if !ok || e.Kind != r.kind || e.Scope != r.scope || !strings.Contains(err.Error(), "said so") {
			t.Errorf("%T: %v, %+v; want %s %s", r.fault, err, e, r.kind, r.scope)
		}
	}
}

// Each failure has the vCenter's own form, of SOAP and of REST, and is reported by its kind.
func TestFailuresOverTheWire(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class := s.openShift()
	class["tagIDs"] = []string{s.cloud.Probe().TagID("teams", "blue")}
	p := s.provider()
	opened, err := p.Open(t.Context(), s.classOf(provider.OpenShift, "c", class))
	if err != nil {
		t.Fatal(err)
	}
	// Only a tag records the owner of the virtual machine: otherwise the tagging service would not be
	// called.
	if _, err := s.cloud.Plant(vcenter.Plant{Name: "m", Folder: "/dc1/vm/machines", Template: "/dc1/vm/rhcos"}); err != nil {
		t.Fatal(err)
	}
	for _, operation := range []string{"FindAllByUuid", "tag-association list-attached-tags-on-objects"} {
		for _, kind := range []provider.Kind{provider.Denied, provider.Throttled, provider.Transient} {
			s.server.Inject(double.Fault{Failure: double.Failure{Kind: string(kind), After: 7 * time.Second}, Operation: operation, Times: 1})
			found, err := opened.Find(t.Context(), machineRef("m"))
			if provider.KindOf(err) != kind || kind == provider.Throttled && provider.AfterOf(err) != 7*time.Second {
				t.Errorf("%s of %s comes out as %v, %v", kind, operation, found, err)
			}
		}
		s.server.Inject(double.Fault{Failure: double.Failure{Kind: "Garbage"}, Operation: operation, Times: 1})
		if _, err := opened.Find(t.Context(), machineRef("m")); provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "a page of HTML") {
			t.Errorf("a page of HTML for %s comes out as %v", operation, err)
		}
	}
}

// A partial answer is an error: without a privilege, a vCenter leaves out a property.
func TestPartOfAnAnswerIsNone(t *testing.T) {
	denied := types.ObjectContent{MissingSet: []types.MissingProperty{{Path: "config.uuid", Fault: types.LocalizedMethodFault{Fault: &types.NoPermission{}}}}}
	if err := classify(missing(denied)); provider.KindOf(err) != provider.Denied {
		t.Errorf("%v", err)
	}
	other := types.ObjectContent{MissingSet: []types.MissingProperty{{Path: "config", Fault: types.LocalizedMethodFault{Fault: &types.InvalidProperty{}}}}}
	if err := missing(other); err != nil {
		t.Errorf("what a virtual machine has not is no failure: %v", err)
	}
}

func TestAnEndpointThatIsNoVCenter(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>"))
	}))
	defer h.Close()
	p := New(Config{})
	of, err := p.Open(t.Context(), provider.Class{API: provider.Gardener, Cluster: "c", Credentials: map[string][]byte{
		"vsphereHost": []byte(h.URL), "vsphereUsername": []byte("u"), "vspherePassword": []byte("p"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := of.Find(t.Context(), machineRef("m")); err == nil || !strings.Contains(err.Error(), "no vCenter") {
		t.Error(err)
	}
}
