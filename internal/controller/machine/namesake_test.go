package machine_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestNodeOfANamesakeOfTheOtherAPI: a machine of the other API has the same name, and
// its node, which shows no provider ID yet, carries the mark of that API. A machine that
// has none of its own and goes lets it be.
func TestNodeOfANamesakeOfTheOtherAPI(t *testing.T) {
	label := func(n *corev1.Node) { n.Labels = map[string]string{"node.gardener.cloud/machine-name": "m-1"} }
	annotation := func(n *corev1.Node) {
		n.Annotations = map[string]string{"machine.openshift.io/machine": ns + "/m-1"}
	}
	t.Run("openshift", func(t *testing.T) {
		nodeOfANamesake(t, openshiftRig, label, false)
		nodeOfANamesake(t, openshiftRig, annotation, true)
	})
	t.Run("gardener", func(t *testing.T) {
		nodeOfANamesake(t, gardenerRig, annotation, false)
		nodeOfANamesake(t, gardenerRig, label, true)
	})
}

func nodeOfANamesake[M client.Object](t *testing.T, rigged func(*testing.T, ...func(M)) *rig[M], mark func(*corev1.Node), own bool) {
	g := rigged(t)
	g.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m-1", UID: "namesake"}}
	mark(n)
	if err := g.target.WithWatch.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	g.cloud.createErr = errors.New("connection reset")
	g.pass()
	g.delete()
	g.some(3)
	err := g.target.Get(t.Context(), client.ObjectKey{Name: "m-1"}, n)
	if gone := err != nil; gone != own || !g.gone() {
		t.Errorf("own mark %v: node gone %v, machine gone %v", own, gone, g.gone())
	}
}

// leftNode puts a node into the cluster that an instance left behind: it has the
// address that the machine's instance has now, and no provider ID yet.
func (g *rig[M]) leftNode() {
	g.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0", UID: "left"}}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	if err := g.target.WithWatch.Create(g.Context(), n); err != nil {
		g.Fatal(err)
	}
	g.written()
}

// TestNodeOfAnEarlierInstance: an address that is given out again leads to the node of
// the instance that had it before. Where the infrastructure foretells the name of the
// machine's node, that one is not touched, dead or alive.
func TestNodeOfAnEarlierInstance(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { earlierNode(t, openshiftRig) })
	t.Run("gardener", func(t *testing.T) { earlierNode(t, gardenerRig) })
}

func earlierNode[M client.Object](t *testing.T, rigged func(*testing.T, ...func(M)) *rig[M]) {
	left := func(g *rig[M]) (n corev1.Node) {
		if err := g.target.WithWatch.Get(t.Context(), client.ObjectKey{Name: "node-0"}, &n); err != nil {
			g.Fatalf("the node that was left: %v", err)
		}
		return n
	}
	for _, tt := range []struct {
		reason, foretold string
		taken            bool
	}{
		{"the machine's node is called otherwise", "node-1", false},
		{"nobody knows how it is called", "", true},
		{"it is called that", "node-0", true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := rigged(t)
			g.cloud.next.NodeName = tt.foretold
			g.leftNode()
			before := left(g)
			g.some(3)
			if got := left(g).ResourceVersion != before.ResourceVersion; got != tt.taken {
				t.Errorf("the node that was left is written: %v, want %v; %q", got, tt.taken, g.written())
			}
			if tt.taken {
				return
			}
			g.joins()
			g.some(3)
			if got := g.lens.View(g.read()).Recorded.NodeName; got != "node-1" {
				t.Errorf("the machine's node is %q", got)
			}
			g.delete()
			g.some(5)
			if after := left(g); !g.gone() || after.ResourceVersion != before.ResourceVersion {
				t.Errorf("gone %v, the node that was left is %v", g.gone(), after)
			}
		})
	}
}

// shy is a cache that does not show yet whose nodes are.
type shy struct{ client.Client }

func (c shy) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, o, opts...)
	if n, ok := o.(*corev1.Node); ok {
		n.Spec.ProviderID = ""
	}
	return err
}

// TestNodeThatSaysLateWhoseItIs: a node has the name of the machine's, and the provider ID
// of another instance, which caches show late. The reply to the cordon has it: the node is
// neither drained nor deleted for the machine.
func TestNodeThatSaysLateWhoseItIs(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { nodeThatSaysLate(openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { nodeThatSaysLate(gardenerRig(t)) })
}

func nodeThatSaysLate[M client.Object](g *rig[M]) {
	g.some(3)
	g.joins()
	n := g.stored("node-1")
	before := n.DeepCopy()
	n.Spec.ProviderID = "memory:///i-9"
	if err := g.target.WithWatch.Patch(g.Context(), n, client.MergeFrom(before)); err != nil {
		g.Fatal(err)
	}
	g.pod("web-0", false)
	g.cache = shy{g.target}
	g.restart()
	g.delete()
	g.clock.Step(time.Minute)
	if g.some(10); !g.gone() {
		g.Error("the machine is there")
	}
	if writes := g.target.writes; slices.Contains(writes, "delete Node") || slices.Contains(writes, "create Pod/eviction") {
		g.Errorf("done to the node of another: %q", writes)
	}
	g.stored("node-1")
}
