package machinedeployment_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
)

// TestGrowthIsHeld: a deployment holds a number of replicas that is far too great, its sets stay
// as they are, and a rollout goes on meanwhile.
func TestGrowthIsHeld(t *testing.T) { both(t, growth, growth) }

func growth[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(4, func(d D) { d.SetAnnotations(map[string]string{millwright.MaxCreationShare: "50%"}) })
	r := w.controller()
	w.rest(r)
	if n := len(w.machines()); n != 4 {
		t.Fatalf("a new deployment has %d machines", n)
	}
	if size := w.deployment().GetAnnotations()[millwright.AllowedSize]; size != "4" {
		t.Errorf("allowed size %q", size)
	}
	w.recorded()
	w.change(func(d D) { a.size(d, 400) })
	w.rest(r)
	w.rest(r)
	told := strings.Join(w.recorded(), "\n")
	if n := len(w.machines()); n != 4 || strings.Count(told, "Warning CreationHeld") != 1 || !strings.Contains(told, `millwright.dev/approve-mass-creation: "396" approves it`) {
		t.Errorf("%d machines; told %q", n, told)
	}
	w.change(func(d D) { a.size(d, 6) })
	w.rest(r)
	if n := len(w.machines()); n != 6 {
		t.Errorf("%d machines, want those within the share", n)
	}
	w.change(func(d D) {
		a.size(d, 20)
		d.SetAnnotations(map[string]string{millwright.MaxCreationShare: "50%", millwright.ApproveCreation: "14", millwright.AllowedSize: "6"})
	})
	w.rest(r)
	if n := len(w.machines()); n != 20 {
		t.Errorf("%d machines, want those that are approved", n)
	}
}
