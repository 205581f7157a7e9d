package machine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/provider"
)

// readiness changes the Ready condition of the node, as the node controller does,
// and returns the node before and after.
func (g *rig[M]) readiness(status corev1.ConditionStatus) (before, after *corev1.Node) {
	g.Helper()
	before = &corev1.Node{}
	if err := g.target.Get(g.Context(), client.ObjectKey{Name: "node-1"}, before); err != nil {
		g.Fatal(err)
	}
	after = before.DeepCopy()
	after.Status.Conditions[0].Status, after.Status.Conditions[0].Reason = status, "NodeStatusUnknown"
	if err := g.target.WithWatch.Status().Patch(g.Context(), after, client.MergeFrom(before)); err != nil {
		g.Fatal(err)
	}
	return before, after
}

func has(told []string, parts ...string) bool {
	return slices.ContainsFunc(told, func(e string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(e, p) })
	})
}

// stops is the story of an instance that a user switches off: its node stops reporting, which wakes the
// machine, and the machine says why.
func stops[M client.Object](t *testing.T, g *rig[M]) {
	g.settle()
	g.cloud.instances[0].State, g.cloud.instances[0].RawState = provider.Stopped, "exited"
	g.pass()
	if got := g.read().GetAnnotations()[dialect.StoppedAnnotation]; got != "exited" {
		t.Errorf("at the first look: %s = %q, want exited", dialect.StoppedAnnotation, got)
	}
	if told := g.told(); !has(told, "Warning InstanceStopped", "exited") {
		t.Errorf("told %q, want that the instance stopped", told)
	}
	g.pass()
	if told := g.told(); has(told, "InstanceStopped") {
		t.Errorf("told again: %q", told)
	}
	g.cloud.instances[0].State, g.cloud.instances[0].RawState = provider.Running, "running"
	g.pass()
	if _, there := g.read().GetAnnotations()[dialect.StoppedAnnotation]; there || !has(g.told(), "Normal InstanceRuns") {
		t.Error("that it runs again is not told")
	}

	g.cloud.instances[0].State, g.cloud.instances[0].RawState = provider.Stopped, "exited"
	before, after := g.readiness(corev1.ConditionUnknown)
	if woken := g.r.Wakes(g.Context(), before, after); len(woken) == 0 {
		t.Errorf("a node that falls silent does not wake its machine")
	}
	g.pass()
	if got := g.read().GetAnnotations()[dialect.StoppedAnnotation]; got != "exited" {
		t.Errorf("when the node fell silent: %s = %q, want exited", dialect.StoppedAnnotation, got)
	}
}

func TestStoppedInstanceIsTold(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { stops(t, openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) {
		g := gardenerRig(t)
		stops(t, g)
		op := g.read().Status.LastOperation
		if want := "its instance does not run: the infrastructure calls it exited"; !strings.Contains(op.Description, "Node conditions: [") || !strings.HasSuffix(op.Description, want) {
			t.Errorf("lastOperation %q, want it to end with %q", op.Description, want)
		}
	})
}

// TestMissingInstanceIsTold: where a machine outlives its instance, it says so.
func TestMissingInstanceIsTold(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.cloud.instances = nil
	g.clock.Step(time.Hour)
	g.readiness(corev1.ConditionUnknown)
	g.pass()
	m := g.read()
	if got := m.Annotations[dialect.StoppedAnnotation]; got != "missing" || !strings.HasSuffix(m.Status.LastOperation.Description, "the infrastructure does not know its instance any more") {
		t.Errorf("%s = %q, lastOperation %q", dialect.StoppedAnnotation, got, m.Status.LastOperation.Description)
	}
	if m.Status.CurrentStatus.Phase != "Unknown" {
		t.Errorf("phase %s, want Unknown: no phase is made up", m.Status.CurrentStatus.Phase)
	}
}

// TestSilentCloudStopsNothing: what cannot be asked is not said to have stopped.
func TestSilentCloudStopsNothing(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.cloud.findErr = provider.Errorf(provider.Transient, "throttled")
	g.readiness(corev1.ConditionUnknown)
	g.pass()
	if got := g.read().Annotations[dialect.StoppedAnnotation]; got != "" {
		t.Errorf("%s = %q though nobody answered", dialect.StoppedAnnotation, got)
	}
}

// leaves deletes a machine that another program holds.
func leaves[M client.Object](t *testing.T, g *rig[M], reason string) {
	g.settle()
	g.change(func(m M) { m.SetFinalizers(append(m.GetFinalizers(), "acme.io/asset-db")) })
	g.delete()
	for range 5 {
		g.pass()
		g.clock.Step(time.Second)
	}
	if g.gone() || len(g.cloud.instances) > 0 && g.cloud.instances[0].Exists() {
		t.Fatal("the instance is to go, and the object to stay")
	}
	told := g.told()
	if !has(told, reason, "finalizer acme.io/asset-db of another program holds the object") || has(told, "Machine and instance are deleted") || has(told, "Deleted machine") {
		t.Errorf("told %q", told)
	}
}

// TestForeignFinalizerIsTold: an object that still exists is not reported as deleted.
func TestForeignFinalizerIsTold(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { leaves(t, openshiftRig(t), "Normal Delete ") })
	t.Run("gardener", func(t *testing.T) { leaves(t, gardenerRig(t), "Normal Deleted ") })
}

// TestReplacementIsExplained: the machine reports that a client deleted the node before the machine is
// deleted, and its postmortem record keeps that.
func TestReplacementIsExplained(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.change(func(m *v1alpha1.Machine) {
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "machine.sapcloud.io/v1alpha1", Kind: "MachineSet", Name: "pool", UID: "set", Controller: ptr.To(true)}}
	})
	n := &corev1.Node{}
	if err := g.target.Get(g.Context(), client.ObjectKey{Name: "node-1"}, n); err != nil {
		t.Fatal(err)
	}
	if err := g.target.WithWatch.Delete(g.Context(), n); err != nil {
		t.Fatal(err)
	}
	g.pass()
	m := g.read()
	if m.DeletionTimestamp == nil || m.Annotations[dialect.DeletedBecauseAnnotation] != "node node-1 was deleted" {
		t.Errorf("deleted at %v because %q", m.DeletionTimestamp, m.Annotations[dialect.DeletedBecauseAnnotation])
	}
	if told := g.told(); !has(told, "Warning NodeDeleted", "The machine is deleted, because node node-1 was deleted; MachineSet pool makes another in its place") {
		t.Errorf("told %q", told)
	}
}

// TestLostNodeIsTold: a machine of OpenShift whose node was deleted by a client keeps its phase and its
// nodeRef, which other controllers read, and still reports that the node does not exist.
func TestLostNodeIsTold(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	before := g.read()
	if got := said(before, openshift.NodeExistsCondition); got != "" {
		t.Errorf("with its node: NodeExists is %q, want none", got)
	}
	n := g.node()
	if err := g.target.WithWatch.Delete(g.Context(), n); err != nil {
		t.Fatal(err)
	}
	g.pass()
	m, want := g.read(), "the node node-1 does not exist: it comes back only if its kubelet registers again; otherwise delete the machine, or have a health check do that"
	if got := said(m, openshift.NodeExistsCondition); got != "False NodeMissing "+want {
		t.Errorf("without its node: NodeExists is %q", got)
	}
	if ptr.Deref(m.Status.Phase, "") != machinev1.PhaseRunning || *m.Status.NodeRef != *before.Status.NodeRef || m.Status.ErrorMessage != nil {
		t.Errorf("phase %s, nodeRef %v, error %v", *m.Status.Phase, m.Status.NodeRef, m.Status.ErrorMessage)
	}
	for _, kind := range []machinev1.ConditionType{machinev1.InstanceExistsCondition, machinev1.MachineDrainable, machinev1.MachineTerminable} {
		if said(m, kind) != said(before, kind) {
			t.Errorf("%s was %q and is %q", kind, said(before, kind), said(m, kind))
		}
	}
	if told := g.told(); len(told) != 1 || !has(told, "Warning NodeMissing", want) {
		t.Errorf("told %q", told)
	}
	g.written()
	g.clock.Step(time.Minute)
	g.pass()
	if told, wrote := g.told(), g.written(); len(told)+len(wrote) > 0 {
		t.Errorf("told again: %q, wrote %q", told, wrote)
	}
	g.joins()
	g.pass()
	if got := said(g.read(), openshift.NodeExistsCondition); got != "" {
		t.Errorf("with a node again: NodeExists is %q, want none", got)
	}
}

// TestUnseenNodeIsNotLost: a node that cannot be read is not reported as deleted.
func TestUnseenNodeIsNotLost(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	g.forgetNode()
	g.cache = unanswering{g.target}
	g.restart()
	g.pass()
	if m := g.read(); said(m, openshift.NodeExistsCondition) != "" || ptr.Deref(m.Status.Phase, "") != machinev1.PhaseRunning {
		t.Errorf("phase %q, NodeExists is %q, want none", *m.Status.Phase, said(m, openshift.NodeExistsCondition))
	}
}

// unanswering is a cluster of which no node can be read.
type unanswering struct{ client.Client }

func (unanswering) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewInternalError(errors.New("no answer"))
}
