package judge

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestYoungNodes: a world is not at rest while a machine may still take a node that has no machine.
func TestYoungNodes(t *testing.T) {
	for _, tc := range []struct {
		reason string
		phase  v1alpha1.MachinePhase // of the machine that says it is its node; empty: none does
		age    time.Duration
		young  bool
	}{
		{"nobody has it", "", 5 * time.Minute, true},
		{"nobody has it, nor will have it", "", 20 * time.Minute, false},
		{"it is a machine's", v1alpha1.MachineRunning, 5 * time.Minute, false},
		{"it is a machine's that has lost it", v1alpha1.MachineUnknown, 5 * time.Minute, false},
		{"its machine was given up before it had joined", v1alpha1.MachineFailed, 5 * time.Minute, true},
	} {
		s := newScene()
		s.judge.APIs[0].JoinTimeout = 20 * time.Minute
		s.write(nil, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "node", CreationTimestamp: metav1.NewTime(s.now.Add(-tc.age))}})
		if tc.phase != "" {
			s.write(nil, gardenerMachine("n", func(m *v1alpha1.Machine) { m.Status.CurrentStatus.Phase = tc.phase }))
		}
		if name := s.judge.recentNode(); (name != "") != tc.young {
			t.Errorf("%s: %q", tc.reason, name)
		}
	}
}

// TestStrayNodes: a node without a machine must be deleted, unless it may belong to a foreign instance with the node's
// name.
func TestStrayNodes(t *testing.T) {
	for _, tc := range []struct {
		reason string
		others []Instance
		stray  bool
	}{
		{"nobody else has the name", nil, true},
		{"a neighbour has", []Instance{{ID: "i-2", NodeName: "n", Owner: "another"}}, false},
		{"a neighbour had", []Instance{{ID: "i-2", NodeName: "n", Owner: "another", Gone: time.Unix(1, 0)}}, true},
		{"a neighbour has another", []Instance{{ID: "i-2", NodeName: "o", Owner: "another"}}, true},
	} {
		s := newScene()
		s.judge.Owner, s.instances = "us", tc.others
		s.write(nil, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "node"}})
		if why := s.judge.Stray(); (why != "") != tc.stray {
			t.Errorf("%s: %q", tc.reason, why)
		}
	}
}

// TestPresentSet: if two sets have the deployment's template, the set with machines is the present one; if neither has
// machines, the set without marks of a rollout is.
func TestPresentSet(t *testing.T) {
	d := &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{UID: "d"}}
	d.Spec.Template.Spec.Class.Name = "present"
	one := func(uid types.UID, class string, n int, avoided bool) set {
		o := &v1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{UID: uid}}
		o.Spec.Template.Spec.Class.Name = class
		s := readSet(o)
		s.size, s.avoided = n, avoided
		return s
	}
	for _, tc := range []struct {
		all  []set
		want types.UID
	}{
		{nil, ""},
		{[]set{one("a", "old", 3, false)}, ""},
		{[]set{one("a", "present", 0, true), one("b", "present", 0, false)}, "b"},
		{[]set{one("a", "present", 0, false), one("b", "present", 0, true)}, "a"},
		{[]set{one("a", "present", 0, false), one("b", "present", 1, true)}, "b"},
		{[]set{one("a", "old", 2, false), one("b", "present", 0, false)}, "b"},
	} {
		if got := presentSet(readDeployment(d), tc.all); got != tc.want {
			t.Errorf("of %v: %q, want %q", tc.all, got, tc.want)
		}
	}
}
