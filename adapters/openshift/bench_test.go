package openshift_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/adapters/openshift"
	"github.com/millwright-dev/millwright/adapters/openshift/internal/reference"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
)

const (
	pageSize = 5
	// boot is the boot time of a server.
	boot      = 90 * time.Second
	lag       = 30 * time.Second
	namespace = "machines"
	cluster   = "machine.openshift.io/cluster-api-cluster"
)

// bench is an actuator with a simulated cloud and an API server, in a synctest bubble: minutes pass at once.
type bench struct {
	t        *testing.T
	life     context.Context
	cloud    *nova.Cloud
	server   *double.Server
	api      client.Client
	actuator openshift.Actuator
	// settled: started processes have worked for longer than the read lag.
	settled bool

	mu sync.Mutex
	// word is the current password, in all namespaces.
	word       string
	namespaces map[string]bool
}

// inBubble runs a test on a bench with the reference actuator.
func inBubble(t *testing.T, h reference.Habits, run func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		defer end()
		clk := &double.Clock{}
		b := &bench{t: t, life: life, settled: true}
		b.cloud = nova.New(clk, nova.Options{Inventory: nova.Sample(), PageSize: pageSize, Boot: boot, Delete: boot})
		b.server = double.NewServer(clk, b.cloud)
		b.api = apiServer()
		b.actuator = &reference.Actuator{Client: b.api, HTTP: &http.Client{Transport: inProcess{b.server}}, Habits: h}
		b.namespaces = map[string]bool{namespace: true}
		b.password("secret")
		run(b)
	})
}

func apiServer() client.Client {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{machinev1.Install, corev1.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&machinev1.Machine{}).Build()
}

// inProcess passes requests to a handler without a network, since the clock of a bubble does not wait for
// one.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	asked, w := r.Clone(r.Context()), httptest.NewRecorder()
	asked.Host, asked.URL.Scheme, asked.URL.Host = r.URL.Host, "", ""
	p.handler.ServeHTTP(w, asked)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// password stores the actuators' secrets in all namespaces.
func (b *bench) password(word string) {
	b.t.Helper()
	b.word = word
	for name := range b.namespaces {
		b.secrets(name)
	}
}

func (b *bench) secrets(namespace string) {
	b.t.Helper()
	for name, data := range map[string]map[string][]byte{
		"cloud": {
			"authURL": []byte("http://cloud/identity/v3"), "username": []byte("machines"), "password": []byte(b.word),
			"domain": []byte("Default"), "project": []byte("demo"),
		},
		"worker-user-data": {"userData": []byte(`{"ignition":{"version":"3.2.0"}}`)},
	} {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
		b.must(client.IgnoreNotFound(b.api.Delete(b.t.Context(), s)))
		s.ResourceVersion = ""
		b.must(b.api.Create(b.t.Context(), s))
	}
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// start returns the provider of a new process.
func (b *bench) start() *openshift.Provider {
	p := openshift.New(b.life, openshift.Config{
		Name: "reference", Actuator: b.actuator, Clock: clock.RealClock{}, Machines: b.api, Settings: openshift.Settings{ReadLag: lag},
	})
	if b.settled {
		p.Settle()
	}
	return p
}

const spec = `{"apiVersion":"reference.example.com/v1","kind":"ReferenceSpec","region":"RegionOne","availabilityZone":"nova","image":"rhcos",` +
	`"flavor":"m1.test","network":"9dc8b730-e135-4551-9687-f176ba5bdf03","userDataSecret":{"name":"worker-user-data"},"cloudSecret":{"name":"cloud"}}`

func class(api, cluster string) provider.Class {
	return provider.Class{API: api, Cluster: cluster, Spec: []byte(spec)}
}

func (b *bench) open(p provider.Provider) provider.Session {
	b.t.Helper()
	s, err := p.Open(b.t.Context(), class(provider.OpenShift, "blue"))
	b.must(err)
	return s
}

// declare stores ref's machine, as users and sets do; it replaces a former machine of the name.
func (b *bench) declare(ref provider.Ref, c provider.Class) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.namespaces[ref.Namespace] {
		b.namespaces[ref.Namespace] = true
		b.secrets(ref.Namespace)
	}
	old := &machinev1.Machine{}
	at := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	switch err := b.api.Get(b.t.Context(), at, old); {
	case err == nil && string(old.UID) == ref.UID:
		return
	case err == nil:
		b.must(b.api.Delete(b.t.Context(), old))
	}
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: ref.Namespace, Name: ref.Name, UID: types.UID(ref.UID), Labels: map[string]string{cluster: c.Cluster},
	}}
	if c.Spec != nil {
		m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: c.Spec}
	}
	if ref.ProviderID != "" {
		m.Spec.ProviderID = &ref.ProviderID
	}
	b.must(b.api.Create(b.t.Context(), m))
}

func (b *bench) machine(ref provider.Ref) *machinev1.Machine {
	b.t.Helper()
	m := &machinev1.Machine{}
	b.must(b.api.Get(b.t.Context(), client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, m))
	return m
}

// plant creates a server of the cluster without the actuator.
func (b *bench) plant(cluster, name string) {
	b.cloud.Plant(nova.Planted{Name: name, Project: "demo", Flavor: "m1.test", Metadata: map[string]string{"openshiftClusterID": cluster}})
}

// servers are the IDs of the cluster's servers by name, without those under deletion.
func (b *bench) servers(cluster string) (all map[string][]string) {
	all = map[string][]string{}
	for _, i := range b.cloud.Instances() {
		if i.Tags["openshiftClusterID"] == cluster && i.State != "deleting" {
			all[i.Name] = append(all[i.Name], i.ID)
		}
	}
	return all
}

func (b *bench) holds(n int) {
	b.t.Helper()
	if all := b.servers("blue"); len(all) != n {
		b.t.Errorf("the cloud has the servers %v, want %d", all, n)
	}
}

func ref(name string) provider.Ref {
	return provider.Ref{UID: fmt.Sprintf("5f1c5b5e-5d0f-4b8e-9a60-%012x", name), Namespace: namespace, Name: name}
}

func (b *bench) find(s provider.Session, r provider.Ref) []provider.Instance {
	b.t.Helper()
	all, err := s.Find(b.t.Context(), r)
	if err != nil {
		b.t.Fatalf("find: %v", err)
	}
	return all
}

func (b *bench) list(s provider.Session) (all []provider.Instance) {
	b.t.Helper()
	for i, err := range s.List(b.t.Context()) {
		if err != nil {
			b.t.Fatalf("list: %v", err)
		}
		all = append(all, i)
	}
	return all
}

// shape is a summary of instances, in one line.
func shape(all []provider.Instance) string {
	var out []string
	for _, i := range all {
		text := i.Name + " " + string(i.State)
		if i.UID == "" {
			text += " unclaimed"
		}
		if i.ProviderID == "" {
			text += " unnamed"
		}
		if i.Uninitialized {
			text += " uninitialized"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}
