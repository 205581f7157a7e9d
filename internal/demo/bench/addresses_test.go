package bench

import (
	"testing"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// TestSessionsThatCountPassesCanReadThem: passes over health checks are read from the metrics of their controller.
func TestSessionsThatCountPassesCanReadThem(t *testing.T) {
	for name, s := range map[string]*session{"heartbeats": {Options: Options{Heartbeats: true}}, "dead nodes": {Options: Options{Dead: 3}}} {
		if err := s.findAddresses(); err != nil || s.metrics[fleet.Sets] == "" {
			t.Errorf("%s: %s has no address for its metrics (%v)", name, fleet.Sets, err)
		}
	}
}
