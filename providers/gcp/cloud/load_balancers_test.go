package cloud

import (
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

const cluster = "prod"

var asMaster = provider.Want{Role: "master", UserData: []byte("{}")}

// kept maintains an instance, and returns its state afterwards.
func (b *bench) kept(s *session, r provider.Ref) provider.Instance {
	b.t.Helper()
	if i := b.find(s, r); s.Unkept(r, i) {
		if err := s.Maintain(b.t.Context(), r, i); err != nil {
			b.t.Fatal(err)
		}
	}
	return b.find(s, r)
}

func TestTargetPool(t *testing.T) {
	b := newBench(t)
	s := b.open(with(b.class(provider.OpenShift, cluster), `"tags"`, `"targetPools": ["prod-api"], "tags"`))
	i := b.running(s, ref("m"), provider.Want{})
	if !s.Unkept(ref("m"), i) || i.Uninitialized {
		t.Error("an instance that its pool may not know is taken as it is, or is held up")
	}
	i = b.kept(s, ref("m"))
	self := []string{"projects/rehearsal/zones/us-east1-b/instances/m"}
	if got := b.cloud.Members("targetPools", "us-east1", "prod-api"); !slices.Equal(got, self) {
		t.Errorf("the pool has %q", got)
	}
	b.remove(s, ref("m"), i)
	if got := b.cloud.Members("targetPools", "us-east1", "prod-api"); len(got) > 0 {
		t.Errorf("the pool has %q after all", got)
	}
}

// TestQuirkTargetPoolBeforeExistence: the original reads its pools first, and cannot delete a machine without
// an instance if a pool does not exist.
func TestQuirkTargetPoolBeforeExistence(t *testing.T) {
	b := newBench(t)
	s := b.open(with(b.class(provider.OpenShift, cluster), `"tags"`, `"targetPools": ["typo"], "tags"`))
	if done, err := s.Delete(t.Context(), ref("m"), nil); !done || err != nil {
		t.Errorf("delete of what never was: %t, %v", done, err)
	}
	for _, r := range b.server.Requests() {
		if r.Operation == "instances.aggregatedList" {
			return
		}
		if r.Operation == "targetPools.get" {
			t.Fatal("the pool is asked before anybody looked whether there is an instance")
		}
	}
}

// TestPoolForgetsWhatSomebodyElseRemoved: but not the instance of another machine that has the name by now.
func TestPoolForgetsWhatSomebodyElseRemoved(t *testing.T) {
	b := newBench(t)
	s := b.open(with(b.class(provider.OpenShift, cluster), `"tags"`, `"targetPools": ["prod-api"], "tags"`))
	i := b.running(s, ref("m"), provider.Want{})
	b.kept(s, ref("m"))
	if err := b.cloud.Do("terminate", i.ID); err != nil {
		t.Fatal(err)
	}
	other := ref("other")
	other.Name = "m"
	b.running(s, other, provider.Want{})
	b.kept(s, other)
	b.remove(s, ref("m"))
	if got := b.cloud.Members("targetPools", "us-east1", "prod-api"); len(got) != 1 {
		t.Errorf("the pool has %q, and the name is another's", got)
	}
	b.remove(s, other, b.find(s, other))
	if got := b.cloud.Members("targetPools", "us-east1", "prod-api"); len(got) > 0 {
		t.Errorf("the pool has %q after all", got)
	}
}

func TestControlPlane(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.OpenShift, cluster))
	b.running(s, ref("m"), asMaster)
	b.running(s, ref("worker"), provider.Want{Role: "worker"})
	i := b.kept(s, ref("m"))
	group := "prod-master-us-east1-b"
	if got := b.cloud.Members("instanceGroups", "us-east1-b", group); !slices.Equal(got, []string{"projects/rehearsal/zones/us-east1-b/instances/m"}) {
		t.Errorf("the group has %q", got)
	}
	if got := b.cloud.Members("backendServices", "us-east1", "prod-api-internal"); !slices.Equal(got, []string{"projects/rehearsal/zones/us-east1-b/instanceGroups/" + group}) {
		t.Errorf("the service has %q", got)
	}
	if s.Unkept(ref("worker"), b.find(s, ref("worker"))) {
		t.Error("a worker is to be registered")
	}
	b.remove(s, ref("m"), i)
	if got := b.cloud.Members("instanceGroups", "us-east1-b", group); len(got) > 0 {
		t.Errorf("the group has %q after all", got)
	}
}

// TestControlPlaneWithoutService: without an internal load balancer, nothing is registered.
func TestControlPlaneWithoutService(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.OpenShift, "user-provisioned"))
	b.running(s, ref("m"), asMaster)
	b.kept(s, ref("m"))
	if n := b.server.Counts()["instanceGroups.insert"]; n != 0 {
		t.Errorf("%d groups are made for no load balancer", n)
	}
}

// TestControlPlaneCostsTwoReads: an instance that is registered with its load balancer costs two reads in
// each pass.
func TestControlPlaneCostsTwoReads(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.OpenShift, cluster))
	b.running(s, ref("m"), asMaster)
	i := b.kept(s, ref("m"))
	before := b.server.Requests()
	if err := s.Maintain(t.Context(), ref("m"), i); err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, r := range b.server.Requests()[len(before):] {
		made = append(made, r.Operation)
	}
	if want := []string{"backendServices.get", "instanceGroups.listInstances"}; !slices.Equal(made, want) {
		t.Errorf("it costs %q, want %q", made, want)
	}
}

// TestBalancersAreRegisteredAgain: an instance that another client removed from its load balancers is added
// again.
func TestBalancersAreRegisteredAgain(t *testing.T) {
	b := newBench(t)
	s := b.open(with(b.class(provider.OpenShift, cluster), `"tags"`, `"targetPools": ["prod-api"], "tags"`))
	i := b.running(s, ref("m"), asMaster)
	b.kept(s, ref("m"))
	if err := b.cloud.Do("deregister", i.ID); err != nil {
		t.Fatal(err)
	}
	members := func() []string {
		return slices.Concat(b.cloud.Members("targetPools", "us-east1", "prod-api"), b.cloud.Members("instanceGroups", "us-east1-b", "prod-master-us-east1-b"))
	}
	if got := members(); len(got) != 0 {
		t.Fatalf("load balancers have %q", got)
	}
	b.kept(s, ref("m"))
	self := "projects/rehearsal/zones/us-east1-b/instances/m"
	if got := members(); !slices.Equal(got, []string{self, self}) {
		t.Errorf("load balancers have %q", got)
	}
}

// TestBalancersThatDenyAreTold: a denied registration is reported, does not return a machine to its creation,
// and does not stop other repairs.
func TestBalancersThatDenyAreTold(t *testing.T) {
	b := newBench(t)
	s := b.open(with(b.class(provider.OpenShift, cluster), `"tags"`, `"targetPools": ["missing", "prod-api"], "tags"`))
	b.running(s, ref("m"), asMaster)
	b.cloud.Permit(machines, "compute.instances.*", "compute.targetPools.*", "compute.globalOperations.list")
	i := b.find(s, ref("m"))
	err := s.Maintain(t.Context(), ref("m"), i)
	if provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), "target pool missing") {
		t.Errorf("of the pool that is not there it says %v", err)
	}
	if got := b.cloud.Members("targetPools", "us-east1", "prod-api"); len(got) != 1 {
		t.Errorf("the pool that is there has %q", got)
	}
	s = b.open(b.class(provider.OpenShift, cluster))
	err = s.Maintain(t.Context(), ref("m"), i)
	if provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), "compute.regionBackendServices.get") {
		t.Errorf("of the service that may not be read it says %v", err)
	}
	if i := b.find(s, ref("m")); i.Uninitialized || i.State != provider.Running {
		t.Errorf("the machine is harmed: %+v", i)
	}
}
