package judge

import (
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
)

// TestRateAfterRestore: a check that may begin one remedy within an hour begins the remedy of a, and later that of b. It cannot
// know of a remedy whose record a restore removed.
func TestRateAfterRestore(t *testing.T) {
	const bare, noted, asked, lost = "before the note", "after the note", "after the request", "after it has forgotten"
	for _, tc := range []struct {
		reason string
		// at is the state at which the server is restored, to the earlier state to which it
		// is restored; both are empty without a restore.
		to, at string
		// again: a later pass requests the remedy of a again, before that of b.
		again, broken bool
	}{
		{reason: "nothing was put back", broken: true},
		{reason: "the note is undone", to: bare, at: asked},
		{reason: "the note is undone, and the request comes after", to: bare, at: noted},
		{reason: "the note is undone, and the remedy begun anew", to: bare, at: asked, again: true, broken: true},
		{reason: "the note is there, the request is undone", to: noted, at: asked, broken: true},
		{reason: "both are there", to: asked, at: asked, broken: true},
		{reason: "the note had been lost before", to: bare, at: lost, broken: true},
	} {
		s := newScene()
		remember := func(machines string) *lenient.MachineHealthCheck {
			return &lenient.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c", Annotations: map[string]string{
				machineAPI: "machine.sapcloud.io", breaker: "enforce", hourlyRate: "1", remediations: `{"begun":[` + machines + `]}`,
			}}}
		}
		saved := map[string]map[types.UID]client.Object{}
		reaches := func(moment string) {
			saved[moment] = maps.Clone(s.objects)
			if moment != tc.at {
				return
			}
			changes := s.judge.Changes()
			for _, o := range saved[tc.to] {
				s.write(nil, o.DeepCopyObject().(client.Object))
			}
			s.judge.Restored(changes)
		}
		asks := func(p *Pass, name string) {
			going := s.objects[types.UID(name)].DeepCopyObject().(*v1alpha1.Machine)
			s.judge.Asks(p, "delete", going)
			going.DeletionTimestamp = &metav1.Time{Time: s.now}
			s.write(p, going)
		}
		begin := func() *Pass {
			p := s.begin(Health, 1)
			p.Key = client.ObjectKey{Name: "c"}
			return p
		}
		s.write(nil, remember(""))
		s.write(nil, gardenerMachine("a", failed))
		s.write(nil, gardenerMachine("b", failed))
		reaches(bare)
		p := begin()
		s.write(p, remember(`{"uid":"a"}`))
		reaches(noted)
		asks(p, "a")
		reaches(asked)
		s.write(p, remember(""))
		reaches(lost)
		if tc.again {
			asks(begin(), "a")
		}
		asks(begin(), "b")
		if broken := slices.Contains(s.broken, RateKept); broken != tc.broken {
			t.Errorf("%s: broken %q", tc.reason, s.broken)
		}
	}
}

func failed(m *v1alpha1.Machine) {
	m.Status.CurrentStatus.Phase = v1alpha1.MachineFailed
	m.OwnerReferences = []metav1.OwnerReference{{UID: "set", Controller: ptr.To(true)}}
}
