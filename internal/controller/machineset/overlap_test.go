package machineset_test

import (
	"slices"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestOverlapIsTold: two sets that select the same machines both say so, once, and
// not again when they are scaled.
func TestOverlapIsTold(t *testing.T) {
	eachAPI(t, overlapStory[*machinev1.MachineSet], overlapStory[*v1alpha1.MachineSet])
}

func overlapStory[S client.Object](t *testing.T, g *guarded[S]) {
	told := func() (out []string) {
		for len(g.recorder.Events) > 0 {
			if e := <-g.recorder.Events; strings.Contains(e, "SelectorOverlaps") {
				out = append(out, e)
			}
		}
		slices.Sort(out)
		return out
	}
	g.passes(t)
	if got := told(); len(got) > 0 {
		t.Fatalf("one set alone is told %q", got)
	}
	twin := g.api.set("twin", 0)
	twin.SetNamespace(namespace)
	twin.SetUID("twin-uid")
	g.others = []client.Object{twin}
	g.restart()
	g.passes(t)
	got := told()
	if len(got) != 2 || !strings.Contains(got[0]+got[1], "of this set and of twin have labels that the selectors of both match") || !strings.Contains(got[0]+got[1], "of this set and of "+g.key().Name+" have") {
		t.Errorf("told %q, want it on both sets", got)
	}
	g.scale(t, 11)
	g.passes(t)
	if got := told(); len(got) > 0 {
		t.Errorf("told again when it was scaled: %q", got)
	}
}
