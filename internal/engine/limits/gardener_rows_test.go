package limits_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/millwright-dev/millwright/internal/engine/limits"
)

// TestRowsOfGardenerOvershoot: section 5.1 of the Gardener notes: its table, and
// the formulas before it.
func TestRowsOfGardenerOvershoot(t *testing.T) {
	percent, number := intstr.FromString("25%"), intstr.FromInt32(3)
	alone := func(machines int, frozen bool) limits.Crowd { // of 5: 2x5+2 = 12, and 11
		return limits.Crowd{Replicas: 5, Machines: machines, Frozen: frozen}
	}
	under := func(machines int, surge *intstr.IntOrString) limits.Crowd {
		return limits.Crowd{Replicas: 4, Parent: &limits.Parent{Replicas: 10, Surge: surge}, Machines: machines}
	}
	asked := alone(20, true)
	asked.Asked = true
	for _, r := range []struct {
		row   string
		crowd limits.Crowd
		want  limits.Act
	}{
		{"not labelled freeze=True | count ≥ high | freeze", alone(12, false), limits.Freeze},
		{"not labelled freeze=True | count < high", alone(11, false), limits.Leave},
		{"label present | count ≤ low | thaw", alone(11, true), limits.Thaw},
		{"label present | count > low", alone(12, true), limits.Leave},
		{"parent MD: high = MD.replicas + surge + safetyUp: a number", under(15, &number), limits.Freeze},
		{"parent MD: high = MD.replicas + surge + safetyUp: one fewer", under(14, &number), limits.Leave},
		{"parent MD: percent up: 10 + 3 + 2", under(15, &percent), limits.Freeze},
		{"parent MD: percent up: one fewer", under(14, &percent), limits.Leave},
		{"parent MD: nil for Recreate ⇒ error aborts the whole loop: different, counts 0 (C14)", under(12, nil), limits.Freeze},
		{"parent MD: nil for Recreate: one fewer", under(11, nil), limits.Leave},
		{"(4) MS with unfreeze annotation", asked, limits.Thaw},
	} {
		t.Run(r.row, func(t *testing.T) {
			if got := limits.Judge(r.crowd, limits.DefaultMargins); got.Act != r.want {
				t.Errorf("%s (%s), want %s", got.Act, got.Message, r.want)
			}
		})
	}
	t.Run("low = high − safetyDown", func(t *testing.T) {
		if high, low := alone(0, false).Bounds(limits.Margins{Up: 4, Down: 3}); high != 14 || low != 11 {
			t.Errorf("freezes at %d, thaws at %d; want 14, 11", high, low)
		}
	})
}
