// Package test plays the life of a fleet with the reference actuator: its program stands in the place of a machine
// controller, on a real control plane, over a played OpenStack.
package test

import (
	"testing"

	"github.com/millwright-dev/millwright/internal/demo/fleet/fleettest"
)

func TestMain(m *testing.M) { fleettest.Main(m) }

// bench is a fleet in which one machine controller runs the actuator.
type bench struct{ *fleettest.Bench }

// start starts a fleet whose timers are short: what exists is told two seconds behind at the most.
func start(t *testing.T) *bench {
	t.Helper()
	return &bench{fleettest.Start(t, "machine.openshift.io", "--actuator-read-lag=2s")}
}
