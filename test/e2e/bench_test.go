package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/millwright-dev/millwright/internal/demo/bench"
)

// TestHeartbeatsCauseNoWrites runs a small benchmark of heartbeats. It checks only results that do not depend on the load of
// this computer.
func TestHeartbeatsCauseNoWrites(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "bench")
	const nodes = 20
	stdout, stderr, err := millwright(t, t.TempDir(), "bench", "--heartbeats=20", "--window=5s", "--api=openshift", "--dir="+dir, "-o", "json")
	if err != nil {
		t.Fatalf("bench: %v\n%s", err, stderr)
	}
	var report bench.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || len(report.Heartbeats) != 1 {
		t.Fatalf("standard output has no results of one API: %v\n%s", err, stdout)
	}
	h := report.Heartbeats[0]
	if h.API != "machine.openshift.io" || h.Machines != nodes {
		t.Errorf("measured %d machines of %s, want %d of machine.openshift.io", h.Machines, h.API, nodes)
	}
	for kind, s := range map[string]bench.Stretch{"with a check": h.With, "without one": h.Without} {
		if s.Heartbeats == 0 {
			t.Errorf("%s: no heartbeat came: nothing was measured", kind)
		}
		if len(s.Writes) > 0 {
			t.Errorf("%s: the controllers wrote: %v\n%s", kind, s.Writes, stderr)
		}
	}
}
