package machine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/provider"
)

// wrote checks the writes since the last look.
func (g *rig[M]) wrote(reason string, want ...string) int {
	g.Helper()
	got := g.written()
	if d := cmp.Diff(want, got); d != "" {
		g.Errorf("%s: writes (-want +got)\n%s", reason, d)
	}
	return len(got)
}

// live makes a machine of which the set posted the finalizer with the object,
// lets it run and deletes it, and returns the writes of both halves, those of
// the client included. No patch of a node that joins asks for a version: it is
// written by many. The cordon is given, since it may take a finalizer along, and
// that asks for one.
func live[M client.Object](g *rig[M], cordon string) (create, remove int) {
	create = 1 // the POST
	g.pass()
	create += g.wrote("created: where it is asked for, then spec and status", "patch Machine/status!", "patch Machine!", "patch Machine/status!")
	g.joins()
	g.pass()
	create += g.wrote("joined: the node's metadata and the status", "patch Machine/status!", "patch Node")
	g.pass()
	create += g.wrote("at rest nothing is written")

	g.cloud.deletions = 1
	g.delete()
	g.pass()
	remove = g.wrote("deleted: the client's DELETE, the status and the cordon", "delete Machine", "patch Machine/status!", cordon)
	g.pass()
	remove += g.wrote("gone: finalizer and node", "patch Machine!", "delete Node")
	return create, remove
}

// TestWriteBudget counts the API writes of a life without trouble: six to
// create, five to delete, two events each at most. Every status is written with
// the version that it was computed from, marked by "!" (C6 of OpenShift), and
// each step begins without a timer (P2).
func TestWriteBudget(t *testing.T) {
	t.Run("openshift", func(t *testing.T) {
		g := openshiftRig(t, bySet[*machinev1.Machine](openshiftFinalizer))
		budget(t, g, "patch Node")
	})
	t.Run("gardener", func(t *testing.T) {
		g := gardenerRig(t, bySet[*v1alpha1.Machine](gardenerFinalizer))
		budget(t, g, "patch Node!")
	})
}

func budget[M client.Object](t *testing.T, g *rig[M], cordon string) {
	create, remove := live(g, cordon)
	if create != 6 || remove != 5 {
		t.Errorf("%d writes to create and %d to delete, want 6 and 5", create, remove)
	}
	if told := g.told(); len(told) > 4 {
		t.Errorf("more than two events to create and two to delete: %q", told)
	}
	if n := g.cloud.count("Create"); n != 1 {
		t.Errorf("%d calls of Create", n)
	}
	if len(g.cloud.instances) > 0 {
		t.Error("the instance is left")
	}
	if _, err := g.try("m-1"); err != nil {
		t.Errorf("a machine that is gone: %v", err)
	}
}

// TestHoldCostsOneWrite: a machine that comes without the finalizer gets it
// before where its instance is asked for, which is in the status. Those that sets make
// have it.
func TestHoldCostsOneWrite(t *testing.T) {
	g := openshiftRig(t)
	g.pass()
	g.wrote("finalizer, where it is asked for, then spec and status", "patch Machine!", "patch Machine/status!", "patch Machine!", "patch Machine/status!")
	h := gardenerRig(t)
	h.pass()
	h.wrote("finalizer, where it is asked for, then spec and status", "patch Machine!", "patch Machine/status!", "patch Machine!", "patch Machine/status!")
}

// TestSlowInstance counts what an instance that takes its time to start costs
// on top: one status write, and in one API one for the instance's state.
func TestSlowInstance(t *testing.T) {
	g := openshiftRig(t, bySet[*machinev1.Machine](openshiftFinalizer))
	g.cloud.next.State, g.cloud.next.RawState = provider.Pending, "pending"
	g.pass()
	g.wrote("created", "patch Machine/status!", "patch Machine!", "patch Machine/status!")
	g.pass()
	g.wrote("still pending")
	g.cloud.instances[0].State, g.cloud.instances[0].RawState = provider.Running, "running"
	g.pass()
	g.wrote("runs", "patch Machine!", "patch Machine/status!")

	h := gardenerRig(t, bySet[*v1alpha1.Machine](gardenerFinalizer))
	h.cloud.next.State = provider.Pending
	h.pass()
	h.wrote("created", "patch Machine/status!", "patch Machine!", "patch Machine/status!")
	h.cloud.instances[0].State = provider.Running
	h.pass()
	h.wrote("runs: Pending is the phase of both")
}
