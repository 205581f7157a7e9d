package cloud

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// TestEveryRecordedMachineIsDeleted: for any spec, the instance of its machine is found and deleted: one that
// was created from it or, if that fails, one that this provider or the original has created from an earlier
// spec.
func TestEveryRecordedMachineIsDeleted(all *testing.T) {
	var on *stage
	cases := 0
	recordtest.Deletions{Folder: recordings, APIs: bothAPIs, Delete: func(t *testing.T, r recordtest.Record, planted bool, now json.RawMessage) {
		if cases%100 == 0 { // tokens are signed with the real time, which must not differ too much from the stage's
			on = newStage(all)
		}
		cases++
		recordOf(t, r).deleted(t, on, planted, now)
	}}.Run(all)
}

// deleted creates an instance of the spec, or plants one, and deletes it with the current spec.
func (r record) deleted(t *testing.T, on *stage, planted bool, now json.RawMessage) {
	r.Secret = nil // with invalid credentials nothing is deleted
	b, ref := on.bench, r.ref()
	class := b.class(r.API, "c1")
	class.Spec = now
	if planted || !r.made(t, on) {
		i := provider.Instance{Name: ref.Name, Namespace: ref.Namespace, UID: ref.UID}
		if planted {
			i.UID, ref.ProviderID = "", "gce:///rehearsal/us-east1-b/"+ref.Name
		}
		if err := b.plant(b.class(r.API, "c1"), i); err != nil {
			t.Fatal(err)
		}
	} else if strings.Contains(string(r.Spec), `"deletionProtection":true`) { // it stays until a user disables the protection
		return
	}
	delete(class.Credentials, "userData")
	b.gone(t, recordtest.ToDelete(t, b.start(), class), ref)
}

// made creates an instance of the spec, and reports whether it exists: Compute Engine may refuse it after
// accepting it.
func (r record) made(t *testing.T, on *stage) bool {
	if _, err := r.play(t, on); err != nil {
		return false
	}
	on.bench.clock.Advance(10 * time.Second)
	class := on.bench.class(r.API, "c1")
	class.Spec = r.Spec
	s := recordtest.ToDelete(t, on.bench.start(), class)
	all, err := s.Find(t.Context(), r.ref())
	return err != nil || len(all) == 1 && all[0].Fault == nil
}

// gone deletes the only instance of a machine.
func (b *bench) gone(t *testing.T, s provider.Session, ref provider.Ref) {
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
