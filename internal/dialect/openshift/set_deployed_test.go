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

func deployedSet(changes ...func(*machinev1.MachineSet)) *machinev1.MachineSet {
	s := deployedSets{}.New(sampleDeployment(), rollout.SetWant{Replicas: 3})
	s.UID = "set-uid"
	for _, c := range changes {
		c(s)
	}
	return s
}

// Sets of a deployment first delete marked machines, then those whose deletion costs no capacity. Other sets
// keep the order that they always had.
func TestDeployedSetOrder(t *testing.T) {
	for policy, criterion := range deleteOrders {
		s := deployedSet(func(s *machinev1.MachineSet) { s.Spec.DeletePolicy = string(policy) })
		if diff := cmp.Diff([]replicas.Criterion{replicas.UnavailableFirst, criterion}, Sets{}.View(s).Policy.Order); diff != "" {
			t.Errorf("%q (-want +got)\n%s", policy, diff)
		}
	}
	for name, ref := range map[string]metav1.OwnerReference{
		"another group":  {APIVersion: "apps/v1", Kind: "MachineDeployment", Controller: ptr.To(true)},
		"another kind":   {APIVersion: "machine.openshift.io/v1beta1", Kind: "Cluster", Controller: ptr.To(true)},
		"no controller":  {APIVersion: "machine.openshift.io/v1beta1", Kind: "MachineDeployment"},
		"broken version": {APIVersion: "a/b/c", Kind: "MachineDeployment", Controller: ptr.To(true)},
	} {
		t.Run(name, func(t *testing.T) {
			s := deployedSet(func(s *machinev1.MachineSet) { s.OwnerReferences = []metav1.OwnerReference{ref} })
			if order := (Sets{}).View(s).Policy.Order; len(order) != 1 {
				t.Errorf("owned by %s: %v", name, order)
			}
		})
	}
}

func TestHeldSetDoesNotGrow(t *testing.T) {
	for value, held := range map[string]bool{"true": true, "": true, "false": false} {
		t.Run(value, func(t *testing.T) {
			s := deployedSet(func(s *machinev1.MachineSet) { s.Annotations[ScaleUpDisabledAnnotation] = value })
			d := replicas.Decide(setNow, Sets{}.View(s).Set, nil, Sets{}.View(s).Policy)
			if got := d.Reason == replicas.Held && d.Create == 0; got != held {
				t.Errorf("%q: %s, creates %d", value, d.Reason, d.Create)
			}
		})
	}
}

// TestPropagate is the table of what reaches living machines.
func TestPropagate(t *testing.T) {
	none := func(*machinev1.Machine) {}
	tests := map[string]struct {
		reason   string
		template func(*machinev1.MachineTemplateSpec)
		before   func(*machinev1.Machine)
		want     func(*machinev1.Machine)
	}{
		"nothing":            {"it is as it was made", func(*machinev1.MachineTemplateSpec) {}, none, none},
		"a label":            {"added", func(t *machinev1.MachineTemplateSpec) { t.Labels["new"] = "x" }, none, func(m *machinev1.Machine) { m.Labels["new"] = "x" }},
		"a label changed":    {"the template wins", func(t *machinev1.MachineTemplateSpec) { t.Labels["own"] = "x" }, func(m *machinev1.Machine) { m.Labels["own"] = "y" }, func(m *machinev1.Machine) { m.Labels["own"] = "x" }},
		"a label less":       {"nothing is taken away", func(t *machinev1.MachineTemplateSpec) { delete(t.Annotations, "note") }, none, none},
		"a foreign label":    {"left alone", func(*machinev1.MachineTemplateSpec) {}, func(m *machinev1.Machine) { m.Labels["theirs"] = "x" }, func(m *machinev1.Machine) { m.Labels["theirs"] = "x" }},
		"an annotation":      {"added", func(t *machinev1.MachineTemplateSpec) { t.Annotations["new"] = "x" }, none, func(m *machinev1.Machine) { m.Annotations["new"] = "x" }},
		"labels of the node": {"replaced", func(t *machinev1.MachineTemplateSpec) { t.Spec.Labels = map[string]string{"tier": "b"} }, none, func(m *machinev1.Machine) { m.Spec.Labels = map[string]string{"tier": "b"} }},
		"taints of the node": {"replaced", func(t *machinev1.MachineTemplateSpec) { t.Spec.Taints = []corev1.Taint{{Key: "k"}} }, func(m *machinev1.Machine) { m.Spec.Taints = []corev1.Taint{{Key: "old"}} }, func(m *machinev1.Machine) { m.Spec.Taints = []corev1.Taint{{Key: "k"}} }},
		"taints taken away":  {"replaced", func(*machinev1.MachineTemplateSpec) {}, func(m *machinev1.Machine) { m.Spec.Taints = []corev1.Taint{{Key: "old"}} }, none},
		"hooks": {"for machines to come", func(t *machinev1.MachineTemplateSpec) {
			t.Spec.LifecycleHooks.PreDrain = []machinev1.LifecycleHook{{Name: "abc"}}
		}, none, none},
		"provider spec":      {"an instance cannot be changed", value(`{"size":9}`), none, none},
		"what was found out": {"the zone is where the instance is", func(t *machinev1.MachineTemplateSpec) { t.Labels[ZoneLabel] = "north-a" }, func(m *machinev1.Machine) { m.Labels[ZoneLabel] = "north-b" }, func(m *machinev1.Machine) { m.Labels[ZoneLabel] = "north-b" }},
		"the cluster": {
			"the instance was asked for where the label said, and stays there", func(t *machinev1.MachineTemplateSpec) {
				t.Labels[ClusterLabel], t.Annotations[dialect.OriginAnnotation] = "green", `{"cluster":"green"}`
			}, none, none,
		},
		"interruptible stays":  {"the machine controller wrote it", func(t *machinev1.MachineTemplateSpec) { t.Spec.Labels = map[string]string{"tier": "b"} }, func(m *machinev1.Machine) { m.Spec.Labels[InterruptibleLabel] = "" }, func(m *machinev1.Machine) { m.Spec.Labels = map[string]string{"tier": "b", InterruptibleLabel: ""} }},
		"interruptible, alone": {"it is no difference", func(*machinev1.MachineTemplateSpec) {}, func(m *machinev1.Machine) { m.Spec.Labels[InterruptibleLabel] = "" }, func(m *machinev1.Machine) { m.Spec.Labels[InterruptibleLabel] = "" }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := deployedSet()
			m := Sets{}.NewMachine(s, "workers-x7k2p").(*machinev1.Machine)
			want := m.DeepCopy()
			tc.template(&s.Spec.Template)
			tc.before(m)
			tc.want(want)
			given, template := m.DeepCopy(), s.DeepCopy()
			differs := cmp.Diff(want, given) != ""
			if got := (Sets{}).Propagate(s, m, true); got != differs || cmp.Diff(given, m) != "" {
				t.Errorf("%s: reports %v, want %v; and leaves the machine alone:\n%s", tc.reason, got, differs, cmp.Diff(given, m))
			}
			if got := (Sets{}).Propagate(s, m, false); got != differs {
				t.Errorf("%s: changed %v, want %v", tc.reason, got, differs)
			}
			if diff := cmp.Diff(want, m); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
			if (Sets{}).Propagate(s, m, true) {
				t.Errorf("%s: it never comes to rest", tc.reason)
			}
			if diff := cmp.Diff(template, s); diff != "" {
				t.Errorf("the set was changed:\n%s", diff)
			}
		})
	}
}

// The template of a set without a deployment does not change its machines.
func TestStandaloneSetsDoNotPropagate(t *testing.T) {
	s := sampleSet()
	m := Sets{}.NewMachine(s, "m").(*machinev1.Machine)
	s.Spec.Template.Labels = map[string]string{"new": "x"}
	s.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "k"}}
	before := m.DeepCopy()
	if (Sets{}).Propagate(s, m, false) || cmp.Diff(before, m) != "" {
		t.Errorf("it reached the machine:\n%s", cmp.Diff(before, m))
	}
}

// The autoscaler marks a machine and then lowers the replicas: that machine
// goes, though others are not ready.
func TestMarkedMachineOfADeployedSetGoesFirst(t *testing.T) {
	s := deployedSet(func(s *machinev1.MachineSet) { s.Spec.Replicas, s.Spec.DeletePolicy = ptr.To(int32(2)), "Oldest" })
	var members []replicas.Member
	for _, name := range []string{"a", "b", "c"} {
		m := Sets{}.NewMachine(s, name).(*machinev1.Machine)
		if name == "b" {
			set(&m.Annotations, DeleteMachineAnnotation, "2026-01-02 03:04:05 +0000 UTC m=+1.5")
			m.Status.NodeRef = &corev1.ObjectReference{Name: "ready"}
		}
		members = append(members, Sets{}.Member(s, m, dialect.Nodes(func(name string) *corev1.Node {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(setNow.AddDate(0, 0, -1))}}
			return n
		})))
	}
	d := replicas.Decide(setNow, Sets{}.View(s).Set, members, Sets{}.View(s).Policy)
	if len(d.Delete) != 1 || d.Delete[0].Name != "b" {
		t.Errorf("deletes %v, want b", d.Delete)
	}
}
