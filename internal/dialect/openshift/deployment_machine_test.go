package openshift

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

func TestDeploymentViewMachine(t *testing.T) {
	linked := func(m *machinev1.Machine) { m.Status.NodeRef = &corev1.ObjectReference{Name: "node-1"} }
	node := func(changes ...func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(setNow)}}
		for _, c := range changes {
			c(n)
		}
		return n
	}
	ready := rollout.Machine{Member: replicas.Member{Ready: true, Usable: true, ReadySince: setNow}, Joined: true, Node: "node-1", Seen: true}
	with := func(m rollout.Machine, change func(*rollout.Machine)) rollout.Machine { change(&m); return m }
	annotate := func(key, value string) func(*corev1.Node) {
		return func(n *corev1.Node) { set(&n.Annotations, key, value) }
	}
	tests := map[string]struct {
		reason string
		change func(*machinev1.Machine)
		node   *corev1.Node
		want   rollout.Machine
	}{
		"no node":      {"it has not joined", func(*machinev1.Machine) {}, nil, rollout.Machine{}},
		"node gone":    {"joined once, not there", linked, nil, rollout.Machine{Joined: true, Node: "node-1"}},
		"ready":        {"since the node's transition", linked, node(), ready},
		"not ready":    {"the node says so", linked, node(func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }), rollout.Machine{Joined: true, Node: "node-1", Seen: true}},
		"leaving":      {"on its way out", func(m *machinev1.Machine) { linked(m); m.DeletionTimestamp = &metav1.Time{Time: setNow} }, node(), with(ready, func(m *rollout.Machine) { m.Deleting = true })},
		"failed phase": {"given up: its node counts no more", func(m *machinev1.Machine) { linked(m); m.Status.Phase = ptr.To("Failed") }, node(), with(ready, func(m *rollout.Machine) { m.Failed, m.Usable = true, false })},
		"error reason": {"given up", func(m *machinev1.Machine) { m.Status.ErrorReason = ptr.To(machinev1.CreateMachineError) }, nil, rollout.Machine{Member: replicas.Member{Failed: true}}},
		"asked": {"the autoscaler's mark", func(m *machinev1.Machine) {
			set(&m.Annotations, DeleteMachineAnnotation, "2026-01-02 03:04:05 +0000 UTC")
		}, nil, rollout.Machine{Member: replicas.Member{Asked: true}}},
		"asked, old": {"the older spelling", func(m *machinev1.Machine) { set(&m.Annotations, OldDeleteMachineAnnotation, "yes") }, nil, rollout.Machine{Member: replicas.Member{Asked: true}}},
		"avoided": {"our taint", linked, node(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: OutdatedKey, Effect: corev1.TaintEffectPreferNoSchedule}}
		}), with(ready, func(m *rollout.Machine) { m.Marks.Avoid = true })},
		"other effect": {"not our taint", linked, node(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: OutdatedKey, Effect: corev1.TaintEffectNoSchedule}}
		}), ready},
		"stays, ours":   {"both annotations", linked, node(annotate(ScaleDownDisabledAnnotation, "true"), annotate(ScaleDownDisabledByAnnotation, "rollout")), with(ready, func(m *rollout.Machine) { m.Marks.Stay = true })},
		"stays, theirs": {"somebody else asked for it", linked, node(annotate(ScaleDownDisabledAnnotation, "true")), with(ready, func(m *rollout.Machine) { m.Marks.StayForeign = true })},
		"taken over":    {"another owner's mark", linked, node(annotate(ScaleDownDisabledAnnotation, "true"), annotate(ScaleDownDisabledByAnnotation, "me")), with(ready, func(m *rollout.Machine) { m.Marks.StayForeign = true })},
		"switched off":  {"the mark alone does nothing", linked, node(annotate(ScaleDownDisabledAnnotation, "false"), annotate(ScaleDownDisabledByAnnotation, "rollout")), ready},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "u", CreationTimestamp: metav1.NewTime(setNow)}}
			tc.change(m)
			tc.want.Name, tc.want.UID, tc.want.Created, tc.want.Linked = "m", "u", setNow, tc.want.Joined
			if diff := cmp.Diff(tc.want, deployedMachines{}.View(m, dialect.OnNode(tc.node))); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

// MarkNode(n, w) shows w, does nothing when done again, and leaves alone what
// others wrote.
func TestDeploymentMarkNode(t *testing.T) {
	foreignTaint := corev1.Taint{Key: "theirs", Effect: corev1.TaintEffectNoSchedule}
	m := &machinev1.Machine{Status: machinev1.MachineStatus{NodeRef: &corev1.ObjectReference{Name: "node-1"}}}
	view := func(n *corev1.Node) rollout.Marks { return deployedMachines{}.View(m, dialect.OnNode(n)).Marks }
	for _, from := range []rollout.NodeWant{{}, {Avoid: true}, {Stay: true}, {Avoid: true, Stay: true}} {
		for _, to := range []rollout.NodeWant{{}, {Avoid: true}, {Stay: true}, {Avoid: true, Stay: true}} {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"theirs": "x"}}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{foreignTaint}}}
			deployedMachines{}.MarkNode(n, from)
			deployedMachines{}.MarkNode(n, to)
			if got := view(n); got.Avoid != to.Avoid || got.Stay != to.Stay || got.StayForeign {
				t.Errorf("from %+v to %+v: %+v", from, to, got)
			}
			again := n.DeepCopy()
			deployedMachines{}.MarkNode(again, to)
			if diff := cmp.Diff(n, again); diff != "" {
				t.Errorf("to %+v again:\n%s", to, diff)
			}
			deployedMachines{}.MarkNode(n, rollout.NodeWant{})
			if diff := cmp.Diff(map[string]string{"theirs": "x"}, n.Annotations); diff != "" || len(n.Spec.Taints) != 1 || n.Spec.Taints[0] != foreignTaint {
				t.Errorf("what is left: %v, %v", n.Annotations, n.Spec.Taints)
			}
		}
	}
	theirs := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{ScaleDownDisabledAnnotation: "true"}}}
	before := theirs.DeepCopy()
	deployedMachines{}.MarkNode(theirs, rollout.NodeWant{Stay: true})
	deployedMachines{}.MarkNode(theirs, rollout.NodeWant{})
	if diff := cmp.Diff(before, theirs); diff != "" {
		t.Errorf("somebody else's wish was touched:\n%s", diff)
	}
}
