package machine_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/provider"
)

const appliedKey = "node.machine.sapcloud.io/last-applied-anno-labels-taints"

func keysOf(n *corev1.Node) string {
	var out []string
	for _, t := range n.Spec.Taints {
		out = append(out, t.Key)
	}
	for k := range n.Labels {
		if strings.Contains(k, "tenant") || k == "tier" {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// forge does what a kubelet may do: it annotates its own node. A person has
// fenced the node meanwhile.
func forge(g *rig[*v1alpha1.Machine]) {
	g.edit(func(n *corev1.Node) {
		n.Labels["node-restriction.kubernetes.io/tenant"] = "low"
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "quarantine", Effect: corev1.TaintEffectNoSchedule})
		n.Annotations[appliedKey] = `{"metadata":{"labels":{"node-restriction.kubernetes.io/tenant":"low"}},"spec":{"taints":[{"key":"quarantine","effect":"NoSchedule"}]}}`
	})
}

// TestForgedRecordTakesNothing: what a machine has put on its node is remembered
// where its kubelet cannot write.
func TestForgedRecordTakesNothing(t *testing.T) {
	g := gardenerRig(t, func(m *v1alpha1.Machine) {
		m.Spec.NodeTemplateSpec.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	})
	g.settle()
	if got := g.read().Annotations[dialect.OnNodeAnnotation]; got != `{"labels":["tier"],"taints":["gpu:NoSchedule"]}` {
		t.Fatalf("the machine remembers %s", got)
	}
	forge(g)
	g.pass()
	if got := keysOf(g.node()); got != "gpu node-restriction.kubernetes.io/tenant quarantine tier" {
		t.Errorf("after the forged record the node has %s", got)
	}
	if got := g.node().Annotations[appliedKey]; got != `{"metadata":{"labels":{"tier":"a"}},"spec":{"taints":[{"key":"gpu","effect":"NoSchedule"}]}}` {
		t.Errorf("others read %s", got)
	}
	g.change(func(m *v1alpha1.Machine) { m.Spec.NodeTemplateSpec = v1alpha1.NodeTemplateSpec{} })
	forge(g)
	g.pass()
	if got := keysOf(g.node()); got != "node-restriction.kubernetes.io/tenant quarantine quarantine" {
		t.Errorf("without a template the node has %s", got)
	}
	if got := g.read().Annotations[dialect.OnNodeAnnotation]; got != "{}" {
		t.Errorf("without a template the machine remembers %s", got)
	}
}

// TestOwnedCostsNoWrite: it goes along with the finalizer.
func TestOwnedCostsNoWrite(t *testing.T) {
	g := gardenerRig(t, func(m *v1alpha1.Machine) {
		m.Spec.NodeTemplateSpec.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	})
	g.pass()
	g.joins()
	g.pass()
	n := 0
	for _, w := range g.written() {
		if strings.HasPrefix(w, "patch Machine!") {
			n++
		}
	}
	if n != 2 { // the finalizer; provider ID and node
		t.Errorf("%d writes of the machine but for its status", n)
	}
}

// TestTakenOverMachineRemembers what a kubelet could not take off, and is spared
// the write where there is nothing of the kind.
func TestTakenOverMachineRemembers(t *testing.T) {
	for _, r := range []struct {
		reason string
		taints []corev1.Taint
		want   string
	}{
		{"only a label that the kubelet may remove itself", nil, ""},
		{"a taint", []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}, `{"labels":["tier"],"taints":["gpu:NoSchedule"]}`},
	} {
		g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer), func(m *v1alpha1.Machine) {
			m.Labels["node"], m.Spec.ProviderID = "node-1", "memory:///i-1"
			m.Status.CurrentStatus.Phase = "Running"
			m.Spec.NodeTemplateSpec.Spec.Taints = r.taints
		})
		i := g.cloud.next
		i.UID = "uid-1"
		g.cloud.instances = []provider.Instance{i}
		g.joins()
		g.pass()
		if got := g.read().Annotations[dialect.OnNodeAnnotation]; got != r.want {
			t.Errorf("%s: the machine remembers %q, want %q", r.reason, got, r.want)
		}
		forge(g)
		g.change(func(m *v1alpha1.Machine) { m.Spec.NodeTemplateSpec = v1alpha1.NodeTemplateSpec{} })
		g.pass()
		for _, key := range []string{"quarantine", "node-restriction.kubernetes.io/tenant"} {
			if got := keysOf(g.node()); !strings.Contains(got, key) || strings.Contains(got, "gpu") {
				t.Errorf("%s: the node has %s", r.reason, got)
			}
		}
	}
}

// TestCapacityOfAnUnreadableClass stays: the class did not drop it.
func TestCapacityOfAnUnreadableClass(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.edit(func(n *corev1.Node) {
		n.Annotations["node.machine.sapcloud.io/last-applied-virtual-capacity"] = `{"x.io/v":"1"}`
	})
	if err := g.control.WithWatch.Delete(t.Context(), machineClass()); err != nil {
		t.Fatal(err)
	}
	g.pass()
	if g.node().Annotations["node.machine.sapcloud.io/last-applied-virtual-capacity"] == "" {
		t.Error("virtual capacity went although the class cannot be read")
	}
}
