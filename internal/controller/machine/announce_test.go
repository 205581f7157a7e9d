package machine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// terminating is the condition of the node that says why it goes.
func (g *rig[M]) terminating() corev1.NodeCondition {
	g.Helper()
	var n corev1.Node
	if err := g.target.WithWatch.Get(g.Context(), client.ObjectKey{Name: "node-1"}, &n); err != nil {
		g.Fatal(err)
	}
	for _, c := range n.Status.Conditions {
		if c.Type == "Terminating" {
			return c
		}
	}
	return corev1.NodeCondition{}
}

// TestTerminating: C16, and the row of the condition Terminating in the table of
// what is written on nodes. It costs one write in the life of a machine whose
// node has something to drain, and none otherwise.
func TestTerminating(t *testing.T) {
	silent := func(g *rig[*v1alpha1.Machine]) {
		patch := `{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
		if err := g.target.WithWatch.Status().Patch(t.Context(), n, client.RawPatch("application/strategic-merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	failed := func(g *rig[*v1alpha1.Machine]) {
		patch := `{"status":{"currentStatus":{"phase":"Failed"}}}`
		if err := g.control.WithWatch.Status().Patch(t.Context(), g.read(), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		before func(*rig[*v1alpha1.Machine])
		reason string
	}{
		"one too many":  {func(*rig[*v1alpha1.Machine]) {}, "ScaleDown"},
		"failed":        {failed, "Unhealthy"},
		"not well":      {silent, "Unhealthy"},
		"in the middle": {func(g *rig[*v1alpha1.Machine]) { g.delete(); g.pass(); silent(g) }, "ScaleDown"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gardenerRig(t)
			g.settle()
			g.pod("p", true)
			tc.before(g)
			if g.read().DeletionTimestamp == nil {
				g.delete()
			}
			for range 3 {
				g.pass()
				g.clock.Step(time.Minute)
			}
			if c := g.terminating(); c.Status != corev1.ConditionTrue || c.Reason != tc.reason {
				t.Errorf("the node tells %+v, want reason %s", c, tc.reason)
			}
			writes := slices.DeleteFunc(g.written(), func(w string) bool { return w != "patch Node/status!" })
			if len(writes) != 1 {
				t.Errorf("%d writes of the node's status, want one", len(writes))
			}
		})
	}
}

// A drain does not depend on the reports about it.
func TestTerminatingUnwritten(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.pod("p", true)
	g.target.refuse = func(w string) error {
		if w == "patch Node/status!" {
			return errors.New("not today")
		}
		return nil
	}
	g.delete()
	g.pass()
	if got := g.written(); !slices.Contains(got, "create Pod/eviction") {
		t.Errorf("nobody was asked to leave: %q", got)
	}
}

// Nodes of the other API have no such condition, and no write for it.
func TestNotTerminating(t *testing.T) {
	g := openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer))
	g.settle()
	g.pod("p", true)
	g.delete()
	g.pass()
	if got := g.written(); slices.Contains(got, "patch Node/status!") || !slices.Contains(got, "create Pod/eviction") {
		t.Errorf("wrote %q", got)
	}
}
