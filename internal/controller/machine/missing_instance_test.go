package machine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/provider"
)

// beside makes running machines besides m-1, with Ready nodes, and their instances.
func beside(g *rig[*machinev1.Machine], n int) {
	g.Helper()
	for k := range n {
		id := fmt.Sprintf("i-%d", 10+k)
		m := openshiftMachine(func(m *machinev1.Machine) {
			m.Name = fmt.Sprintf("m-%d", 10+k)
			m.UID = types.UID("uid-" + m.Name)
			m.Finalizers = []string{openshiftFinalizer}
			m.Spec.ProviderID, m.Status.Phase = ptr.To("memory:///"+id), ptr.To("Running")
			m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: m.Name}
		})
		if err := g.control.WithWatch.Create(g.Context(), m); err != nil {
			g.Fatal(err)
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Name}}
		node.Spec.ProviderID = *m.Spec.ProviderID
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if err := g.target.WithWatch.Create(g.Context(), node); err != nil {
			g.Fatal(err)
		}
		g.cloud.instances = append(g.cloud.instances, provider.Instance{ID: id, ProviderID: node.Spec.ProviderID, UID: "uid-" + id, State: provider.Running})
	}
}

// TestFleetIsNotSeen: a machine whose instance is not listed, and whose node is
// silent, is neither failed nor let go when hardly any instance of the others is
// listed either, though their nodes are Ready.
func TestFleetIsNotSeen(t *testing.T) {
	for _, tt := range []struct {
		reason string
		others int
		then   func(*rig[*machinev1.Machine])
		want   string
		lists  int
	}{
		{"the account is another one", 3, func(g *rig[*machinev1.Machine]) { g.cloud.instances = nil }, "it shows 0 of the 3 instances", 1},
		{"one is seen of three", 3, func(g *rig[*machinev1.Machine]) { g.cloud.instances = g.cloud.instances[3:] }, "it shows 1 of the 3 instances", 1},
		{"most are seen", 3, func(g *rig[*machinev1.Machine]) { g.cloud.instances = g.cloud.instances[1:] }, "", 1},
		{"the listing is denied", 2, func(g *rig[*machinev1.Machine]) {
			g.cloud.instances, g.cloud.listErr = g.cloud.instances[1:], provider.Errorf(provider.Denied, "not authorized")
		}, "cannot be listed as a whole: not authorized", 1},
		{"one other proves nothing", 1, func(g *rig[*machinev1.Machine]) { g.cloud.instances = nil }, "", 0},
		{"the others' nodes are silent, too: the account was wiped", 3, func(g *rig[*machinev1.Machine]) {
			g.cloud.instances = nil
			for k := range 3 {
				silence(g, fmt.Sprintf("m-%d", 10+k))
			}
		}, "", 0},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := openshiftRig(t)
			g.settle()
			beside(g, tt.others)
			tt.then(g)
			g.reports(corev1.ConditionUnknown)
			g.pass()
			failed := ptr.Deref(g.read().Status.Phase, "") == "Failed"
			if failed != (tt.want == "") || !strings.Contains(existsSays(g.read()), tt.want) || g.cloud.count("List") != tt.lists {
				t.Errorf("failed %v, says %q, %d listings", failed, existsSays(g.read()), g.cloud.count("List"))
			}
			g.delete()
			for range 4 {
				g.clock.Step(time.Second)
				g.pass()
			}
			if g.gone() != (tt.want == "") || g.cloud.count("List") > 1 {
				t.Errorf("deleted: gone %v, says %q, %d listings", g.gone(), existsSays(g.read()), g.cloud.count("List"))
			}
		})
	}
}

// TestDoubtEnds: by new instances that are listed.
func TestDoubtEnds(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	beside(g, 2)
	there := g.cloud.instances
	g.cloud.instances = nil
	g.reports(corev1.ConditionUnknown)
	g.delete()
	g.some(2)
	if g.gone() {
		t.Fatal("let go although nothing of the fleet is seen")
	}
	g.cloud.instances = there[1:2]
	g.some(1)
	if !g.gone() {
		t.Error("not let go although half of the others is seen")
	}
}

func silence(g *rig[*machinev1.Machine], name string) {
	g.Helper()
	n := &corev1.Node{}
	if err := g.target.Get(g.Context(), client.ObjectKey{Name: name}, n); err != nil {
		g.Fatal(err)
	}
	before := n.DeepCopy()
	n.Status.Conditions[0].Status = corev1.ConditionUnknown
	if err := g.target.WithWatch.Status().Patch(g.Context(), n, client.MergeFrom(before)); err != nil {
		g.Fatal(err)
	}
}
