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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/provider"
)

const unbelieved = "does not list instance memory:///i-1, but node node-1 reports Ready under it"

// count is how many objects of a list are in the cluster that machines join.
func (g *rig[M]) count(list client.ObjectList) int {
	g.Helper()
	if err := g.target.List(g.Context(), list); err != nil {
		g.Fatal(err)
	}
	switch l := list.(type) {
	case *corev1.NodeList:
		return len(l.Items)
	case *corev1.PodList:
		return len(l.Items)
	}
	g.Fatalf("nobody counts %T", list)
	return 0
}

// some makes passes, a while apart.
func (g *rig[M]) some(passes int) {
	g.Helper()
	for range passes {
		g.pass()
		g.clock.Step(time.Minute)
	}
}

// says is what each API tells of the instance of a machine.
func existsSays(m *machinev1.Machine) string {
	i := slices.IndexFunc(m.Status.Conditions, func(c machinev1.Condition) bool { return c.Type == machinev1.InstanceExistsCondition })
	if i < 0 {
		return ""
	}
	c := m.Status.Conditions[i]
	return string(c.Status) + " " + c.Reason + " " + c.Message
}

func operationSays(m *v1alpha1.Machine) string { return m.Status.LastOperation.Description }

// TestAnotherAccount: the credentials are replaced by those of another account, which correctly reports
// that it has no instance. The node is Ready and has a pod: the machine does not fail, and once it is
// deleted, the pod is evicted, and node, object and instance stay until the credentials are fixed.
func TestAnotherAccount(t *testing.T) {
	t.Run("openshift", func(t *testing.T) {
		anotherAccount(openshiftRig(t), existsSays, func(m *machinev1.Machine) bool { return ptr.Deref(m.Status.Phase, "") == "Running" })
	})
	t.Run("gardener", func(t *testing.T) {
		anotherAccount(gardenerRig(t), operationSays, func(m *v1alpha1.Machine) bool { return m.Status.CurrentStatus.Phase == v1alpha1.MachineRunning })
	})
}

func anotherAccount[M client.Object](g *rig[M], says func(M) string, runs func(M) bool) {
	g.settle()
	g.pod("web-0", false)
	ours := g.cloud.instances
	g.cloud.instances = nil
	g.clock.Step(time.Minute)
	res := g.pass()
	if m := g.read(); !runs(m) || !strings.Contains(says(m), unbelieved) || res.RequeueAfter <= 0 || res.RequeueAfter > 3*time.Minute {
		g.Errorf("runs %v, again in %v, says %q", runs(m), res.RequeueAfter, says(m))
	}
	if told := g.toldOf("InstanceContradicted"); len(told) != 1 {
		g.Errorf("told %q, want it once", told)
	}
	if g.written(); len(g.toldOf("InstanceContradicted")) > 0 || g.pass().RequeueAfter <= 0 || len(g.written()) > 0 {
		g.Error("it is written and told again, or not looked again")
	}
	g.delete()
	g.some(3)
	switch {
	case g.gone():
		g.Fatal("the machine was let go")
	case g.count(&corev1.NodeList{}) != 1:
		g.Error("a Ready node was deleted")
	case g.count(&corev1.PodList{}) > 0:
		g.Error("the pod was not asked to go")
	case !strings.Contains(says(g.read()), unbelieved) || !strings.Contains(says(g.read()), "millwright.dev/abandon-instance"):
		g.Errorf("says %q", says(g.read()))
	}
	g.cloud.instances = ours
	g.pass()
	if !g.gone() || len(g.cloud.instances) > 0 || g.count(&corev1.NodeList{}) > 0 {
		g.Errorf("mended: gone %v, instances %q, %d nodes", g.gone(), g.there(), g.count(&corev1.NodeList{}))
	}
}

// TestContradictionEnds: by the node, and by a person.
func TestContradictionEnds(t *testing.T) {
	for name, end := range map[string]func(*rig[*v1alpha1.Machine]){
		"the node falls silent":   func(g *rig[*v1alpha1.Machine]) { g.reports(corev1.ConditionUnknown) },
		"a person lets go of it":  func(g *rig[*v1alpha1.Machine]) { g.change(annotated("millwright.dev/abandon-instance")) },
		"a person takes the node": func(g *rig[*v1alpha1.Machine]) { g.forgetNode() },
	} {
		t.Run(name, func(t *testing.T) {
			g := gardenerRig(t)
			g.settle()
			g.cloud.instances = nil
			g.delete()
			g.change(func(m *v1alpha1.Machine) { metav1.SetMetaDataLabel(&m.ObjectMeta, "force-deletion", "true") })
			g.some(3)
			if g.gone() {
				t.Fatal("let go although nobody saw the instance go: forcing is about pods")
			}
			end(g)
			g.pass()
			if !g.gone() || g.count(&corev1.NodeList{}) > 0 {
				t.Errorf("gone %v, %d nodes", g.gone(), g.count(&corev1.NodeList{}))
			}
		})
	}
}

func annotated(key string) func(*v1alpha1.Machine) {
	return func(m *v1alpha1.Machine) { metav1.SetMetaDataAnnotation(&m.ObjectMeta, key, "true") }
}

// forgetNode deletes the node as it is, finalizers and all.
func (g *rig[M]) forgetNode() {
	g.Helper()
	n := &corev1.Node{}
	if err := g.target.Get(g.Context(), client.ObjectKey{Name: "node-1"}, n); err != nil {
		g.Fatal(err)
	}
	before := n.DeepCopy()
	n.Finalizers = nil
	if err := g.target.WithWatch.Patch(g.Context(), n, client.MergeFrom(before)); err != nil {
		g.Fatal(err)
	}
	if err := g.target.WithWatch.Delete(g.Context(), n); client.IgnoreNotFound(err) != nil {
		g.Fatal(err)
	}
}

// TestWitnessIsHeardLive: a cache that has stopped shows a Ready node for ever.
func TestWitnessIsHeardLive(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	g.cloud.instances = nil
	stalled := newRecording(t, func() *corev1.Node {
		n := &corev1.Node{}
		if err := g.target.Get(t.Context(), client.ObjectKey{Name: "node-1"}, n); err != nil {
			t.Fatal(err)
		}
		n.ResourceVersion = ""
		return n
	}())
	g.reports(corev1.ConditionUnknown)
	g.r.Nodes.Client = stalled
	g.pass()
	if phase := ptr.Deref(g.read().Status.Phase, ""); phase != "Failed" {
		t.Errorf("phase %q: the cache was believed", phase)
	}
}

// TestSeenToGo: an instance that was listed, and asked to go, may vanish at any
// moment, also while another process takes over. The node may go on to look Ready.
func TestSeenToGo(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { seenToGo(openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { seenToGo(gardenerRig(t)) })
}

func seenToGo[M client.Object](g *rig[M]) {
	g.cloud.account = "one"
	g.settle()
	g.delete()
	g.cloud.deletions = 1
	g.clock.SetTime(g.read().GetDeletionTimestamp().Time)
	g.pass()
	if g.gone() || g.cloud.count("Delete") != 1 {
		g.Fatal("the instance was to take its time")
	}
	g.cloud.instances = nil
	g.restart()
	g.pass()
	if !g.gone() || g.count(&corev1.NodeList{}) > 0 {
		g.Errorf("gone %v, %d nodes: the deletion hangs after a restart", g.gone(), g.count(&corev1.NodeList{}))
	}
}

// TestRemovedUnheard: the reply to a removal is lost. The instance vanishes, and the
// deletion goes on as soon as its node is silent.
func TestRemovedUnheard(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.delete()
	g.clock.SetTime(g.read().DeletionTimestamp.Time)
	g.cloud.deleteErr = provider.Errorf(provider.Transient, "connection reset by peer")
	g.some(1)
	g.cloud.deleteErr, g.cloud.instances = nil, nil
	g.some(1)
	if g.gone() || !strings.Contains(operationSays(g.read()), unbelieved) {
		t.Fatal("a failed removal, and an empty answer that a Ready node contradicts, were believed")
	}
	g.reports(corev1.ConditionUnknown)
	g.some(1)
	if !g.gone() {
		t.Errorf("the deletion hangs: %s", operationSays(g.read()))
	}
}

// TestJoinedUnseenAndDenied: a node that has joined since the cache stopped is evidence for an instance
// that the infrastructure does not list, even if its name was not foretold.
func TestJoinedUnseenAndDenied(t *testing.T) {
	for _, tt := range []struct {
		reason string
		live   func(*rig[*machinev1.Machine])
	}{
		{"it is found", func(*rig[*machinev1.Machine]) {}},
		{"it cannot be looked for", func(g *rig[*machinev1.Machine]) { g.r.Nodes.Live = outOfReach{g.target} }},
	} {
		g := openshiftRig(t)
		g.cloud.next.NodeName = ""
		g.pass()
		g.joins()
		g.pod("web-0", true)
		g.r.Nodes.Client = stopped{g.target, newRecording(t)}
		g.cloud.instances = nil
		g.delete()
		tt.live(g)
		g.some(3)
		if g.gone() || g.count(&corev1.NodeList{}) != 1 {
			t.Errorf("%s: gone %v, %d nodes", tt.reason, g.gone(), g.count(&corev1.NodeList{}))
		}
	}
}

// TestListedAsTerminated: what an infrastructure lists as terminated is not merely
// absent.
func TestListedAsTerminated(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	g.cloud.instances[0].State = provider.Terminated
	g.pass()
	if phase := ptr.Deref(g.read().Status.Phase, ""); phase != "Failed" {
		t.Errorf("phase %q", phase)
	}
}

// TestDeniedAndThenAnotherAccount: that a deletion came as far as the instance says
// nothing about whether it was ever seen.
func TestDeniedAndThenAnotherAccount(t *testing.T) {
	for name, refuse := range map[string]func(*cloud){
		"looking": func(c *cloud) { c.findErr = provider.Errorf(provider.Denied, "expired") },
		"removal": func(c *cloud) { c.deleteErr = provider.Errorf(provider.Denied, "expired") },
		"removal, by an infrastructure in trouble": func(c *cloud) { c.deleteErr = provider.Errorf(provider.Transient, "internal error") },
	} {
		t.Run(name, func(t *testing.T) {
			g := gardenerRig(t)
			g.settle()
			g.delete()
			g.clock.SetTime(g.read().DeletionTimestamp.Time)
			refuse(g.cloud)
			g.some(2)
			g.cloud.findErr, g.cloud.deleteErr, g.cloud.instances = nil, nil, nil
			g.some(1)
			g.restart()
			g.some(2)
			if g.gone() || g.count(&corev1.NodeList{}) != 1 {
				t.Errorf("gone %v, %d nodes", g.gone(), g.count(&corev1.NodeList{}))
			}
		})
	}
}

// TestNamesake: a machine's finalizer was taken off by hand; its instance and its
// Ready node live on. One of the same name is made and deleted before it gets an
// instance: the node is not its own.
func TestNamesake(t *testing.T) {
	t.Run("openshift", func(t *testing.T) {
		namesake(openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer)), func(n *corev1.Node) {
			n.Annotations = map[string]string{"machine.openshift.io/machine": ns + "/m-1"}
		})
	})
	t.Run("gardener", func(t *testing.T) {
		namesake(gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer)), func(n *corev1.Node) {
			n.Labels = map[string]string{"node.gardener.cloud/machine-name": "m-1"}
		})
	})
}

func namesake[M client.Object](g *rig[M], mark func(*corev1.Node)) {
	g.cloud.instances = []provider.Instance{made("i-0", "uid-0", time.Hour)}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node-uid"}}
	n.Spec.ProviderID = "memory:///i-0"
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	mark(n)
	if err := g.target.WithWatch.Create(g.Context(), n); err != nil {
		g.Fatal(err)
	}
	g.pod("web-0", false)
	g.pass()
	g.delete()
	g.target.writes = nil
	for range 3 {
		if _, err := g.try("m-1"); err != nil {
			g.Fatal(err)
		}
		g.clock.Step(time.Minute)
	}
	if !g.gone() || len(g.target.writes) > 0 || len(g.cloud.instances) != 1 {
		g.Errorf("gone %v, instances %q, written to the cluster: %q", g.gone(), g.there(), g.target.writes)
	}
}

// TestNamesakeElsewhere: in the Gardener API a node is marked with the bare name
// of its machine. One that shows no provider ID, and that the machine of that name
// in another namespace has recorded, is not ours.
func TestNamesakeElsewhere(t *testing.T) {
	g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer))
	other := gardenerMachine(func(m *v1alpha1.Machine) {
		m.Namespace, m.UID, m.Labels["node"] = "elsewhere", "uid-9", "node-9"
	})
	if err := g.control.WithWatch.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-9", UID: "node-uid", Labels: map[string]string{"node.gardener.cloud/machine-name": "m-1"}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := g.target.WithWatch.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	g.delete()
	g.target.writes = nil
	g.some(3)
	if !g.gone() || len(g.target.writes) > 0 {
		t.Errorf("gone %v, written to the cluster: %q", g.gone(), g.target.writes)
	}
}

// TestJoinedUnseen: a node that has joined since the cache stopped is drained, even if its name was not
// foretold.
func TestJoinedUnseen(t *testing.T) {
	for _, foretold := range []bool{true, false} {
		g := openshiftRig(t)
		if !foretold {
			g.cloud.next.NodeName = ""
		}
		g.pass()
		g.joins()
		g.pod("web-0", true)
		g.r.Nodes.Client = stopped{g.target, newRecording(t)}
		g.delete()
		g.pass()
		if g.cloud.count("Delete") > 0 || !slices.Contains(g.target.writes, "create Pod/eviction") {
			t.Errorf("name foretold %v: %d removals, written %q", foretold, g.cloud.count("Delete"), g.target.writes)
		}
	}
}

// outOfReach is an API server that answers no list.
type outOfReach struct{ client.Reader }

func (outOfReach) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("connection refused")
}

// stopped reads from what a cache has, and writes to the server.
type stopped struct {
	client.Client
	cache client.Reader
}

func (s stopped) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return s.cache.Get(ctx, key, o, opts...)
}

func (s stopped) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return s.cache.List(ctx, list, opts...)
}
