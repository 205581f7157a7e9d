package cloud_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
	"github.com/millwright-dev/millwright/providers/openstack/spec"
)

// TestEveryRecordedMachineIsDeleted: whatever a spec says, the server of its machine is found and deleted:
// a server created from it or, if the spec creates none, one that this provider or the original created
// from an earlier spec.
func TestEveryRecordedMachineIsDeleted(t *testing.T) {
	recordtest.Deletions{
		Folder: recordings, APIs: bothAPIs,
		Delete: func(t *testing.T, r recordtest.Record, planted bool, now json.RawMessage) {
			recordOf(t, r).deleted(t, planted, now)
		},
	}.Run(t)
}

// deleted creates a server of the spec, or plants one, and deletes it with the current spec.
func (r record) deleted(t *testing.T, planted bool, now json.RawMessage) {
	r.Secret = nil // nothing can be deleted with unusable credentials
	b := newBench(t, recordedInventory(t))
	class, want := r.want(b)
	ref := r.ref()
	made := (!planted || r.Refused) && b.made(t, class, ref, want)
	planted = planted && !made // the original has not created what it refuses
	if !made {
		b = newBench(t, recordedInventory(t))
		class, _ = r.want(b)
		i := provider.Instance{Name: ref.Name, UID: ref.UID, Namespace: ref.Namespace}
		if planted {
			i.UID = ""
		}
		if err := b.plant(class, i); err != nil {
			t.Fatal(err)
		}
		if planted {
			ref.ProviderID = "openstack:///RegionOne/" + b.cloud.Instances()[0].ID
		}
	}
	region := spec.RegionOf(now)
	if class.API == provider.Gardener && region == "" {
		class.Region = "RegionOne" // from nodeTemplate
	}
	class.Spec = now
	delete(class.Credentials, "userData")
	s := recordtest.ToDelete(t, b.start(), class)
	if region != "" && region != "RegionOne" { // which the cloud does not have
		if done, err := s.Delete(t.Context(), ref, nil); done || err == nil {
			t.Errorf("nothing was looked at, and the server is taken for deleted: %v", err)
		}
		return
	}
	b.gone(s, ref)
}

// made creates a server, and reports whether that was accepted.
func (b *bench) made(t *testing.T, class provider.Class, ref provider.Ref, want provider.Want) bool {
	s, err := b.start().Open(t.Context(), class)
	if err != nil {
		return false
	}
	for range 6 { // volumes take time
		if _, err = s.Create(t.Context(), ref, want); provider.KindOf(err) != provider.Conflict {
			break
		}
		b.clock.Advance(time.Minute)
	}
	b.clock.Advance(time.Minute)
	return err == nil
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
