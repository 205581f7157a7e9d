package gardener_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/adapters/gardener"
	"github.com/millwright-dev/millwright/adapters/gardener/internal/reference"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
)

const (
	pageSize = 5
	// boot is how long the driver blocks for a server.
	boot = 90 * time.Second
	lag  = 30 * time.Second
)

// bench is the reference driver with a simulated cloud, in a synctest bubble: minutes pass at once.
type bench struct {
	t       *testing.T
	life    context.Context
	cloud   *nova.Cloud
	server  *double.Server
	driver  driver.Driver
	objects objects
	// settings of the started processes; settled: they have worked for longer than the read lag.
	settings gardener.Settings
	settled  bool
}

// inBubble runs a test on a bench.
func inBubble(t *testing.T, h reference.Habits, run func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		defer end()
		clk := &double.Clock{}
		b := &bench{t: t, life: life, settings: gardener.Settings{ReadLag: lag}, settled: true}
		b.cloud = nova.New(clk, nova.Options{Inventory: nova.Sample(), PageSize: pageSize, Boot: boot, Delete: boot})
		b.server = double.NewServer(clk, b.cloud)
		b.driver = &reference.Driver{HTTP: &http.Client{Transport: inProcess{b.server}}, Habits: h}
		b.objects = objects{{APIVersion: "machine.sapcloud.io/v1alpha1", Kind: "MachineClass", Namespace: "machines", Name: "small"}: map[string]any{
			"metadata": map[string]any{"uid": "c", "name": "small", "namespace": "machines"}, "provider": "OpenStack",
		}}
		run(b)
	})
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

// objects are the objects of the control cluster.
type objects map[provider.ObjectRef]any

func (o objects) Object(_ context.Context, ref provider.ObjectRef) ([]byte, error) {
	if one, ok := o[ref]; ok {
		return json.Marshal(one)
	}
	return nil, provider.ErrNoObject
}

// start returns the provider of a new process.
func (b *bench) start() *gardener.Provider {
	p := gardener.New(b.life, gardener.Config{Name: "reference", Driver: b.driver, Clock: clock.RealClock{}, Objects: b.objects, Settings: b.settings})
	if b.settled {
		p.Settle()
	}
	return p
}

const spec = `{"apiVersion":"openstack.machine.gardener.cloud/v1alpha1","kind":"MachineProviderConfig","spec":{"imageName":"rhcos",` +
	`"flavorName":"m1.test","region":"RegionOne","availabilityZone":"nova","keyName":"k","networkID":"9dc8b730-e135-4551-9687-f176ba5bdf03",` +
	`"tags":{"kubernetes.io-cluster-CLUSTER":"1","kubernetes.io-role-node":"1"}}}`

func class(api, cluster string) provider.Class {
	return provider.Class{
		API: api, Cluster: cluster, Spec: []byte(strings.ReplaceAll(spec, "CLUSTER", cluster)),
		Object: provider.ObjectRef{APIVersion: "machine.sapcloud.io/v1alpha1", Kind: "MachineClass", Namespace: "machines", Name: "small"},
		Credentials: map[string][]byte{
			"authURL": []byte("http://cloud/identity/v3"), "username": []byte("machines"), "password": []byte("secret"),
			"domainName": []byte("Default"), "tenantName": []byte("demo"),
		},
	}
}

func (b *bench) open(p *gardener.Provider) provider.Session {
	b.t.Helper()
	s, err := p.Open(b.t.Context(), class(provider.Gardener, "blue"))
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// plant creates a server of the cluster without the driver.
func (b *bench) plant(cluster, name string) {
	b.cloud.Plant(nova.Planted{
		Name: name, Project: "demo", Flavor: "m1.test", Metadata: map[string]string{"kubernetes.io-cluster-" + cluster: "1", "kubernetes.io-role-node": "1"},
	})
}

// servers are the IDs of the cluster's servers by name, without those under deletion.
func (b *bench) servers(cluster string) (all map[string][]string) {
	all = map[string][]string{}
	for _, i := range b.cloud.Instances() {
		if i.Tags["kubernetes.io-cluster-"+cluster] != "" && i.State != "deleting" {
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
	return provider.Ref{UID: fmt.Sprintf("5f1c5b5e-5d0f-4b8e-9a60-%012x", name), Namespace: "machines", Name: name}
}

func (b *bench) find(s provider.Session, r provider.Ref) []provider.Instance {
	b.t.Helper()
	all, err := s.Find(b.t.Context(), r)
	if err != nil {
		b.t.Fatalf("find: %v", err)
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
