package cloud_test

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/openstack/spec"
)

// toDelete opens a class as the engine does for a machine on its way out: without its spec, if that is refused.
func (b *bench) toDelete(class provider.Class) provider.Session {
	b.t.Helper()
	p := b.start()
	s, err := p.Open(b.t.Context(), class)
	if provider.KindOf(err) == provider.Invalid {
		if l, ok := p.(provider.Locator); ok {
			class.Region = l.Region(class.API, class.Spec)
		}
		class.Spec = nil
		s, err = p.Open(b.t.Context(), class)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// TestEveryRecordedMachineIsDeleted: whatever a spec says, the server of its machine is found and deleted: one that is created of it, and where
// none is, one that this provider or the original has created of what the spec said before.
func TestEveryRecordedMachineIsDeleted(t *testing.T) {
	refused := 0
	for _, api := range bothAPIs {
		for _, r := range recorded(t, api) {
			r.Secret = nil // with credentials that lead nowhere nothing is deleted
			made := false
			t.Run(api+"/"+r.ID, func(t *testing.T) { made = r.deleted(t) })
			if made {
				continue
			}
			refused++
			for name, uid := range map[string]string{"ours": r.ref().UID, "the original's": ""} {
				t.Run(api+"/"+r.ID+"/"+name, func(t *testing.T) { r.deletedPlanted(t, uid) })
			}
		}
	}
	if refused == 0 {
		t.Error("no spec is refused")
	}
}

// deleted creates a server of the spec, if that can be, and deletes it.
func (r record) deleted(t *testing.T) (made bool) {
	b := newBench(t, recordedInventory(t))
	class, want := r.want(b)
	s, err := b.start().Open(t.Context(), class)
	if err != nil {
		return false
	}
	for range 6 { // volumes take their time
		if _, err = s.Create(t.Context(), r.ref(), want); provider.KindOf(err) != provider.Conflict {
			break
		}
		b.clock.Advance(time.Minute)
	}
	if err != nil {
		return false
	}
	b.clock.Advance(time.Minute)
	b.gone(s, r.ref())
	return true
}

// deletedPlanted deletes a server that is there, by a spec of which none can be created.
func (r record) deletedPlanted(t *testing.T, uid string) {
	b := newBench(t, recordedInventory(t))
	class, _ := r.want(b)
	region := spec.RegionOf(r.Spec)
	if class.API == provider.Gardener && region == "" {
		class.Region = "RegionOne" // nodeTemplate says it
	}
	if err := b.plant(class, provider.Instance{Name: r.ref().Name, UID: uid, Namespace: r.ref().Namespace}); err != nil {
		t.Fatal(err)
	}
	ref := r.ref()
	if uid == "" {
		ref.ProviderID = "openstack:///RegionOne/" + b.cloud.Instances()[0].ID
	}
	s := b.toDelete(class)
	if region != "" && region != "RegionOne" { // which the cloud does not have
		if done, err := s.Delete(t.Context(), ref, nil); done || err == nil {
			t.Errorf("nothing was looked at, and the server is taken for deleted: %v", err)
		}
		return
	}
	b.gone(s, ref)
}

// gone deletes the only server of a machine.
func (b *bench) gone(s provider.Session, ref provider.Ref) {
	b.t.Helper()
	all, err := s.Find(b.t.Context(), ref)
	if err != nil || len(all) != 1 {
		b.t.Fatalf("find %s: %d servers, error %v", ref.Name, len(all), err)
	}
	for range 20 {
		done, err := s.Delete(b.t.Context(), ref, all)
		if err != nil {
			b.t.Fatal(err)
		}
		if done {
			if left := len(b.cloud.Instances()) + len(b.cloud.Dependants()); left > 0 {
				b.t.Errorf("%d servers, ports and volumes are left", left)
			}
			return
		}
		b.clock.Advance(5 * time.Second)
	}
	b.t.Error("the deletion does not end")
}
