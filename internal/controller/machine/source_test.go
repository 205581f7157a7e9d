package machine_test

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/provider"
)

// TestRotatedSource: a creation that waits for its next try is tried at once when what
// the session is opened with is rotated, and else in its time.
func TestRotatedSource(t *testing.T) {
	g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer))
	g.cloud.traits.Source = "old"
	g.cloud.createErr = provider.Errorf(provider.Exhausted, "the endpoint of the old bundle has no room")
	g.pass()
	g.clock.Step(time.Minute)
	g.pass()
	if n := g.cloud.count("Create"); n != 1 {
		t.Fatalf("asked %d times within a minute", n)
	}
	g.cloud.traits.Source, g.cloud.createErr = "new", nil
	g.pass()
	if n := g.cloud.count("Create"); n != 2 {
		t.Errorf("asked %d times after the rotation", n)
	}
}
