package openshift

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/provider"
)

var compatNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A drain of this API waits for ever and honours budgets for ever: neither age
// nor a silent kubelet nor the other API's label gets a pod deleted.
func TestNothingForcesADrain(t *testing.T) {
	ago := metav1.NewTime(compatNow.AddDate(-1, 0, 0))
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Name: "m", CreationTimestamp: ago, DeletionTimestamp: &ago, Finalizers: []string{machinev1.MachineFinalizer},
		Labels: map[string]string{"force-deletion": "true"},
	}}
	n := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: ago},
	}}}
	w := lifecycle.World{
		Instances: lifecycle.Instances{Looked: true, Own: []provider.Instance{{State: provider.Running}}},
		Node:      lifecycle.Node{Looked: true, Object: n},
	}
	d := lifecycle.Decide(compatNow, Machines{}.View(m), w, Machines{}.Policy(m))
	if d.Step != lifecycle.Drain || d.Force {
		t.Errorf("a year after deletion: %s, forced %v", d.Step, d.Force)
	}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}}
	tried := drain.Attempts{"p": {At: compatNow.Add(-time.Hour), Refusals: 10_000}}
	p := Machines{}.Policy(m).Drain.Policy
	p.NodeUnreachable = true
	if d := drain.Decide(compatNow, drain.Facts{Pods: []corev1.Pod{pod}}, drain.Memory{Attempts: tried}, p); len(d.Evict) != 1 || len(d.Delete) != 0 {
		t.Errorf("after 10000 refusals: evicts %v, deletes %v", d.Evict, d.Delete)
	}
}

// What went wrong stays readable to the end: neither a pass over a failed
// machine nor its deletion clears it.
func TestFailureStaysReadable(t *testing.T) {
	m := &machinev1.Machine{Status: machinev1.MachineStatus{
		Phase:        ptr.To(machinev1.PhaseFailed),
		ErrorReason:  ptr.To(machinev1.InvalidConfigurationMachineError),
		ErrorMessage: ptr.To("there is no zone q"),
	}}
	for _, d := range []lifecycle.Decision{
		{Step: lifecycle.Settled, Reason: lifecycle.ReasonFailed, Stage: lifecycle.StageFailed},
		{Step: lifecycle.Await, Reason: lifecycle.ReasonTerminating, Stage: lifecycle.StageDeleting},
	} {
		Machines{}.Record(m, lifecycle.Outcome{Decision: d, At: compatNow})
		if ptr.Deref(m.Status.ErrorReason, "") != machinev1.InvalidConfigurationMachineError || ptr.Deref(m.Status.ErrorMessage, "") != "there is no zone q" {
			t.Errorf("after %s: %v, %v", d.Reason, m.Status.ErrorReason, m.Status.ErrorMessage)
		}
	}
	if *m.Status.Phase != machinev1.PhaseDeleting {
		t.Errorf("phase %s", *m.Status.Phase)
	}
}

// A set of this API leaves living machines alone: failed ones are no reason to
// make others, and a new template is for machines to come.
func TestSetLeavesLivingMachinesAlone(t *testing.T) {
	s := &machinev1.MachineSet{Spec: machinev1.MachineSetSpec{
		Replicas: ptr.To(int32(1)),
		Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "a"}},
		Template: machinev1.MachineTemplateSpec{ObjectMeta: machinev1.ObjectMeta{Labels: map[string]string{"pool": "a", "new": "label"}}},
	}}
	failed := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"pool": "a"}}}
	failed.Status.Phase, failed.Status.ErrorMessage = ptr.To(machinev1.PhaseFailed), ptr.To("can't find created instance")
	none := dialect.Nodes(func(string) *corev1.Node { return nil })
	d := replicas.Decide(compatNow, Sets{}.View(s).Set, []replicas.Member{Sets{}.Member(s, failed, none)}, Sets{}.View(s).Policy)
	if d.Acts() || d.Reason != replicas.Settled {
		t.Errorf("with one failed machine of one: %s, %s", d.Reason, d.Message)
	}
	if (Sets{}).Propagate(s, failed, false) || failed.Labels["new"] != "" {
		t.Error("the template reached a living machine")
	}
}

// A linked node is enough to run: its readiness is no part of this API's phase.
func TestLinkedIsRunning(t *testing.T) {
	if !(Machines{}).Policy(&machinev1.Machine{}).Join.LinkedIsRunning {
		t.Error("a machine waits for its node to be Ready")
	}
}

// Everything that spec.metadata and spec.taints say reaches the node, by the
// additive rule, with the annotation that links the two.
func TestWantedOfTheNode(t *testing.T) {
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}}
	m.Spec.ObjectMeta.Labels = map[string]string{"tier": "a"}
	m.Spec.ObjectMeta.Annotations = map[string]string{"note": "b"}
	m.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	n, _, err := Machines{}.Want(m, dialect.Class{}).Plan(&corev1.Node{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"note": "b", "machine.openshift.io/machine": "ns/m"}
	if n.Labels["tier"] != "a" || !maps.Equal(n.Annotations, want) || len(n.Spec.Taints) != 1 {
		t.Errorf("labels %v, annotations %v, taints %v", n.Labels, n.Annotations, n.Spec.Taints)
	}
	m.Spec.ObjectMeta, m.Spec.Taints = machinev1.ObjectMeta{}, nil
	if _, changed, err := (Machines{}).Want(m, dialect.Class{}).Plan(n); err != nil || changed {
		t.Errorf("what was wanted before is taken away: %v", err)
	}
}

// The engine's policy for the sets of this API, by delete policy. Failed machines are not replaced (C5).
func TestSetPolicyOfTheAPI(t *testing.T) {
	for name, first := range map[string]replicas.Criterion{
		"": replicas.UnlinkedFirst, "Random": replicas.UnlinkedFirst, "Oldest": replicas.OldestFirst, "Newest": replicas.NewestFirst,
	} {
		t.Run(name, func(t *testing.T) {
			s := &machinev1.MachineSet{Spec: machinev1.MachineSetSpec{DeletePolicy: name, MinReadySeconds: 7}}
			want := replicas.Policy{Burst: 500, Order: []replicas.Criterion{first}, MinReady: 7 * time.Second}
			if diff := cmp.Diff(want, Sets{}.View(s).Policy); diff != "" {
				t.Errorf("delete policy %q (-want +got)\n%s", name, diff)
			}
		})
	}
}
