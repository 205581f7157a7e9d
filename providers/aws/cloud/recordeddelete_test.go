package cloud_test

import (
	"encoding/json"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
	"github.com/millwright-dev/millwright/providers/aws/spec"
)

// TestEveryRecordedMachineIsDeleted: whatever a spec says, if it names a region, the instance of its
// machine is found and deleted: one that this provider created, and one that the original created, whose
// provider ID is recorded. If the spec names a region, no other source does.
func TestEveryRecordedMachineIsDeleted(t *testing.T) {
	recordtest.Deletions{
		Folder: recordings, APIs: []string{provider.OpenShift, provider.Gardener},
		Delete: func(t *testing.T, r recordtest.Record, planted bool, now json.RawMessage) {
			recordOf(t, r).deleted(t, planted, now)
		},
	}.Run(t)
}

func (r record) deleted(t *testing.T, planted bool, now json.RawMessage) {
	w, class := r.world(t)
	if spec.RegionOf(r.API, now) != "" {
		delete(w.objects, "Infrastructure/cluster")
	} else if r.API == provider.Gardener {
		class.Region = "us-east-1" // from nodeTemplate
	}
	made := provider.Instance{Name: r.ref().Name}
	if !planted {
		made.UID, made.Namespace = r.ref().UID, r.ref().Namespace
	}
	if err := w.plant(class, made); err != nil {
		t.Fatal(err)
	}
	ref := r.ref()
	if planted {
		ref.ProviderID = "aws:///us-east-1/" + w.Instances()[0].ID
	}
	class.Spec = now
	delete(class.Credentials, "userData")
	s := recordtest.ToDelete(t, w.start(), class)
	w.deleted(t, s, ref, w.found(t, s, ref))
	for _, i := range w.Instances() {
		if i.State != "terminated" && i.State != "shutting-down" {
			t.Errorf("%s is %s", i.ID, i.State)
		}
	}
}
