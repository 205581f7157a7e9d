package gardener_test

import (
	"testing"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"

	"github.com/millwright-dev/millwright/adapters/gardener"
	"github.com/millwright-dev/millwright/adapters/gardener/internal/reference"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// older is a driver with the methods of the interface before InitializeMachine, and one that is not called any more.
type older struct{ gardener.OlderDriver }

func (older) GenerateMachineClassForMigration() {}

// TestAnOlderDriverIsCompleted: one without InitializeMachine meets what others meet, and one that has it is asked for it.
func TestAnOlderDriverIsCompleted(t *testing.T) {
	if _, is := any(older{}).(driver.Driver); is {
		t.Fatal("the older driver has all methods of the newer interface")
	}
	whole := &reference.Driver{}
	if gardener.Completed(whole) != driver.Driver(whole) {
		t.Error("a driver that lacks nothing is hidden")
	}
	for _, c := range providertest.Checks() {
		t.Run(c.Name, func(t *testing.T) {
			inBubble(t, reference.Habits{}, func(b *bench) {
				b.driver = gardener.Completed(older{b.driver})
				b.conforms(c)
			})
		})
	}
}
