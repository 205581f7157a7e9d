package sim

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestWhatIsHopeless: a permanent fault excuses the objects that it affects, and no others.
func TestWhatIsHopeless(t *testing.T) {
	for name, c := range map[string]struct {
		reason, machine, set string
		permanent            permanentFault
		want                 bool
	}{
		"of an affected set":            {"its own name says so", "set1-abc", "set1", denied, true},
		"adopted by one, for updates":   {"the set cannot release another machine, and so does not know how many it has", "single4", "set1", forbidden, true},
		"adopted by one, for instances": {"the set can delete it", "single4", "set1", undeletable, false},
		"of another set":                {"nothing is wrong with either", "set2-abc", "set2", forbidden, false},
		"nobody's":                      {"nothing is wrong with it", "single4", "", forbidden, false},
		"in a healthy world":            {"nothing is wrong with anything", "set1-abc", "set1", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := &World{}
			w.profile.permanent = c.permanent
			m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: c.machine}}
			if c.set != "" {
				m.OwnerReferences = []metav1.OwnerReference{{Kind: "MachineSet", Name: c.set, Controller: ptr.To(true)}}
			}
			if got := w.hopeless(m); got != c.want {
				t.Errorf("hopeless: %v, want %v: %s", got, c.want, c.reason)
			}
		})
	}
}
