package machine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (g *rig[M]) identifies(nodes bool) {
	g.cloud.traits.IdentifiesNodes = nodes
	g.cloud.next = nameless(g.cloud.next)
}

// registers lets a node of the name appear that shows the address of the machine's instance.
func (g *rig[M]) registers(name, providerID string) {
	g.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	n.Spec.ProviderID = providerID
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := g.target.WithWatch.Create(g.Context(), n); err != nil {
		g.Fatal(err)
	}
}

func (g *rig[M]) shows(name string) string {
	g.Helper()
	var n corev1.Node
	if err := g.target.Get(g.Context(), client.ObjectKey{Name: name}, &n); err != nil {
		g.Fatal(err)
	}
	return n.Spec.ProviderID
}

// TestNodeIsIdentified: if no other controller does so, the node of a machine is given its provider ID as
// soon as that is known, in the write that updates the node, and is left alone from then on.
func TestNodeIsIdentified(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { nodeIsIdentified(t, openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { nodeIsIdentified(t, gardenerRig(t)) })
}

func nodeIsIdentified[M client.Object](t *testing.T, g *rig[M]) {
	g.identifies(true)
	g.pass()
	g.registers("node-1", "")
	g.written()
	g.pass()
	if got := g.shows("node-1"); got != "memory:///i-1" || got != g.providerID() {
		t.Errorf("the node shows %q, the machine %q", got, g.providerID())
	}
	patches := slices.DeleteFunc(g.written(), func(w string) bool { return w != "patch Node" && w != "patch Node!" })
	if len(patches) != 1 {
		t.Errorf("the node was written by %q", patches)
	}
	g.restart()
	g.pass()
	if writes := g.written(); len(writes) > 0 {
		t.Errorf("written again: %q", writes)
	}
}

// TestNodeIsNotIdentified: what a node shows is never taken from it, and what may be another's is given nothing.
func TestNodeIsNotIdentified(t *testing.T) {
	for _, tt := range []struct {
		reason string
		says   bool
		change func(*testing.T, func(name, providerID string), *cloud)
		want   string
	}{
		{"somebody else tells nodes who they are", false, func(_ *testing.T, registers func(string, string), _ *cloud) { registers("node-1", "") }, ""},
		{"another node shows it", true, func(_ *testing.T, registers func(string, string), _ *cloud) {
			registers("node-1", "")
			registers("node-9", "memory:///i-1")
		}, ""},
		{"it is known by its name, which another instance has", true, func(_ *testing.T, registers func(string, string), c *cloud) {
			registers("node-1", "")
			other := made("i-2", "uid-2", 0)
			other.Name = "m-2"
			c.instances = append(c.instances, other)
		}, ""},
		{"it shows another's", true, func(_ *testing.T, registers func(string, string), _ *cloud) { registers("node-1", "memory:///i-9") }, "memory:///i-9"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := openshiftRig(t)
			g.identifies(tt.says)
			g.pass()
			m := g.read()
			m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: "node-1", UID: "uid-node-1"}
			if err := g.control.WithWatch.Status().Update(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			tt.change(t, g.registers, g.cloud)
			g.restart()
			g.pass()
			g.pass()
			if got := g.shows("node-1"); got != tt.want {
				t.Errorf("the node shows %q, want %q", got, tt.want)
			}
		})
	}
}

// TestNodeIsIdentifiedLater: while the infrastructure cannot tell whose a node is, the machine runs, and it is asked again.
func TestNodeIsIdentifiedLater(t *testing.T) {
	g := openshiftRig(t)
	g.identifies(false)
	g.pass()
	g.registers("node-1", "")
	g.pass()
	g.identifies(true)
	g.clock.Step(time.Minute) // what was listed before is forgotten
	g.cloud.listErr = errors.New("connection reset")
	again := g.pass().RequeueAfter
	if got := g.shows("node-1"); got != "" || again == 0 || *g.read().Status.Phase != "Running" {
		t.Errorf("the node shows %q, asked again after %v, %s", got, again, *g.read().Status.Phase)
	}
	g.cloud.listErr = nil
	g.clock.Step(again + time.Second)
	g.pass()
	if got := g.shows("node-1"); got != "memory:///i-1" {
		t.Errorf("the node shows %q, %v later", got, again)
	}
}

// TestNodeIsNotIdentifiedOnTheWayOut: the deletion of a machine deletes the node as well.
func TestNodeIsNotIdentifiedOnTheWayOut(t *testing.T) {
	g := openshiftRig(t, func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreDrain = hook("wait") })
	g.identifies(false)
	g.pass()
	g.registers("node-1", "")
	g.pass()
	g.identifies(true)
	g.delete()
	g.pass()
	if got := g.shows("node-1"); got != "" {
		t.Errorf("the node shows %q", got)
	}
}
