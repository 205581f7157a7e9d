package cloud

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/gce"
	"github.com/millwright-dev/millwright/provider"
)

// bench is a simulator with a provider for it.
type bench struct {
	t      *testing.T
	clock  *double.Clock
	cloud  *gce.Cloud
	server *double.Server
	url    string
	login  []byte
	// objects are the objects of the control cluster, by kind and name.
	objects objects
}

const machines = "machines@rehearsal.iam.gserviceaccount.com"

func newBench(t *testing.T, change ...func(*gce.Options)) *bench {
	t.Helper()
	b := &bench{t: t, clock: &double.Clock{}, objects: objects{}}
	o := gce.Options{Inventory: gce.Sample(), Boot: 4 * time.Second, Delete: 4 * time.Second, PageSize: 5}
	o.Inventory.Regions[0].Quotas = nil
	for _, f := range change {
		f(&o)
	}
	b.cloud = gce.New(b.clock, o)
	b.server = double.NewServer(b.clock, b.cloud)
	at := httptest.NewServer(http.Handler(b.server))
	t.Cleanup(at.Close)
	b.url = at.URL
	b.issue()
	return b
}

func (b *bench) issue() {
	key, err := b.cloud.IssueKey(machines, b.url)
	if err != nil {
		panic(err)
	}
	b.login = key
}

func (b *bench) start() *Provider {
	return New(Config{Clock: b.clock, Objects: b.objects, Endpoint: b.url})
}

// objects implements [provider.Objects].
type objects map[string]string

func (o objects) Object(_ context.Context, ref provider.ObjectRef) ([]byte, error) {
	if raw, ok := o[ref.Kind+" "+ref.Name]; ok {
		return []byte(raw), nil
	}
	return nil, provider.ErrNoObject
}

// specs are minimal specs; %s is the cluster.
var specs = map[string]string{
	provider.OpenShift: `{"apiVersion": "machine.openshift.io/v1beta1", "kind": "GCPMachineProviderSpec", "machineType": "n1-standard-4", "region": "us-east1",
		"zone": "us-east1-b", "projectID": "rehearsal", "disks": [{"autoDelete": true, "boot": true, "sizeGb": 128, "type": "pd-ssd", "image": "projects/rehearsal/global/images/new"}],
		"networkInterfaces": [{"network": "prod-network", "subnetwork": "prod-worker-subnet"}],
		"serviceAccounts": [{"email": "nodes@rehearsal.iam.gserviceaccount.com", "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}], "tags": ["%s-worker"],
		"userDataSecret": {"name": "worker-user-data"}, "credentialsSecret": {"name": "gcp-cloud-credentials"}}`,
	provider.Gardener: `{"region": "us-east1", "zone": "us-east1-b", "machineType": "n1-standard-4",
		"disks": [{"boot": true, "sizeGb": 50, "type": "pd-ssd", "image": "projects/rehearsal/global/images/new", "labels": {"name": "shoot--a--b"}}],
		"networkInterfaces": [{"network": "prod-network", "subnetwork": "prod-worker-subnet"}], "scheduling": {"automaticRestart": true, "onHostMaintenance": "MIGRATE", "preemptible": false},
		"serviceAccounts": [{"email": "nodes@rehearsal.iam.gserviceaccount.com", "scopes": ["compute"]}], "tags": ["kubernetes-io-cluster-%s", "kubernetes-io-role-node"]}`,
}

var loginKey = map[string]string{provider.OpenShift: "service_account.json", provider.Gardener: "serviceAccountJSON"}

func (b *bench) class(api, cluster string) provider.Class {
	return provider.Class{
		API: api, Cluster: cluster, Spec: fmt.Appendf(nil, specs[api], cluster),
		Credentials: map[string][]byte{loginKey[api]: b.login},
	}
}

// with replaces a part of the class's spec.
func with(class provider.Class, was, is string) provider.Class {
	if !strings.Contains(string(class.Spec), was) {
		panic("the spec has no " + was)
	}
	class.Spec = []byte(strings.Replace(string(class.Spec), was, is, 1))
	return class
}

func (b *bench) open(class provider.Class) *session {
	b.t.Helper()
	s, err := b.start().Open(b.t.Context(), class)
	if err != nil {
		b.t.Fatal(err)
	}
	return s.(*session)
}

func ref(name string) provider.Ref {
	sum := fmt.Sprintf("%012x", []byte(name))
	return provider.Ref{UID: "0f9a3c52-1b1e-4c5d-8e2f-" + sum[len(sum)-12:], Namespace: "machines", Name: name}
}

// create creates an instance, which begins to boot.
func (b *bench) create(s *session, r provider.Ref, want provider.Want) provider.Instance {
	b.t.Helper()
	i, err := s.Create(b.t.Context(), r, want)
	if err != nil {
		b.t.Fatalf("create %s: %v", r.Name, err)
	}
	return i
}

// find returns the only instance of a machine.
func (b *bench) find(s *session, r provider.Ref) provider.Instance {
	b.t.Helper()
	all, err := s.Find(b.t.Context(), r)
	if err != nil || len(all) != 1 {
		b.t.Fatalf("find %s: %d instances, error %v", r.Name, len(all), err)
	}
	return all[0]
}

// running creates an instance and waits until it runs.
func (b *bench) running(s *session, r provider.Ref, want provider.Want) provider.Instance {
	b.t.Helper()
	b.create(s, r, want)
	b.clock.Advance(10 * time.Second)
	i := b.find(s, r)
	if i.State != provider.Running {
		b.t.Fatalf("%s is %s (%s)", r.Name, i.State, i.RawState)
	}
	return i
}

// remove deletes until nothing is left.
func (b *bench) remove(s *session, r provider.Ref, given ...provider.Instance) {
	b.t.Helper()
	for range 20 {
		done, err := s.Delete(b.t.Context(), r, given)
		if err != nil {
			b.t.Fatalf("delete %s: %v", r.Name, err)
		}
		if done {
			return
		}
		b.clock.Advance(2 * time.Second)
	}
	b.t.Fatalf("%s does not go", r.Name)
}
