package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// stage is a vCenter behind HTTP, and specs that fit it.
type stage struct {
	clock  *double.Clock
	cloud  *vcenter.Cloud
	server *double.Server
	url    string
	user   vcenter.User

	mu      sync.Mutex
	tagged  map[string]bool
	planted int
	objects provider.Objects
	latest  provider.Provider
}

// inventory of tests: one host.
func smallInventory() vcenter.Inventory {
	all := vcenter.Sample()
	all.Datacenters[0].Clusters = all.Datacenters[0].Clusters[:1]
	all.Datacenters[0].Clusters[0].Hosts = 1
	return all
}

func newStage(t *testing.T, o vcenter.Options) *stage {
	t.Helper()
	if o.Inventory.Datacenters == nil {
		o.Inventory = smallInventory()
	}
	s := &stage{clock: &double.Clock{}, user: o.Inventory.Users[0], tagged: map[string]bool{}}
	s.cloud = vcenter.New(s.clock, o)
	t.Cleanup(s.cloud.Close)
	s.server = double.NewServer(s.clock, s.cloud)
	h := httptest.NewServer(s.server)
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

const pageSize = 7

func (s *stage) provider() provider.Provider {
	p := New(Config{Clock: s.clock, PageSize: pageSize, Objects: s.objects})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = p
	return p
}

// warm fills the latest provider's lookup cache, so that a caller with a short deadline reaches a fault
// that is set for a clone.
func (s *stage) warm() error {
	s.mu.Lock()
	latest := s.latest
	s.planted++
	name := fmt.Sprintf("warm-%d", s.planted)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		opened, err := latest.Open(ctx, s.class(api, "warm"))
		if err != nil {
			return err
		}
		if _, err := opened.Create(ctx, machineRef(name+api), provider.Want{}); err != nil {
			return err
		}
	}
	return nil
}

type m = map[string]any

func (s *stage) openShift() m {
	return m{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "VSphereMachineProviderSpec", "template": "rhcos", "numCPUs": 2, "memoryMiB": 8192, "diskGiB": 120,
		"workspace":      m{"server": s.url, "datacenter": "dc1", "datastore": "ds1", "folder": "/dc1/vm/machines", "resourcePool": "/dc1/host/cluster1/Resources"},
		"network":        m{"devices": []m{{"networkName": "vm-network"}}},
		"userDataSecret": m{"name": "worker-user-data"}, "credentialsSecret": m{"name": "vsphere-cloud-credentials"},
	}
}

func (s *stage) gardener(cluster string) m {
	return m{
		"region": "region1", "datacenter": "dc1", "datastore": "ds1", "resourcePool": "/dc1/host/cluster1/Resources", "folder": "machines", "network": "vm-network",
		"templateVM": "ubuntu", "numCpus": 2, "memory": 8192, "tags": m{"kubernetes.io/cluster/" + cluster: "1", "kubernetes.io/role/node": "1"},
	}
}

// class is one of the API for the cluster.
func (s *stage) class(api, cluster string) provider.Class {
	if api == provider.Gardener {
		return s.classOf(api, cluster, s.gardener(cluster))
	}
	return s.classOf(api, cluster, s.openShift())
}

func (s *stage) classOf(api, cluster string, spec m) provider.Class {
	raw, err := json.Marshal(spec)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	user := s.user
	s.mu.Unlock()
	class := provider.Class{API: api, Cluster: cluster, Spec: raw, Credentials: map[string][]byte{
		"vsphereHost": []byte(s.url), "vsphereUsername": []byte(user.Name), "vspherePassword": []byte(user.Password), "vsphereInsecureSSL": []byte("true"),
	}}
	if api == provider.OpenShift {
		class.Credentials = map[string][]byte{s.url + ".username": []byte(user.Name), s.url + ".password": []byte(user.Password)}
		s.tag(cluster)
	}
	return class
}

// tag creates the tag of a cluster, as the installer does.
func (s *stage) tag(cluster string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tagged[cluster] {
		return
	}
	s.tagged[cluster] = true
	if err := s.cloud.Probe().AddTag(vcenter.Tag{Category: "openshift-" + cluster, Name: cluster}); err != nil {
		panic(err)
	}
}

func (s *stage) plant(class provider.Class, i provider.Instance) error {
	s.mu.Lock()
	s.planted++
	n := s.planted
	s.mu.Unlock()
	p := vcenter.Plant{Name: i.Name, Folder: "/dc1/vm/machines", Template: "/dc1/vm/rhcos", Extra: map[string]string{}, Attributes: map[string]string{}}
	// A cluster may be used through both APIs: it has the marks of either.
	s.tag(class.Cluster)
	p.Tags = []string{s.cloud.Probe().TagID("openshift-"+class.Cluster, class.Cluster)}
	p.Attributes = map[string]string{"kubernetes.io/cluster/" + class.Cluster: "1", "kubernetes.io/role/node": "1"}
	if i.UID != "" { // names are unique in a folder
		p.Folder = fmt.Sprintf("/dc1/vm/planted-%d", n)
		p.InstanceID = instanceUUIDs(class.API, class.Cluster, refOf(i.UID))[0]
		p.Extra = map[string]string{keyUID: i.UID, keyName: i.Name, keyCluster: class.Cluster}
		for key, value := range map[string]string{keyNamespace: i.Namespace, keyOwner: class.Owner} {
			if value != "" {
				p.Extra[key] = value
			}
		}
	}
	_, err := s.cloud.Plant(p)
	return err
}

func (s *stage) count(class provider.Class) (n, dependants int, err error) {
	there := map[string]bool{"": true}
	for _, machine := range s.cloud.Machines() {
		there[machine.Extra[keyUID]] = true
		_, attribute := machine.Attributes["kubernetes.io/cluster/"+class.Cluster]
		if machine.Extra[keyCluster] == class.Cluster || attribute || slices.Contains(machine.Tags, class.Cluster) {
			n++
		}
	}
	for _, options := range s.cloud.Cloning() { // the request has the costs
		if options[keyCluster] == class.Cluster && !there[options[keyUID]] {
			n++
		}
	}
	return n, 0, nil
}

// operations are those that serve a verb.
var operations = map[providertest.Verb]string{
	providertest.Find: "RetrievePropertiesEx", providertest.List: "RetrievePropertiesEx", providertest.Create: "CloneVM_Task",
	providertest.Delete: "*_Task", providertest.Power: "*_Task", providertest.Initialize: "*_Task", providertest.Maintain: "*_Task",
}

func (s *stage) inject(v providertest.Verb, f providertest.Fault) error {
	operation, ok := operations[v]
	if !ok || f.Duplicate || f.Slow > 0 {
		return providertest.Skip("a vCenter has no such failure")
	}
	if f.Stall {
		if err := s.warm(); err != nil {
			return err
		}
		// The caller stops after 50 ms. If a busy machine does not reach the clone by then, the fault must
		// not delay the next one.
		time.AfterFunc(70*time.Millisecond, s.server.Heal)
	}
	if f.Stall && !f.Done {
		operation = "*"
	}
	if f.Partial > 0 {
		operation = "ContinueRetrievePropertiesEx"
	}
	s.server.Inject(double.Fault{
		Failure:   double.Failure{Kind: string(f.Kind), After: f.After, Scope: string(f.Scope)},
		Operation: operation, Times: 1, Done: f.Done, Stall: f.Stall,
	})
	return nil
}

func (s *stage) rotate(class provider.Class) (provider.Class, error) {
	s.mu.Lock()
	s.user.Password += "-new"
	user := s.user
	s.mu.Unlock()
	s.cloud.SetUser(user)
	rotated := class
	rotated.Credentials = map[string][]byte{}
	for key, value := range class.Credentials {
		if key == "vspherePassword" || key == s.url+".password" {
			value = []byte(user.Password)
		}
		rotated.Credentials[key] = value
	}
	return rotated, nil
}

func (s *stage) elsewhere(t *testing.T) func(context.Context, provider.Class) (provider.Session, error) {
	return func(ctx context.Context, class provider.Class) (provider.Session, error) {
		other := newStage(t, vcenter.Options{ID: "11111111-2222-3333-4444-555555555555", Inventory: smallInventory()})
		return other.provider().Open(ctx, other.class(class.API, class.Cluster))
	}
}

// open opens a class.
func (s *stage) open(t *testing.T, class provider.Class) *session {
	t.Helper()
	opened, err := s.provider().Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	return opened.(*session)
}

func machineRef(name string) provider.Ref {
	sum := sha256.Sum256([]byte(name))
	return provider.Ref{UID: fmt.Sprintf("5f1c5b5e-5d0f-4b8e-9a60-%012x", sum[:6]), Namespace: "machines", Name: name}
}

// settle finds the instance of a machine and initializes it until it runs and lacks nothing.
func (s *stage) settle(t *testing.T, of *session, r provider.Ref) provider.Instance {
	t.Helper()
	for range 50 {
		found, err := of.Find(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 1 {
			i := found[0]
			if i.State == provider.Running && !i.Uninitialized || i.Fault != nil {
				return i
			}
			if i.Uninitialized && i.State != provider.Pending {
				if err := of.Initialize(t.Context(), r, i); err != nil && provider.KindOf(err) != provider.Conflict {
					t.Fatal(err)
				}
			}
		}
		s.clock.Advance(time.Second)
	}
	t.Fatal("it does not come up")
	return provider.Instance{}
}

// make creates the instance of a machine, and maintains it as the engine does when it runs for the first
// time.
func (s *stage) make(t *testing.T, of *session, r provider.Ref) provider.Instance {
	t.Helper()
	if _, err := of.Create(t.Context(), r, provider.Want{UserData: []byte("#cloud-config\n"), Role: "worker"}); err != nil {
		t.Fatal(err)
	}
	i := s.settle(t, of, r)
	if i.Fault != nil || !of.Unkept(r, i) {
		return i
	}
	if err := of.Maintain(t.Context(), r, i); err != nil {
		t.Fatal(err)
	}
	return s.settle(t, of, r)
}
