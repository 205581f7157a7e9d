package cloud

import (
	"slices"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/provider"
)

const cluster = "prod"

var asMaster = provider.Want{Role: "master", UserData: []byte("{}")}

// settled runs Initialize for as long as an instance asks for it, and returns what it is then.
func (b *bench) settled(s *session, r provider.Ref) provider.Instance {
	b.t.Helper()
	for range 3 {
		i := b.find(s, r)
		if !i.Uninitialized {
			return i
		}
		if err := s.Initialize(b.t.Context(), r, i); err != nil {
			b.t.Fatal(err)
		}
	}
	b.t.Fatal("it is never initialized")
	return provider.Instance{}
}

func TestTargetPool(t *testing.T) {
	b := newBench(t)
	s := b.open(with(b.class(provider.OpenShift, cluster), `"tags"`, `"targetPools": ["prod-api"], "tags"`))
	i := b.running(s, ref("m"), provider.Want{})
	if !i.Uninitialized {
		t.Error("an instance that its pool does not know is taken as it is")
	}
	i = b.settled(s, ref("m"))
	self := []string{"projects/rehearsal/zones/us-east1-b/instances/m"}
	if got := b.cloud.Members("targetPools", "us-east1", "prod-api"); !slices.Equal(got, self) {
		t.Errorf("the pool has %q", got)
	}
	listed := 0
	for l, err := range s.List(t.Context()) {
		if listed++; err != nil || l.Uninitialized {
			t.Errorf("listed as %+v, %v", l, err)
		}
	}
	b.remove(s, ref("m"), i)
	if got := b.cloud.Members("targetPools", "us-east1", "prod-api"); listed != 1 || len(got) > 0 {
		t.Errorf("%d were listed, and the pool has %q after all", listed, got)
	}
}

// TestQuirkTargetPoolBeforeExistence: the original asks its pools first, and fails to delete what does not exist where a pool does not.
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

// TestPoolForgetsWhatSomebodyElseRemoved, but not the instance of another machine which has the name by now.
func TestPoolForgetsWhatSomebodyElseRemoved(t *testing.T) {
	b := newBench(t)
	s := b.open(with(b.class(provider.OpenShift, cluster), `"tags"`, `"targetPools": ["prod-api"], "tags"`))
	i := b.running(s, ref("m"), provider.Want{})
	b.settled(s, ref("m"))
	if err := b.cloud.Do("terminate", i.ID); err != nil {
		t.Fatal(err)
	}
	other := ref("other")
	other.Name = "m"
	b.running(s, other, provider.Want{})
	b.settled(s, other)
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
	i := b.settled(s, ref("m"))
	group := "prod-master-us-east1-b"
	if got := b.cloud.Members("instanceGroups", "us-east1-b", group); !slices.Equal(got, []string{"projects/rehearsal/zones/us-east1-b/instances/m"}) {
		t.Errorf("the group has %q", got)
	}
	if got := b.cloud.Members("backendServices", "us-east1", "prod-api-internal"); !slices.Equal(got, []string{"projects/rehearsal/zones/us-east1-b/instanceGroups/" + group}) {
		t.Errorf("the service has %q", got)
	}
	if b.find(s, ref("worker")).Uninitialized {
		t.Error("a worker is to be registered")
	}
	b.remove(s, ref("m"), i)
	if got := b.cloud.Members("instanceGroups", "us-east1-b", group); len(got) > 0 {
		t.Errorf("the group has %q after all", got)
	}
}

// TestControlPlaneWithoutService: where there is no internal load balancer, there is nothing to register with.
func TestControlPlaneWithoutService(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.OpenShift, "user-provisioned"))
	if i := b.running(s, ref("m"), asMaster); i.Uninitialized {
		t.Error("it is to be registered, and nobody is there to do it with")
	}
	if err := s.Initialize(t.Context(), ref("m"), b.find(s, ref("m"))); err != nil {
		t.Error(err)
	}
}

// TestBalancersThatCannotBeRead are no reason to take a machine back to its creation.
func TestBalancersThatCannotBeRead(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.OpenShift, cluster))
	b.running(s, ref("m"), asMaster)
	b.settled(s, ref("m"))
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Denied"}, Operation: "backendServices.*"})
	if i := b.find(s, ref("m")); i.Uninitialized {
		t.Error("what could not be read is taken for missing")
	}
}

// TestLabelsOfTheClusterAreRepaired, and those of users and of identity are left alone.
func TestLabelsOfTheClusterAreRepaired(t *testing.T) {
	b := newBench(t)
	class := with(b.class(provider.OpenShift, cluster), `"tags"`, `"labels": {"cost": "mine", "`+uidLabel+`": "forged"}, "tags"`)
	b.running(b.open(class), ref("m"), provider.Want{})
	b.objects["Infrastructure cluster"] = `{"status": {"platformStatus": {"gcp": {"resourceLabels": [{"key": "team", "value": "blue"}, {"key": "cost", "value": "all"}]}}}}`
	s := b.open(class)
	if !b.find(s, ref("m")).Uninitialized {
		t.Fatal("a label of the cluster is missing, and nothing is to be done")
	}
	i := b.settled(s, ref("m"))
	if i.Tags["team"] != "blue" || i.Tags["cost"] != "mine" || i.UID != ref("m").UID {
		t.Errorf("labels are %v", i.Tags)
	}
	b.create(s, ref("next"), provider.Want{})
	b.clock.Advance(10 * time.Second)
	if tags := b.find(s, ref("next")).Tags; tags["team"] != "blue" || tags["cost"] != "mine" {
		t.Errorf("a new instance has labels %v", tags)
	}
}
