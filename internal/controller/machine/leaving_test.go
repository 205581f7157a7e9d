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
)

// Rows of the tables about deletion (sections 2.2, 2.4 and 2.6 of the OpenShift notes, 2.7 and 2.8 of the Gardener notes)
// and defects listed there that only the whole shell can show. Nothing here
// waits: the clock stands still unless a test moves it.

func bothLeave(t *testing.T, o func(*rig[*machinev1.Machine]), g func(*rig[*v1alpha1.Machine])) {
	t.Run("openshift", func(t *testing.T) { o(openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { g(gardenerRig(t)) })
}

// P2, W3: a machine without pods whose instance goes at once needs no timer
// and no second pass.
func TestLeavesInOnePass(t *testing.T) { bothLeave(t, leavesInOnePass, leavesInOnePass) }

func leavesInOnePass[M client.Object](g *rig[M]) {
	g.settle()
	g.delete()
	if res := g.pass(); !g.gone() || res.RequeueAfter != 0 {
		g.Errorf("gone: %v, again after %v", g.gone(), res.RequeueAfter)
	}
}

// A kubelet that makes its node while the infrastructure is removing the instance leaves none behind.
func TestJoinsAtItsEnd(t *testing.T) { bothLeave(t, joinsAtItsEnd, joinsAtItsEnd) }

func joinsAtItsEnd[M client.Object](g *rig[M]) {
	g.pass()
	g.delete()
	g.cloud.before = func(call string) {
		if call == "Delete" {
			g.cloud.before = nil
			g.joins()
		}
	}
	g.pass()
	if n := g.count(&corev1.NodeList{}); n != 0 || !g.gone() {
		g.Errorf("gone: %v, %d nodes left", g.gone(), n)
	}
}

// P1, W2: a drain that cannot end gives its worker back in every pass, and asks
// for another one; other machines' turn comes meanwhile.
func TestDrainHoldsNoWorker(t *testing.T) { bothLeave(t, holdsNoWorker, holdsNoWorker) }

func holdsNoWorker[M client.Object](g *rig[M]) {
	g.settle()
	g.pod("db-0", true)
	g.delete()
	for range 3 {
		if res := g.pass(); res.RequeueAfter <= 0 || g.gone() {
			g.Fatalf("gone: %v, again after %v", g.gone(), res.RequeueAfter)
		}
	}
	if !g.r.WaitsForPods(g.read()) {
		g.Error("the end of the pod would wake nobody")
	}
	g.ends("db-0")
	if g.pass(); !g.gone() {
		g.Error("the pod has left, and the machine is still there")
	}
}

// nodeless is a cache that shows no node yet.
type nodeless struct{ client.Client }

func (c nodeless) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*corev1.Node); ok {
		return apierrors.NewNotFound(corev1.Resource("nodes"), key.Name)
	}
	return c.Client.Get(ctx, key, o, opts...)
}

func (c nodeless) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*corev1.NodeList); ok {
		return nil
	}
	return c.Client.List(ctx, list, opts...)
}

// TestDrainsNodeThatCacheLacks: the node that a machine has recorded is drained
// although the watch of nodes has yet to show it.
func TestDrainsNodeThatCacheLacks(t *testing.T) {
	bothLeave(t, drainsNodeThatCacheLacks, drainsNodeThatCacheLacks)
}

func drainsNodeThatCacheLacks[M client.Object](g *rig[M]) {
	g.settle()
	g.pod("db-0", true)
	g.cache = nodeless{g.target}
	g.restart()
	g.delete()
	g.pass()
	if !slices.Contains(g.target.writes, "create Pod/eviction") || g.gone() || len(g.cloud.instances) != 1 {
		g.Fatalf("gone: %v, instances left: %d, writes %v", g.gone(), len(g.cloud.instances), g.target.writes)
	}
	g.ends("db-0")
	g.pass()
	if node := (client.ObjectKey{Name: "node-1"}); !g.gone() || !apierrors.IsNotFound(g.target.Get(g.Context(), node, &corev1.Node{})) {
		g.Errorf("gone: %v, writes %v", g.gone(), g.target.writes)
	}
}

// TestStaysUntilNodeIsDeleted: a machine does not go before its node, whose
// object would keep its name and its pods.
func TestStaysUntilNodeIsDeleted(t *testing.T) {
	bothLeave(t, staysUntilNodeIsDeleted, staysUntilNodeIsDeleted)
}

func staysUntilNodeIsDeleted[M client.Object](g *rig[M]) {
	g.settle()
	g.delete()
	g.target.refuse = func(w string) error {
		if w == "delete Node" {
			return apierrors.NewForbidden(corev1.Resource("nodes"), "node-1", errors.New("no"))
		}
		return nil
	}
	if res := g.pass(); g.gone() || res.RequeueAfter <= 0 || len(g.cloud.instances) > 0 {
		g.Fatalf("gone: %v, again after %v, %d instances left", g.gone(), res.RequeueAfter, len(g.cloud.instances))
	}
	g.target.refuse = nil
	g.pass()
	if node := (client.ObjectKey{Name: "node-1"}); !g.gone() || !apierrors.IsNotFound(g.target.Get(g.Context(), node, &corev1.Node{})) {
		g.Errorf("gone: %v, writes %v", g.gone(), g.target.writes)
	}
}

// TestLetGoOnce: a machine that did not exist any more when it was released is not handled again as long as
// the cache shows it.
func TestLetGoOnce(t *testing.T) { bothLeave(t, letGoOnce, letGoOnce) }

func letGoOnce[M client.Object](g *rig[M]) {
	g.settle()
	g.delete()
	g.control.refuse = func(w string) error {
		if strings.HasPrefix(w, "patch Machine") && len(g.cloud.instances) == 0 {
			return apierrors.NewNotFound(corev1.Resource("machines"), "m-1")
		}
		return nil
	}
	g.pass()
	calls := len(g.cloud.calls)
	if res := g.pass(); len(g.cloud.calls) != calls || res.RequeueAfter <= 0 {
		g.Errorf("again after %v, calls %v", res.RequeueAfter, g.cloud.calls[calls:])
	}
}

// TestNodeIsHeldWhilePodsRun: a client that deletes the node in the middle of its drain finds it held by a
// finalizer.
func TestNodeIsHeldWhilePodsRun(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.pod("db-0", true)
	g.delete()
	g.pass()
	var n corev1.Node
	if err := g.target.Get(t.Context(), client.ObjectKey{Name: "node-1"}, &n); err != nil {
		t.Fatal(err)
	}
	if !n.Spec.Unschedulable || !slices.Contains(n.Finalizers, v1alpha1.FinalizerNode) {
		t.Errorf("unschedulable %t, finalizers %v", n.Spec.Unschedulable, n.Finalizers)
	}
}

// C24: the label force-deletion is heeded in the middle of a drain, by the pass
// that it brings about.
func TestForcedInMidDrain(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.pod("db-0", true)
	g.target.refuse = func(w string) error {
		if w == "create Pod/eviction" {
			return apierrors.NewTooManyRequests("a budget has no room", 0)
		}
		return nil
	}
	g.delete()
	g.pass()
	if slices.Contains(g.target.writes, "delete Pod") {
		t.Fatal("a pod was deleted without being asked")
	}
	g.change(func(m *v1alpha1.Machine) { metav1.SetMetaDataLabel(&m.ObjectMeta, "force-deletion", "true") })
	g.pass()
	if !slices.Contains(g.target.writes, "delete Pod") {
		t.Error("the label changed nothing")
	}
}

// 2.6, C18 of OpenShift: a terminated instance fails its machine and leaves the node alone; deleting the
// machine deletes the node.
func TestNodeOfALostInstance(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	g.cloud.instances = nil
	g.reports(corev1.ConditionUnknown)
	g.clock.Step(time.Hour)
	g.pass()
	node := func() error {
		return g.target.Get(t.Context(), client.ObjectKey{Name: "node-1"}, &corev1.Node{})
	}
	if phase := ptr.Deref(g.read().Status.Phase, ""); phase != machinev1.PhaseFailed || node() != nil {
		t.Fatalf("phase %q, node: %v", phase, node())
	}
	g.pod("db-0", true) // no kubelet would ever confirm that it ended
	g.delete()
	if g.pass(); !g.gone() || !apierrors.IsNotFound(node()) {
		t.Errorf("gone: %v, node: %v", g.gone(), node())
	}
}

// 2.6 of OpenShift: if a user deletes a node, its machine does not change.
func TestDeletedNode(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	if err := g.target.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}); err != nil {
		t.Fatal(err)
	}
	g.pass()
	m := g.read()
	if m.DeletionTimestamp != nil || ptr.Deref(m.Status.Phase, "") != machinev1.PhaseRunning || m.Status.NodeRef == nil {
		t.Errorf("deleted %v, phase %q, nodeRef %v", m.DeletionTimestamp, ptr.Deref(m.Status.Phase, ""), m.Status.NodeRef)
	}
}

// 2.7: wherever the original stopped, the deletion begins with what is there: a
// node with pods is drained although the text says that this is done, and
// nothing is let go whose instance is there.
func TestHalfDoneDeletion(t *testing.T) {
	for _, mark := range []string{
		"Deleting machine from cloud provider",
		"Set machine status to termination. Now, getting VM Status",
		"Initiate node drain",
		"Force Drain successful. Delete Volume Attachments",
		"Drain successful. Initiate VM deletion",
		"VM deletion was successful. Initiate node object deletion",
		"Initiate machine object finalizer removal",
		"words of somebody else",
	} {
		t.Run(mark, func(t *testing.T) {
			g := gardenerRig(t)
			g.settle()
			g.pod("db-0", true)
			patch := `{"status":{"currentStatus":{"phase":"Terminating"},"lastOperation":{"type":"Delete","state":"Processing","description":"` + mark + `"}}}`
			if err := g.control.WithWatch.Status().Patch(t.Context(), g.read(), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
				t.Fatal(err)
			}
			g.delete()
			g.restart()
			g.pass()
			if g.gone() || len(g.cloud.instances) != 1 || !slices.Contains(g.target.writes, "create Pod/eviction") {
				t.Fatalf("gone: %v, %d instances, wrote %q", g.gone(), len(g.cloud.instances), g.target.writes)
			}
			if text := g.read().Status.LastOperation.Description; !strings.Contains(text, "Initiate node drain") {
				t.Errorf("the original would go on from %q", text)
			}
			g.ends("db-0")
			if g.pass(); !g.gone() || len(g.cloud.instances) != 0 {
				t.Errorf("gone: %v, %d instances", g.gone(), len(g.cloud.instances))
			}
		})
	}
}

// TestPatienceBeginsAnew: the minute that a forced deletion bears with a cluster
// that refuses begins with the first refusal after a success.
func TestPatienceBeginsAnew(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.pod("db-0", true)
	g.change(func(m *v1alpha1.Machine) { m.Labels["force-deletion"] = "true" })
	g.delete()
	refuses := func(w string) error {
		if strings.HasPrefix(w, "patch Node") {
			return apierrors.NewInternalError(errors.New("etcd is away"))
		}
		return nil
	}
	uncordon := func() {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"unschedulable":false}}`))
		if err := g.target.WithWatch.Patch(t.Context(), n, patch); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []struct {
		reason  string
		refuse  func(string) error
		lasts   time.Duration
		removed bool
	}{
		{"it refuses", refuses, 40 * time.Second, false},
		{"it does what is asked", nil, 5 * time.Second, false},
		{"it refuses again", refuses, 25 * time.Second, false},
		{"less than a minute ago it did what was asked", refuses, 36 * time.Second, false},
		{"it has refused for a minute", refuses, 0, true},
	} {
		g.target.refuse = nil
		uncordon()
		g.target.refuse = s.refuse
		g.pass()
		if removed := len(g.cloud.instances) == 0; removed != s.removed {
			t.Fatalf("%s: instance removed %t", s.reason, removed)
		}
		g.clock.Step(s.lasts)
	}
}
