package cloud_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/arm"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// TestEveryRecordedMachineIsDeleted: each machine is deleted whatever its spec says, and without user data,
// as long as the credentials exist.
func TestEveryRecordedMachineIsDeleted(all *testing.T) {
	var stage *world // one for all cases: each leaves nothing in it
	recordtest.Deletions{Folder: recordings, APIs: both, Delete: func(t *testing.T, r recordtest.Record, planted bool, now json.RawMessage) {
		if stage == nil || len(stage.cloud.Instances())+len(stage.cloud.Orphans()) > 0 {
			stage = newWorld(all, recordedInventory(all))
			stage.cloud.AcceptAny = true
		}
		stage.t = t
		stage.deletes(r, planted, now)
	}}.Run(all)
}

func (w *world) deletes(r recordtest.Record, planted bool, now json.RawMessage) {
	t := w.t
	p, c, ref := recorded(t, w, r)
	c.Credentials = secrets(r.API, arm.SampleSecret)
	if !planted {
		s, err := p.Open(t.Context(), c)
		if err == nil {
			_, err = s.Create(t.Context(), ref, want)
		}
		if err != nil {
			planted = true // this provider creates no such machine: the table of differences, or Azure, has the reason
		}
		w.clock.Advance(time.Minute)
	}
	if planted {
		w.plant(r, ref.Name)
		ref.ProviderID = "azure:///eastus/" + ref.Name
		if r.API == provider.OpenShift {
			ref.ProviderID = "azure://" + w.cloud.Instances()[0].ID
		}
	}
	delete(c.Credentials, "userData")
	c.Spec = now
	s := recordtest.ToDelete(t, p, c)
	found, err := s.Find(t.Context(), ref)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d instances are found: %v", len(found), err)
	}
	w.remove(s, ref, found...)
	for _, id := range w.cloud.Orphans() {
		if !strings.HasSuffix(id, "_etcd") && !strings.HasSuffix(id, "_logs") || !strings.Contains(string(r.Spec), `"Detach"`) {
			t.Errorf("%s is left behind", id)
		}
	}
	if all := w.cloud.Instances(); len(all) > 0 {
		t.Errorf("%v is left", all)
	}
}

// plant creates a machine as the original does: in the group of its spec, with the tags of the cluster.
func (w *world) plant(r recordtest.Record, name string) {
	var says struct {
		ResourceGroup string
		Tags          map[string]string
	}
	_ = json.Unmarshal(r.Spec, &says)
	seed := arm.Seed{
		Subscription: arm.SampleSubscription, Group: cmp.Or(strings.TrimSpace(says.ResourceGroup), group), Name: name, NIC: name + "-nic", Location: "eastus", Size: "Standard_D4s_v3",
		Disk: name + "_OSDisk", Tags: map[string]string{"kubernetes.io_cluster.c1": "owned"}, Bare: true,
	}
	if r.API == provider.Gardener {
		seed.Disk, seed.Tags, seed.Bare, seed.Cascade = name+"-os-disk", map[string]string{"kubernetes.io-cluster-c1": "1", "kubernetes.io-role-node": "1"}, false, true
		maps.Copy(seed.Tags, says.Tags)
	}
	w.cloud.Plant(seed)
}
