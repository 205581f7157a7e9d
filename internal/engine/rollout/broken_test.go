package rollout

import (
	"fmt"
	"testing"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// TestBoundIsNotLoweredByWhatTheRolloutBreaks: machines of the new template that fail, kept for inspection or
// not, and machines that an update in place broke, do not allow the rollout to delete a working machine.
// Steps are repeated until nothing changes any more.
func TestBoundIsNotLoweredByWhatTheRolloutBreaks(t *testing.T) {
	updateFailed := func(m *Machine) {
		keptOne(m)
		m.Update = inplace.Update{Node: inplace.Node{Request: inplace.RequestOf(true, true), Answer: inplace.AnswerFailed}, Phase: inplace.PhaseFailed}
	}
	for _, strategy := range []Strategy{Rolling, InPlace} {
		for _, surge := range []string{"1", "3"} {
			for name, breaks := range map[string]func(*Machine){"failed": broken, "failed and kept": keptOne} {
				t.Run(fmt.Sprintf("%s, surge %s, new ones %s", strategy, surge, name), func(t *testing.T) {
					d := rolls(3, surge, "0").by(func(d *Deployment) { d.Strategy = strategy })
					left, fresh := 3, 0
					for range 10 {
						p := Decide(now, d, []Set{old("a", left), current("b", fresh, first(fresh, breaks))}, counting)
						for _, w := range p.Sets() {
							switch w.Name {
							case "a":
								left = w.Replicas
							case "b":
								fresh = w.Replicas
							}
						}
						if left < 3 {
							t.Fatalf("%d of 3 machines that work are left, and %d new ones do not: %+v", left, fresh, p.Sets())
						}
						if p.Status.Enough != (left >= 3) || p.Status.Floor != 3 {
							t.Fatalf("%d are called enough of %d", left, p.Status.Floor)
						}
					}
				})
			}
		}
	}
	t.Run("InPlace, an update failed, and its machine is kept", func(t *testing.T) {
		d := rolls(3, "0", "1").by(func(d *Deployment) { d.Strategy = InPlace })
		p := Decide(now, d, []Set{old("a", 3, first(1, updateFailed)), current("b", 0)}, counting)
		if p.Status.Floor != 2 {
			t.Errorf("the bound is %d: it was lowered by what the update broke", p.Status.Floor)
		}
	})
	for kept := 1; kept <= 3; kept++ {
		t.Run(fmt.Sprintf("an earlier rollout broke %d, which are kept", kept), func(t *testing.T) {
			broke, left, fresh := kept, 3, 0
			for range 10 {
				earlier := old("b", kept, first(kept, keptOne))
				earlier.Replicas = broke // they stay, for any wanted size of their set
				p := Decide(now, rolls(3, "1", "0"), []Set{old("a", left), earlier, current("c", fresh, first(fresh, pending))}, counting)
				for _, w := range p.Sets() {
					*map[string]*int{"a": &left, "b": &broke, "c": &fresh}[w.Name] = w.Replicas
				}
				if left < 3 {
					t.Fatalf("%d of 3 machines that work are left, and %d new ones do not: %+v", left, fresh, p.Sets())
				}
			}
		})
	}
}
