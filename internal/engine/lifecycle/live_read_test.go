package lifecycle_test

import (
	"fmt"
	"testing"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestNeedsLiveRead: before an instance is created or terminated, or pods are forcibly deleted, the machine
// is read past the cache.
func TestNeedsLiveRead(t *testing.T) {
	type shown = lifecycle.Shown
	for _, c := range []struct {
		decision lifecycle.Decision
		shown    lifecycle.Shown
		want     bool
	}{
		{lifecycle.Decision{Step: lifecycle.RecordRequest}, shown{}, true},
		{lifecycle.Decision{Step: lifecycle.Create}, shown{}, true},
		{lifecycle.Decision{Step: lifecycle.Create}, shown{OwnWrite: true}, false},
		{lifecycle.Decision{Step: lifecycle.Create}, shown{RemovalAccepted: true}, true},
		{lifecycle.Decision{Step: lifecycle.Drain}, shown{}, false},
		{lifecycle.Decision{Step: lifecycle.Drain, Force: true}, shown{OwnWrite: true, RemovalAccepted: true}, true},
		{lifecycle.Decision{Step: lifecycle.Terminate}, shown{OwnWrite: true}, true},
		{lifecycle.Decision{Step: lifecycle.Terminate}, shown{RemovalAccepted: true}, false},
		{lifecycle.Decision{Step: lifecycle.Await, Force: true}, shown{}, false},
	} {
		t.Run(fmt.Sprintf("%s force=%t %+v", c.decision.Step, c.decision.Force, c.shown), func(t *testing.T) {
			if got := c.decision.NeedsLiveRead(c.shown); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
