package orphan_test

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

// TestFrozenCollector: who cannot see the machines looks for no orphans.
func TestFrozenCollector(t *testing.T) {
	w := newWorld(t)
	id := w.plant("uid-lost", "lost")
	w.pass()
	w.c.Connectivity = silent{connectivity.Begin(w.clock.Now(), connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}, connectivity.Target)}
	w.survives(id, "a cluster is silent")
	if wait := w.c.Pass(t.Context()); wait != 6*time.Second {
		t.Errorf("asked again after %v, want the next look", wait)
	}
	w.c.Connectivity = nil
	w.goes(id, "it answers")
}

type silent struct{ state connectivity.State }

func (s silent) State() connectivity.State { return s.state }
