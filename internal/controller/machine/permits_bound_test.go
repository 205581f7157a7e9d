package machine

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestPermitsAreForgotten: deleted groups are not remembered for ever, and a machine that has a permit
// keeps it.
func TestPermitsAreForgotten(t *testing.T) {
	p, now := newPermits(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for n := range 1000 {
		if !p.take(fmt.Sprint(n), "m", now) || p.take(fmt.Sprint(n), "other", now.Add(permitTime-1)) {
			t.Fatalf("group %d: one machine at a time", n)
		}
		now = now.Add(time.Second)
	}
	for n := range 2 * mostBlockers {
		p.note(fmt.Sprint(n), types.NamespacedName{Name: "m"})
	}
	if n := len(p.blockers); n > mostBlockers+1 {
		t.Errorf("%d blockers are remembered", n)
	}
	if n := len(p.granted); n > 2*int(permitTime/time.Second) {
		t.Errorf("%d permits are remembered", n)
	}
}
