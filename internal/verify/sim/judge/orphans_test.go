package judge

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestLostInstanceMayStay: an instance without a machine may stay only while the recorded instances of machines that stay are
// missing.
func TestLostInstanceMayStay(t *testing.T) {
	recorded := func(m *v1alpha1.Machine) { m.Spec.ProviderID = "sim:///recorded" }
	leaving := func(m *v1alpha1.Machine) { m.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	for name, c := range map[string]struct {
		reason string
		edits  []func(*v1alpha1.Machine)
		want   bool
	}{
		"machine without its instance": {"a listing that shows none of those that are recorded is not believed", []func(*v1alpha1.Machine){recorded}, true},
		"machine that leaves":          {"nobody expects the listing to show its instance, also while others hold the object", []func(*v1alpha1.Machine){recorded, leaving}, false},
		"machine that is being made":   {"it has recorded nothing that could be missing", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.judge.Collects, s.judge.Owner = true, "us"
			s.write(nil, gardenerMachine("kept", c.edits...))
			s.instances = []Instance{{ID: "lost", UID: "lost", Name: "lost", Owner: "us", ProviderID: "sim:///lost"}}
			if got := s.judge.MayStay("lost"); got != c.want {
				t.Errorf("may stay: %v, want %v: %s", got, c.want, c.reason)
			}
			if got := s.judge.Stray() == ""; got != c.want {
				t.Errorf("nothing is astray: %v, want %v: %s", got, c.want, c.reason)
			}
		})
	}
}
