package machineset_test

import (
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/millwright"
)

// TestGrowthIsHeld: a number of replicas that is far too great makes no machine, says so, and is
// approved by an annotation; what is lost meanwhile is made again.
func TestGrowthIsHeld(t *testing.T) {
	eachAPI(t, growthStory[*machinev1.MachineSet], growthStory[*v1alpha1.MachineSet])
}

func growthStory[S client.Object](t *testing.T, g *guarded[S]) {
	told := func() (out []string) {
		for len(g.recorder.Events) > 0 {
			if e := <-g.recorder.Events; strings.Contains(e, "CreationHeld") {
				out = append(out, e)
			}
		}
		return out
	}
	expect := func(when string, machines, events int) {
		t.Helper()
		g.passes(t)
		got := told()
		if n := g.replicas(t); n != machines || len(got) != events {
			t.Fatalf("%s: %d machines, want %d; told %q", when, n, machines, got)
		}
	}
	g.annotate(t, millwright.MaxCreationShare, "50%")
	expect("as it was", 10, 0)
	g.scale(t, 15)
	expect("within the share", 15, 0)
	g.scale(t, 1500)
	expect("a number too many", 15, 1)
	expect("once more", 15, 0)
	lost := g.machinesOf(t, g.Client)[0]
	if err := g.Client.Delete(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	g.bury(t)
	expect("one was lost", 15, 0)
	g.annotate(t, millwright.ApproveCreation, "10")
	expect("fewer are approved", 15, 1)
	g.scale(t, 25)
	expect("as many as are approved", 25, 0)
	if size := g.read(t).GetAnnotations()[millwright.AllowedSize]; size != "25" {
		t.Errorf("allowed size %q", size)
	}
	g.scale(t, 100)
	g.annotate(t, millwright.MaxCreationShare, "half")
	g.passes(t)
	if got := told(); len(got) == 0 || !strings.Contains(got[0], "the default of 20% is in force") {
		t.Errorf("an unreadable share: told %q", got)
	}
}
