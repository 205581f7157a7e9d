package cloud

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// toDelete opens a class as the engine does for a machine on its way out: without its spec, if that is refused.
func (b *bench) toDelete(class provider.Class) *session {
	b.t.Helper()
	s, err := b.start().Open(b.t.Context(), class)
	if provider.KindOf(err) == provider.Invalid {
		class.Spec = nil
		s, err = b.start().Open(b.t.Context(), class)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return s.(*session)
}

// TestEveryRecordedMachineIsDeleted: whatever a spec says, the instance of its machine is found and deleted: one that is created of it, and where
// none is, one that this provider or the original has created of what the spec said before.
func TestEveryRecordedMachineIsDeleted(t *testing.T) {
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		var on *stage
		refused := 0
		for n, r := range recorded(t, api) {
			if n%100 == 0 { // tokens are signed by the time of day, from which the stage's gets away
				on = newStage(t)
			}
			r.Secret = nil // with credentials that lead nowhere nothing is deleted
			made := false
			t.Run(api+"/"+r.ID, func(t *testing.T) { made = r.deleted(t, on) })
			if made {
				continue
			}
			refused++
			for name, uid := range map[string]string{"ours": r.ref().UID, "the original's": ""} {
				t.Run(api+"/"+r.ID+"/"+name, func(t *testing.T) { r.deletedPlanted(t, on.bench, uid) })
			}
		}
		if refused == 0 {
			t.Errorf("no spec of %s is refused", api)
		}
	}
}

// deleted creates an instance of the spec, if that can be, and deletes it.
func (r record) deleted(t *testing.T, on *stage) (made bool) {
	b := on.bench
	if _, err := r.play(t, on); err != nil {
		return false
	}
	b.clock.Advance(10 * time.Second)
	class := b.class(r.api, "c1")
	class.Spec = r.Spec
	s := b.toDelete(class)
	if all, err := s.Find(t.Context(), r.ref()); err == nil && (len(all) == 0 || all[0].Fault != nil) {
		return false // Compute Engine has refused it
	}
	if !strings.Contains(string(r.Spec), `"deletionProtection":true`) { // such a one stays until a person lifts the protection
		b.gone(t, s, r.ref())
	}
	return true
}

// deletedPlanted deletes an instance that is there, by a spec of which none can be created.
func (r record) deletedPlanted(t *testing.T, b *bench, uid string) {
	class := b.class(r.api, "c1")
	if err := b.plant(class, provider.Instance{Name: r.ref().Name, UID: uid, Namespace: r.ref().Namespace}); err != nil {
		t.Fatal(err)
	}
	ref := r.ref()
	if uid == "" {
		ref.ProviderID = "gce:///rehearsal/us-east1-b/" + ref.Name
	}
	class.Spec = r.Spec
	b.gone(t, b.toDelete(class), ref)
}

// gone deletes the only instance of a machine.
func (b *bench) gone(t *testing.T, s *session, ref provider.Ref) {
	t.Helper()
	all, err := s.Find(t.Context(), ref)
	if err != nil || len(all) != 1 {
		t.Fatalf("find %s: %d instances, error %v", ref.Name, len(all), err)
	}
	for range 20 {
		done, err := s.Delete(t.Context(), ref, all)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			return
		}
		b.clock.Advance(2 * time.Second)
	}
	t.Error("the deletion does not end")
}
