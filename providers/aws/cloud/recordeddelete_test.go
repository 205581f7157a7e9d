package cloud_test

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/aws/spec"
)

// toDelete opens a class as the engine does for a machine on its way out: without its spec, if that is refused.
func (w *world) toDelete(t *testing.T, class provider.Class) provider.Session {
	t.Helper()
	p := w.start()
	s, err := p.Open(t.Context(), class)
	if provider.KindOf(err) == provider.Invalid {
		class.Region, class.Spec = cmp.Or(class.Region, p.Region(class.API, class.Spec)), nil
		s, err = p.Open(t.Context(), class)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Whatever a spec says from which a region can be read, the instance of its machine is found and deleted: one that was made by this
// provider, and where the spec is refused also one that was made by the original, of which the provider ID is recorded. Where the spec
// says a region, nothing else does.
func TestEveryRecordedMachineIsDeleted(t *testing.T) {
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		refused := 0
		for _, r := range recorded(t, api) {
			if r.Refused {
				refused++
			}
			for _, ours := range []bool{true, false} {
				if !ours && !r.Refused {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/ours %v", api, r.ID, ours), func(t *testing.T) { r.deleted(t, ours, !ours) })
			}
		}
		if refused == 0 {
			t.Errorf("no spec of %s is refused", api)
		}
	}
}

func (r record) deleted(t *testing.T, ours, known bool) {
	w, class := r.world(t)
	if spec.RegionOf(r.api, r.Spec) != "" {
		delete(w.objects, "Infrastructure/cluster")
	} else if r.api == provider.Gardener {
		class.Region = "us-east-1" // nodeTemplate says it
	}
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
