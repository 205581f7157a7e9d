package cloud_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ibmcloud"
	"github.com/millwright-dev/millwright/provider"
)

// TestNamesOfParts: the creating request has the identity of the machine in the names of the instance's parts, also a namespace
// that does not fit into one of them.
func TestNamesOfParts(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	class := w.class("c1")
	class.Owner = "5f1c5b5e-5d0f-4b8e-9a60-0d7a3f6f2c11"
	s := w.open(t, class)
	w.create(t, s, ref)
	p := w.prototypes(t)[0]
	if p.Name != "worker-1" || p.Primary.Name != "mw-"+ref.UID+"-"+clusterHash("c1") || p.Boot.Name != "mw-"+class.Owner+"-openshift-machine-api" {
		t.Errorf("names %q, %q, %q", p.Name, p.Primary.Name, p.Boot.Name)
	}
	if p.Boot.Volume.Name != "mw-"+ref.Token("c1")[:16] || p.Boot.Delete == nil || !*p.Boot.Delete {
		t.Errorf("volume %q, deleted with the instance: %v", p.Boot.Volume.Name, p.Boot.Delete)
	}
	for _, namespace := range []string{"a", "n-" + strings.Repeat("x", 61), strings.Repeat("n", 22) + "--" + strings.Repeat("y", 39), strings.Repeat("n", 23)} {
		ref := refOf("in-" + namespace[:1] + namespace[len(namespace)-1:])
		ref.Namespace = namespace
		if i := w.create(t, s, ref); i.Namespace != namespace || i.Owner != class.Owner || i.UID != ref.UID {
			t.Errorf("%s: %+v", namespace, i)
		}
	}
}

// TestNameInUse: an instance of another machine has the name. The machine's instance gets another one, and no second.
func TestNameInUse(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	if err := w.plant(w.class("c2"), provider.Instance{Name: "worker-1"}); err != nil {
		t.Fatal(err)
	}
	s := w.open(t, w.class("c1"))
	i := w.create(t, s, ref)
	if !strings.HasPrefix(i.Name, "worker-1-") || i.NodeName != i.Name {
		t.Errorf("name %q, node %q", i.Name, i.NodeName)
	}
	if again, err := w.open(t, w.class("c1")).Create(t.Context(), ref, want); err != nil || again.ID != i.ID {
		t.Errorf("creates %s beside %s: %v", again.ID, i.ID, err)
	}
	odd := refOf("1.worker_" + strings.Repeat("x", 70))
	if i := w.create(t, s, odd); !strings.HasPrefix(i.Name, "m-1-worker-xxx") || len(i.Name) > 63 {
		t.Errorf("name %q", i.Name)
	}
}

// TestLagOfListings: while listings do not show a new instance, another process gets a Conflict, and creates none.
func TestLagOfListings(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	if _, err := w.open(t, w.class("c1")).Create(t.Context(), ref, want); err != nil {
		t.Fatal(err)
	}
	w.SetLag(10 * time.Second)
	other := w.open(t, w.class("c1"))
	if _, err := other.Create(t.Context(), ref, want); provider.KindOf(err) != provider.Conflict || len(w.Instances()) != 1 {
		t.Errorf("%v, instances %q", err, w.states())
	}
	w.clock.Advance(20 * time.Second)
	if i, err := other.Create(t.Context(), ref, want); err != nil || i.UID != ref.UID || len(w.Instances()) != 1 {
		t.Errorf("later %+v, %v", i, err)
	}
}

// TestTwoNames: two processes request the instance of a machine under two names, because another instance has lost the machine's
// name in between. The name of the boot volume prevents the second one.
func TestTwoNames(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	if err := w.plant(w.class("c2"), provider.Instance{Name: "worker-1"}); err != nil {
		t.Fatal(err)
	}
	first, second := w.open(t, w.class("c1")), w.open(t, w.class("c1"))
	w.server.Inject(double.Fault{Operation: "create_instance", Times: 1, Delay: time.Second})
	created := make(chan provider.Instance, 1)
	go func() {
		i, err := first.Create(t.Context(), ref, want)
		if err != nil {
			t.Error(err)
		}
		created <- i
	}()
	for len(w.sent.With("POST /v1/instances?")) == 0 {
		time.Sleep(time.Millisecond)
	}
	w.Vanish(w.idNamed("worker-1"))
	i, err := second.Create(t.Context(), ref, want)
	if err != nil {
		t.Fatal(err)
	}
	if other := <-created; other.ID != i.ID || len(w.Instances()) != 1 {
		t.Errorf("%s and %s, instances %q", i.ID, other.ID, w.states())
	}
	if all := w.sent.With("POST /v1/instances?"); len(all) != 2 || !strings.Contains(all[0], `"name":"worker-1-`) || !strings.Contains(all[1], `"name":"worker-1"`) {
		t.Errorf("requests %q", all)
	}
}

// idNamed is the ID of the instance with the name.
func (w *world) idNamed(name string) string {
	for _, i := range w.Instances() {
		if i.Name == name {
			return i.ID
		}
	}
	return ""
}

// TestManyProcesses: several processes create the same machine at the same time.
func TestManyProcesses(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	class := w.class("c1")
	var wg sync.WaitGroup
	for range 8 {
		s := w.open(t, class)
		wg.Go(func() {
			if _, err := s.Create(t.Context(), ref, want); err != nil && provider.KindOf(err) != provider.Conflict {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(w.Instances()); n != 1 {
		t.Errorf("%d instances", n)
	}
}

// TestLateShortage: VPC accepts an instance for which its zone has no capacity, and fails it. The fault names the extent, also in
// another process, and the failed instance can be deleted.
func TestLateShortage(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	if err := w.Do("exhaust", "us-south-1/bx2-4x16"); err != nil {
		t.Fatal(err)
	}
	s := w.open(t, w.class("c1"))
	if i, err := s.Create(t.Context(), ref, want); err != nil || i.State != provider.Pending || i.Fault != nil {
		t.Fatalf("%+v, %v", i, err)
	}
	w.clock.Advance(minute)
	s = w.open(t, w.class("c1"))
	found, err := s.Find(t.Context(), ref)
	if err != nil || len(found) != 1 || found[0].Fault == nil || found[0].Fault.Kind != provider.Exhausted || found[0].Fault.Scope != provider.ScopeType || found[0].State != provider.Stopped {
		t.Fatalf("%+v, %v", found, err)
	}
	if done, err := s.Delete(t.Context(), ref, found); done || err != nil {
		t.Errorf("deleted %t, %v", done, err)
	}
	w.clock.Advance(minute)
	if done, err := s.Delete(t.Context(), ref, found); !done || err != nil || len(w.Instances()) > 0 {
		t.Errorf("deleted %t, %v: %q", done, err, w.states())
	}
}

// TestQuotas: a quota of vCPUs concerns every choice of the account, one of GPUs only choices with GPUs.
func TestQuotas(t *testing.T) {
	for quota, want := range map[ibmcloud.Quotas]provider.Scope{{VCPUs: 3}: provider.ScopeAccount, {GPUs: 1}: provider.ScopeType} {
		w := newWorld(t, func(o *ibmcloud.Options) {
			o.Inventory.Quotas = quota
			o.Inventory.Profiles[0].GPUs = 2
		})
		_, err := w.open(t, w.class("c1")).Create(t.Context(), refOf("worker-1"), provider.Want{})
		if provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != want || len(w.Instances()) > 0 {
			t.Errorf("%+v: %v, scope %s", quota, err, provider.ScopeOf(err))
		}
	}
}

// TestMissingResources: each resource of the spec that does not exist is an error of its field, before the first request for an
// instance.
func TestMissingResources(t *testing.T) {
	for field, patch := range map[string]string{
		"image": `{"image":"other"}`, "profile": `{"profile":"other"}`, "vpc": `{"vpc":"other"}`, "resourceGroup": `{"resourceGroup":"other"}`,
		"networkResourceGroup": `{"networkResourceGroup":"other"}`, "primaryNetworkInterface.subnet": `{"primaryNetworkInterface":{"subnet":"other"}}`,
		"primaryNetworkInterface.securityGroups": `{"primaryNetworkInterface":{"securityGroups":["c1-sg-cluster-wide","other"]}}`, "dedicatedHost": `{"dedicatedHost":"other"}`,
	} {
		w := newWorld(t)
		_, err := w.open(t, patched(t, w.class("c1"), patch)).Create(t.Context(), refOf("worker-1"), want)
		if provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), field+": ") || w.server.Counts()["create_instance"] > 0 {
			t.Errorf("%s: %v", field, err)
		}
	}
	// VPC itself refuses the rest.
	for field, patch := range map[string]string{
		"bootVolume.profile": `{"bootVolume":{"profile":"other"}}`, "bootVolume.sizeGiB": `{"bootVolume":{"sizeGiB":300}}`, "bootVolume.iops": `{"bootVolume":{"iops":3000}}`,
		"zone": `{"zone":"us-south-2"}`,
	} {
		w := newWorld(t)
		_, err := w.open(t, patched(t, w.class("c1"), patch)).Create(t.Context(), refOf("worker-1"), want)
		if provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), field+": ") || len(w.Instances()) > 0 {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestResourceCreatedLater: a resource that did not exist is searched again, and one that was replaced too.
func TestResourceCreatedLater(t *testing.T) {
	w := newWorld(t)
	class := with(w.class("c1"), `"vpc":"c1-vpc"`, `"vpc":"late-vpc"`)
	s := w.open(t, class)
	if _, err := s.Create(t.Context(), refOf("worker-1"), want); provider.KindOf(err) != provider.Invalid {
		t.Fatal(err)
	}
	w.AddNetwork("late-vpc")
	if _, err := s.Create(t.Context(), refOf("worker-1"), want); err != nil {
		t.Errorf("after the VPC was created: %v", err)
	}
}

// TestDeletionOfANewInstance: VPC deletes no instance that starts. The deletion is not done, and a later call deletes the instance.
func TestDeletionOfANewInstance(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	s := w.open(t, w.class("c1"))
	i, err := s.Create(t.Context(), ref, want)
	if err != nil {
		t.Fatal(err)
	}
	for n, step := range []struct {
		wait time.Duration
		done bool
	}{{0, false}, {4 * time.Second, false}, {2 * time.Second, false}, {10 * time.Second, true}} {
		w.clock.Advance(step.wait)
		if done, err := s.Delete(t.Context(), ref, []provider.Instance{i}); done != step.done || err != nil {
			t.Errorf("call %d: done %t, %v, instances %q", n, done, err, w.states())
		}
	}
	if n := w.server.Counts()["delete_instance"]; n != 2 {
		t.Errorf("%d requests to delete", n)
	}
}
