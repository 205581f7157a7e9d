package orphan_test

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/sight"
)

// TestFrozenCollector: who cannot see the machines looks for no orphans.
func TestFrozenCollector(t *testing.T) {
	w := newWorld(t)
	id := w.plant("uid-lost", "lost")
	w.pass()
	w.c.Sight = silent{sight.Begin(w.clock.Now(), sight.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}, sight.Target)}
	w.survives(id, "a cluster is silent")
	if wait := w.c.Pass(t.Context()); wait != 6*time.Second {
		t.Errorf("asked again after %v, want the next look", wait)
	}
	w.c.Sight = nil
	w.goes(id, "it answers")
}

type silent struct{ state sight.State }

func (s silent) State() sight.State { return s.state }
