package cloud_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

// toDelete opens a class as the engine does for a machine on its way out: without its spec, if that is refused.
func (w *world) toDelete(t *testing.T, class provider.Class) provider.Session {
	t.Helper()
	p := w.start()
	s, err := p.Open(t.Context(), class)
	if provider.KindOf(err) == provider.Invalid {
		class.Region, class.Spec = p.Region(class.API, class.Spec), nil
		s, err = p.Open(t.Context(), class)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Whatever a spec says from which a region can be read, the instance of its machine is found and deleted: one that was made by this provider,
// and one that was made by the original; with a provider ID recorded, and without. Nothing but the spec says the region.
func TestEveryRecordedMachineIsDeleted(t *testing.T) {
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		refused := 0
		for _, r := range recorded(t, api) {
			if r.Refused {
				refused++
			}
			if api == provider.OpenShift && r.ID == "nozone-noregion" {
				continue // its region is that of Infrastructure: TestDeletedInTheRegionOfInfrastructure
			}
			for _, ours := range []bool{true, false} {
				for _, known := range []bool{true, false} {
					t.Run(fmt.Sprintf("%s/%s/ours %v/provider ID %v", api, r.ID, ours, known), func(t *testing.T) { r.deleted(t, ours, known) })
				}
			}
		}
		if refused == 0 {
			t.Errorf("no spec of %s is refused", api)
		}
	}
}

func TestDeletedInTheRegionOfInfrastructure(t *testing.T) {
	all := recorded(t, provider.OpenShift)
	r := all[slices.IndexFunc(all, func(r record) bool { return r.ID == "nozone-noregion" })]
	for _, ours := range []bool{true, false} {
		w, class := r.world(t)
		r.deletedIn(t, w, class, ours, false)
	}
}

func (r record) deleted(t *testing.T, ours, known bool) {
	w, class := r.world(t)
	delete(w.objects, "Infrastructure/cluster")
	r.deletedIn(t, w, class, ours, known)
}

func (r record) deletedIn(t *testing.T, w *world, class provider.Class, ours, known bool) {
	t.Helper()
	planted := provider.Instance{Name: r.ref().Name}
	if ours {
		planted.UID, planted.Namespace = r.ref().UID, r.ref().Namespace
	}
	if err := w.plant(class, planted); err != nil {
		t.Fatal(err)
	}
	ref := r.ref()
	if known {
		ref.ProviderID = "aws:///us-east-1/" + w.Instances()[0].ID
	}
	s := w.toDelete(t, class)
	w.deleted(t, s, ref, w.found(t, s, ref))
	for _, i := range w.Instances() {
		if i.State != "terminated" && i.State != "shutting-down" {
			t.Errorf("%s is %s", i.ID, i.State)
		}
	}
}
