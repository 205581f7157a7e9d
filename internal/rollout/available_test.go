package rollout

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/replicas"
)

// TestAvailableAsSetsCount: a deployment and its sets agree at every moment on
// whether a machine is available. Where they differed by the moment itself, a set
// gave up as useless what its deployment counted on.
func TestAvailableAsSetsCount(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, minReady := range []time.Duration{0, 10 * time.Second} {
		for _, after := range []time.Duration{-1, 0, 1, time.Second} {
			at := since.Add(minReady + after)
			m := Machine{Usable: true, ReadySince: since}
			of := replicas.Count(at, []replicas.Member{{Usable: true, Ready: true, ReadySince: since}}, replicas.Policy{MinReady: minReady})
			if got := m.Available(at, Policy{MinReady: minReady}); got != (of.Available == 1) {
				t.Errorf("%v after %v: available %v to the deployment, %d to the set", after, minReady, got, of.Available)
			}
		}
	}
}
