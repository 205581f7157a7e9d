// Package test runs a fleet with the reference actuator: its program replaces a machine controller, on a real
// control plane, with a simulated OpenStack.
package test

import (
	"testing"

	"github.com/millwright-dev/millwright/internal/demo/fleet/fleettest"
)

func TestMain(m *testing.M) { fleettest.Main(m) }

// bench is a fleet in which one machine controller runs the actuator.
type bench struct{ *fleettest.Bench }

// start starts a fleet with short timers: an existing instance is shown after two seconds at most.
func start(t *testing.T) *bench {
	t.Helper()
	return &bench{fleettest.Start(t, "machine.openshift.io", "--actuator-read-lag=2s")}
}
