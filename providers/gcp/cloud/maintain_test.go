package cloud

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/provider"
)

// network are the network tags of an instance.
func network(i provider.Instance) (tags string) {
	var all []string
	for _, key := range sortedKeys(i.Tags) {
		if tag, ok := strings.CutPrefix(key, tagMark); ok {
			all = append(all, tag)
		}
	}
	return strings.Join(all, " ")
}

// TestLabelsOfTheClusterAreMended: labels of the cluster are restored, and those of users and of identity are
// not changed.
func TestLabelsOfTheClusterAreMended(t *testing.T) {
	b := newBench(t)
	class := with(b.class(provider.OpenShift, cluster), `"tags"`, `"labels": {"cost": "mine", "`+uidLabel+`": "forged"}, "tags"`)
	if s := b.open(class); s.Unkept(ref("m"), b.running(s, ref("m"), provider.Want{})) {
		t.Error("an instance that was just made lacks something")
	}
	b.objects["Infrastructure cluster"] = `{"status": {"platformStatus": {"gcp": {"resourceLabels": [{"key": "team", "value": "blue"}, {"key": "cost", "value": "all"}]}}}}`
	s := b.open(class)
	if !s.Unkept(ref("m"), b.find(s, ref("m"))) {
		t.Fatal("a label of the cluster is missing, and nothing is to be done")
	}
	i := b.kept(s, ref("m"))
	if i.Tags["team"] != "blue" || i.Tags["cost"] != "mine" || i.UID != ref("m").UID || s.Unkept(ref("m"), i) {
		t.Errorf("labels are %v", i.Tags)
	}
	b.create(s, ref("next"), provider.Want{})
	b.clock.Advance(10 * time.Second)
	if tags := b.find(s, ref("next")).Tags; tags["team"] != "blue" || tags["cost"] != "mine" {
		t.Errorf("a new instance has labels %v", tags)
	}
}

// TestTagsAreMended: tags that another client removes from a live instance are restored, and tags that it
// adds stay.
func TestTagsAreMended(t *testing.T) {
	for api, tag := range map[string]string{provider.OpenShift: cluster + "-worker", provider.Gardener: "kubernetes-io-role-node"} {
		t.Run(api, func(t *testing.T) {
			b := newBench(t)
			class := with(b.class(api, cluster), `"tags"`, `"labels": {"team": "blue"}, "tags"`)
			class.Owner = "6b1d9a60-4a4f-4d47-9b0f-3a3c6d7f9b11"
			s := b.open(class)
			i := b.running(s, ref("m"), provider.Want{})
			made := network(i)
			b.cloud.SetLabels(i.ID, func(labels map[string]string) { labels["team"], labels["mine"] = "red", "yes" })
			for _, key := range []string{uidLabel, namespaceLabel, ownerLabel, tag} {
				if err := b.cloud.Do("untag", "m="+key); err != nil {
					t.Fatal(err)
				}
				if !s.Unkept(ref("m"), b.find(s, ref("m"))) {
					t.Errorf("without %s nothing differs", key)
				}
			}
			before := b.server.Counts()
			i = b.kept(s, ref("m"))
			after := b.server.Counts()
			if i.UID != ref("m").UID || i.Namespace != "machines" || i.Owner != class.Owner || i.Tags["team"] != "blue" || i.Tags["mine"] != "yes" || network(i) != made {
				t.Errorf("its tags are %v", i.Tags)
			}
			for _, call := range []string{"instances.get", "instances.setLabels", "instances.setTags"} {
				if n := after[call] - before[call]; n != 1 {
					t.Errorf("%d calls of %s", n, call)
				}
			}
			if s.Unkept(ref("m"), i) {
				t.Error("something differs after all")
			}
		})
	}
}

// TestAdoptedAreMarked: an original's instance gets the labels of its owner, and stays in the control plane.
func TestAdoptedAreMarked(t *testing.T) {
	b := newBench(t)
	s := b.open(with(b.class(provider.OpenShift, cluster), `"prod-worker"`, `"prod-master"`))
	if err := b.plant(s.class, provider.Instance{Name: "m"}); err != nil {
		t.Fatal(err)
	}
	if i := b.find(s, ref("m")); i.UID != "" || !s.Unkept(ref("m"), i) {
		t.Fatalf("it is %+v, and nothing is to be done", i)
	}
	for range 2 {
		i := b.kept(s, ref("m"))
		if i.UID != ref("m").UID || i.Tags[roleLabel] != controlPlaneRole || !s.controlPlane(i) {
			t.Errorf("its tags are %v", i.Tags)
		}
	}
	if got := b.cloud.Members("instanceGroups", "us-east1-b", "prod-master-us-east1-b"); len(got) != 1 {
		t.Errorf("the group has %q", got)
	}
}

// TestTagsOfAnotherMachineStay: a machine that was restored from a backup has an instance with its former
// UID.
func TestTagsOfAnotherMachineStay(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.OpenShift, cluster))
	i := b.running(s, ref("m"), provider.Want{})
	restored := ref("m")
	restored.UID, restored.ProviderID = ref("other").UID, i.ProviderID
	if err := b.cloud.Do("untag", "m="+namespaceLabel); err != nil {
		t.Fatal(err)
	}
	if i = b.kept(s, restored); i.UID != ref("m").UID || i.Namespace != "" {
		t.Errorf("it says now that it is %s, of %q", i.UID, i.Namespace)
	}
}

// TestTagsThatMayNotBeMended: the refusal is reported, has no other effect, and does not stop other repairs.
func TestTagsThatMayNotBeMended(t *testing.T) {
	b := newBench(t)
	s := b.open(with(b.class(provider.OpenShift, cluster), `"tags"`, `"targetPools": ["prod-api"], "tags"`))
	b.running(s, ref("m"), provider.Want{})
	for _, key := range []string{namespaceLabel, cluster + "-worker"} {
		if err := b.cloud.Do("untag", "m="+key); err != nil {
			t.Fatal(err)
		}
	}
	b.cloud.Permit(machines, "compute.instances.list", "compute.instances.get", "compute.instances.use", "compute.instances.setTags", "compute.targetPools.*")
	i := b.find(s, ref("m"))
	err := s.Maintain(t.Context(), ref("m"), i)
	if provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), "compute.instances.setLabels") {
		t.Errorf("it says %v", err)
	}
	i = b.find(s, ref("m"))
	if i.State != provider.Running || i.Uninitialized || !tagged(i, cluster+"-worker") {
		t.Errorf("it is %+v", i)
	}
	if got := b.cloud.Members("targetPools", "us-east1", "prod-api"); len(got) != 1 {
		t.Errorf("the pool has %q", got)
	}
}

// TestMendingOverwritesNothing: a change that another client makes between the read and the write is kept;
// the next pass repairs.
func TestMendingOverwritesNothing(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.Gardener, cluster))
	i := b.running(s, ref("m"), provider.Want{})
	b.cloud.SetLabels(i.ID, func(labels map[string]string) { delete(labels, namespaceLabel) })
	i = b.find(s, ref("m"))
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Conflict"}, Operation: "instances.setLabels", Times: 1})
	if err := s.Maintain(t.Context(), ref("m"), i); provider.KindOf(err) != provider.Conflict {
		t.Errorf("it says %v", err)
	}
	if i = b.kept(s, ref("m")); i.Namespace != "machines" {
		t.Errorf("its tags are %v", i.Tags)
	}
}

// TestMendingLeavesASuccessorAlone: an instance of the same name that was created since is not changed.
func TestMendingLeavesASuccessorAlone(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.OpenShift, cluster))
	b.running(s, ref("m"), provider.Want{})
	if err := b.cloud.Do("untag", "m="+namespaceLabel); err != nil {
		t.Fatal(err)
	}
	i := b.find(s, ref("m"))
	other := ref("other")
	other.Name = "m"
	if err := b.cloud.Do("terminate", i.ID); err != nil {
		t.Fatal(err)
	}
	b.running(s, other, provider.Want{})
	if err := s.Maintain(t.Context(), ref("m"), i); provider.KindOf(err) != provider.Conflict {
		t.Errorf("it says %v", err)
	}
}
