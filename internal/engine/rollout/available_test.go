package rollout

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// TestAvailableAsSetsCount: a deployment and its sets agree at every moment on whether a machine is
// available. When they differed at the exact moment, a set deleted a machine as useless that its deployment
// counted on.
func TestAvailableAsSetsCount(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, minReady := range []time.Duration{0, 10 * time.Second} {
		for _, after := range []time.Duration{-1, 0, 1, time.Second} {
			for _, m := range []replicas.Member{{Usable: true, Ready: true, ReadySince: since}, {Usable: true, Ready: true}} {
				at := since.Add(minReady + after)
				of := replicas.Count(at, []replicas.Member{m}, replicas.Policy{MinReady: minReady})
				got := newSetState(at, Set{Machines: []Machine{{Member: m}}}, Policy{MinReady: minReady}).available
				if got != int(of.Available) {
					t.Errorf("%v after %v, ready since %v: %d available to the deployment, %d to the set", after, minReady, m.ReadySince, got, of.Available)
				}
			}
		}
	}
}
