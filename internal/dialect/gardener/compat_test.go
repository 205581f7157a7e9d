package gardener

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/provider"
)

var compatNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestForceDeletionLabel(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "True": true, "1": true, "false": false, "": false, "please": false} {
		m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"force-deletion": value}}}
		if got := (Machines{}).View(m).Deletion.Force; got != want {
			t.Errorf("label force-deletion=%q: forced %v", value, got)
		}
	}
	if (Machines{}).View(&v1alpha1.Machine{}).Deletion.Force {
		t.Error("forced without the label")
	}
}

// Pods that are forced off a node whose kubelet answers get time to end, so that
// two of one name never write at once; the original kills them (C2).
func TestForcedDrainLeavesGraceWhereTheKubeletAnswers(t *testing.T) {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}}
	policy := Machines{Defaults: StandardDefaults()}.Policy(&v1alpha1.Machine{})
	if policy.Drain.UnreachableAfter != 5*time.Minute {
		t.Errorf("forced after %v without Ready, want 5 minutes", policy.Drain.UnreachableAfter)
	}
	p := policy.Drain.Policy
	facts := drain.Facts{Pods: []corev1.Pod{pod}}
	if d := drain.Decide(compatNow, facts, drain.Memory{}, p); len(d.Evict) != 1 || d.Evict[0].Grace != nil {
		t.Errorf("unforced: %+v", d)
	}
	p.Force = true
	if d := drain.Decide(compatNow, facts, drain.Memory{}, p); len(d.Delete) != 1 || *d.Delete[0].Grace != 30*time.Second {
		t.Errorf("forced: %+v", d)
	}
	p.NodeUnreachable = true
	if d := drain.Decide(compatNow, facts, drain.Memory{}, p); len(d.Delete) != 1 || *d.Delete[0].Grace != 0 {
		t.Errorf("forced, with a silent kubelet: %+v", d)
	}
}

// minReadySeconds is stored and has no effect, as in the original.
func TestMinReadySecondsDoesNotCount(t *testing.T) {
	s := &v1alpha1.MachineSet{Spec: v1alpha1.MachineSetSpec{Replicas: 1, MinReadySeconds: 3600}}
	m := &v1alpha1.Machine{Status: v1alpha1.MachineStatus{CurrentStatus: v1alpha1.CurrentStatus{
		Phase: v1alpha1.MachineRunning, LastUpdateTime: metav1.NewTime(compatNow),
	}}}
	none := dialect.Nodes(func(string) *corev1.Node { return nil })
	got := replicas.Count(compatNow, []replicas.Member{Sets{}.Member(s, m, none)}, Sets{}.View(s).Policy)
	if got.Available != 1 || got.Next != 0 {
		t.Errorf("a machine that runs since now: %+v", got)
	}
}

// Where machines join no cluster, they are Available with their addresses.
func TestAvailableWithoutATarget(t *testing.T) {
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(compatNow), Finalizers: []string{v1alpha1.FinalizerMachine}}}
	m.Spec.Class = v1alpha1.ClassSpec{Kind: v1alpha1.KindMachineClass, Name: "c"}
	w := lifecycle.World{Instances: lifecycle.Instances{Looked: true, Own: []provider.Instance{{
		ProviderID: "memory:///i-1", NodeName: "n-1", State: provider.Running,
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}},
	}}}}
	lens := Machines{Defaults: StandardDefaults()}
	p := lens.Policy(m)
	p.Targetless = true
	lens.Record(m, lifecycle.Outcome{Decision: lifecycle.Decide(compatNow, lens.View(m), w, p), World: w, At: compatNow})
	if m.Status.CurrentStatus.Phase != v1alpha1.MachineAvailable || m.Status.CurrentStatus.TimeoutActive || len(m.Status.Addresses) != 2 {
		t.Errorf("status %+v, addresses %v", m.Status.CurrentStatus, m.Status.Addresses)
	}
	if op := m.Status.LastOperation; op.State != v1alpha1.MachineStateSuccessful || op.Description != "Created machine on cloud provider" {
		t.Errorf("last operation %+v", op)
	}
}

// The pauses are upper bounds that clients count on, and the taint of critical
// components keeps a machine from running.
func TestPolicyOfTheAPI(t *testing.T) {
	p := Machines{Defaults: StandardDefaults()}.Policy(&v1alpha1.Machine{})
	if want := (lifecycle.Delays{Transient: 5 * time.Second, Exhausted: 10 * time.Minute, Other: 3 * time.Minute}); p.Delays != want {
		t.Errorf("pauses %+v, want %+v", p.Delays, want)
	}
	if want := []string{"node.gardener.cloud/critical-components-not-ready"}; !slices.Equal(p.Join.HoldingTaints, want) {
		t.Errorf("taints %v, want %v", p.Join.HoldingTaints, want)
	}
}

// The node template and virtual capacity reach the node and leave it again.
func TestWantedOfTheNode(t *testing.T) {
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	template := &m.Spec.NodeTemplateSpec
	template.Labels, template.Annotations = map[string]string{"tier": "a"}, map[string]string{"note": "b"}
	template.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	class := dialect.Class{Capacity: corev1.ResourceList{"example.com/slots": resource.MustParse("3")}}
	bare := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"foreign": "c"}}}
	want := Machines{}.Want(m, class)
	n, _, err := want.Plan(bare)
	if err != nil {
		t.Fatal(err)
	}
	slots := n.Status.Capacity["example.com/slots"]
	if n.Labels["tier"] != "a" || n.Annotations["note"] != "b" || len(n.Spec.Taints) != 1 || slots.Value() != 3 {
		t.Errorf("%v, %v, %v, %v", n.Labels, n.Annotations, n.Spec.Taints, n.Status.Capacity)
	}
	for _, key := range []string{"node.machine.sapcloud.io/last-applied-anno-labels-taints", "node.machine.sapcloud.io/last-applied-virtual-capacity"} {
		if n.Annotations[key] == "" {
			t.Errorf("%s is not recorded in %v", key, n.Annotations)
		}
	}
	*template = v1alpha1.NodeTemplateSpec{}
	put := want.Puts()
	want = Machines{}.Want(m, dialect.Class{})
	want.Owned = &put
	n, _, err = want.Plan(n)
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"foreign": "c", "node.gardener.cloud/machine-name": "m"}
	if !maps.Equal(n.Labels, labels) || n.Annotations["note"] != "" || len(n.Spec.Taints) != 0 || len(n.Status.Capacity) != 0 {
		t.Errorf("not taken away again: %v, %v, %v, %v", n.Labels, n.Annotations, n.Spec.Taints, n.Status.Capacity)
	}
}

// The engine's policy for the sets of this API.
func TestSetPolicyOfTheAPI(t *testing.T) {
	want := replicas.Policy{
		Burst: 100, ReplaceFailed: true, HonourMarks: true, Cascade: true, StatusCountsLeaving: true,
		Order: []replicas.Criterion{replicas.KeptLast, replicas.ByPriority, replicas.MarkedFirst, replicas.ByPhase, replicas.ByAge},
	}
	if diff := cmp.Diff(want, Sets{}.View(&v1alpha1.MachineSet{}).Policy); diff != "" {
		t.Errorf("policy (-want +got)\n%s", diff)
	}
}
