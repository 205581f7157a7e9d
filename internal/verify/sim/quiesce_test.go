package sim

import (
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestBreathOutlastsALook: a machine reports an unknown instance until its next look-up, which may come long after the last
// fault. The world is not at rest before that look-up.
func TestBreathOutlastsALook(t *testing.T) {
	for name, p := range map[string]lifecycle.Policy{
		Gardener:  gardener.Machines{}.Policy(&v1alpha1.Machine{}),
		OpenShift: openshift.Machines{}.Policy(&machinev1.Machine{}),
	} {
		for _, kind := range []provider.Kind{provider.Transient, provider.Denied} {
			w := lifecycle.World{Instances: lifecycle.Instances{Err: provider.Errorf(kind, "no answer")}, Retry: lifecycle.Retry{Failures: 100}}
			p.Targetless = true // nothing but the look-up is pending
			m := lifecycle.Machine{HasFinalizer: true, Recorded: lifecycle.Recorded{Provisioned: true}, Stage: lifecycle.StageRunning}
			again := lifecycle.Decide(time.Time{}, m, w, p).After
			if again <= 0 || longestDelay < again+time.Second {
				t.Errorf("%s: a look that failed as %v is repeated after %v, and the world is given %v", name, kind, again, longestDelay)
			}
		}
	}
}
