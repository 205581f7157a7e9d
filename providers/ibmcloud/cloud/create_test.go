package cloud_test

import (
	"strings"
	"sync"
	"testing"
	"time"

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

// TestLagOfListings: while listings do not show a new instance, another process gets a Conflict, and creates none, also if the
// instance has another name than the machine.
func TestLagOfListings(t *testing.T) {
	for _, inUse := range []bool{false, true} {
		w, ref := newWorld(t), refOf("worker-1")
		if inUse {
			if err := w.plant(w.class("c2"), provider.Instance{Name: "worker-1"}); err != nil {
				t.Fatal(err)
			}
		}
		before := len(w.Instances())
		w.clock.Advance(minute)
		if _, err := w.open(t, w.class("c1")).Create(t.Context(), ref, want); err != nil {
			t.Fatal(err)
		}
		if inUse { // it has gone, and its name is free
			w.Vanish(w.idNamed("worker-1"))
			before--
		}
		w.SetLag(10 * time.Second)
		other := w.open(t, w.class("c1"))
		if _, err := other.Create(t.Context(), ref, want); provider.KindOf(err) != provider.Conflict || len(w.Instances()) != before+1 {
			t.Errorf("name in use %t: %v, instances %q", inUse, err, w.states())
		}
		w.clock.Advance(20 * time.Second)
		if i, err := other.Create(t.Context(), ref, want); err != nil || i.UID != ref.UID || len(w.Instances()) != before+1 {
			t.Errorf("name in use %t: later %+v, %v", inUse, i, err)
		}
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
