package machineset_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
)

// comparing counts how often machines are compared with the template.
type comparing struct {
	dialect.Sets[*v1alpha1.MachineSet]
	n int
}

func (c *comparing) Propagate(s *v1alpha1.MachineSet, m client.Object, dry bool) bool {
	if dry {
		c.n++
	}
	return c.Sets.Propagate(s, m, dry)
}

// TestMachinesAreComparedOnce: a machine is compared with the template again where one of
// the two changed, and a change of the template reaches all.
func TestMachinesAreComparedOnce(t *testing.T) {
	lens := &comparing{Sets: gardener.Sets{}}
	a := gardenerAPI
	a.lens = lens
	w := newWorld(a)
	w.declare(t, 3)
	r := w.controller()
	w.rest(t, r)
	pass := func() int {
		t.Helper()
		lens.n = 0
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.sync(t, true, true)
		if _, err := w.reconcile(t, r); err != nil {
			t.Fatal(err)
		}
		return lens.n
	}
	pass() // after the last status of the set
	if n := pass(); n != 0 {
		t.Errorf("%d machines are compared again though nothing changed", n)
	}
	m := w.machinesOf(t, w.Client)[0].(*v1alpha1.Machine)
	m.Spec.MachineConfiguration = &v1alpha1.MachineConfiguration{MaxEvictRetries: ptr.To[int32](7)}
	if err := w.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if n := pass(); n != 1 {
		t.Errorf("%d machines are compared, of which one changed", n)
	}
	if m := w.machinesOf(t, w.Client)[0].(*v1alpha1.Machine); m.Spec.MachineConfiguration != nil {
		t.Error("what somebody changed of a machine stays")
	}
	s := &v1alpha1.MachineSet{}
	if err := w.Client.Get(t.Context(), w.key(), s); err != nil {
		t.Fatal(err)
	}
	s.Spec.Template.Spec.MachineConfiguration = &v1alpha1.MachineConfiguration{MachineDrainTimeout: &metav1.Duration{Duration: time.Hour}}
	if err := w.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if n := pass(); n != 3 {
		t.Errorf("%d machines are compared with a template that changed, want 3", n)
	}
	for _, o := range w.machinesOf(t, w.Client) {
		if c := o.(*v1alpha1.Machine).Spec.MachineConfiguration; c == nil || c.MachineDrainTimeout == nil {
			t.Errorf("the template does not reach %s", o.GetName())
		}
	}
}
