package judge

import (
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestPodsLeaveByTheMachineOfTheirNode: machines of both APIs are named m, and have
// recorded a node of that name. It is that of the machine whose instance made it.
func TestPodsLeaveByTheMachineOfTheirNode(t *testing.T) {
	for _, tc := range []struct {
		reason string
		made   types.UID
		broken []string
	}{
		{reason: "machine.openshift.io lets volumes go at once, and has no hook here", made: "theirs"},
		{reason: "the other API lets them go in turn", made: "m", broken: []string{VolumesInTurn}},
		{reason: "nobody knows who made it: the first that has recorded it", broken: nil},
	} {
		s := newScene()
		s.judge.APIs = append([]API{{Machine: &machinev1.Machine{}, Set: &machinev1.MachineSet{}, Deployment: &machinev1.MachineSet{}}}, s.judge.APIs...)
		deleted := &metav1.Time{Time: s.now.Add(-time.Minute)}
		theirs := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "theirs", DeletionTimestamp: deleted}}
		if tc.made == "" {
			theirs.Status.NodeRef = &corev1.ObjectReference{Name: "m"}
		}
		s.write(nil, theirs)
		s.write(nil, gardenerMachine("m", func(m *v1alpha1.Machine) { m.DeletionTimestamp = deleted }))
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "n"}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.now.Add(-24 * time.Hour))}}
		s.write(nil, n)
		s.instances = []Instance{{ID: "i-1", UID: "another", Node: "before"}, {ID: "i-2", UID: string(tc.made), Node: "n"}}
		pods := []*corev1.Pod{database("db-0"), database("db-1")}
		for _, pod := range pods {
			s.write(nil, pod)
		}
		p := s.begin(Machines, 1)
		for _, pod := range pods {
			going := pod.DeepCopy()
			going.DeletionTimestamp = &metav1.Time{Time: s.now.Add(30 * time.Second)}
			s.write(p, going)
			s.judge.PodLeaves(p, pod, going, false)
		}
		if !slices.Equal(s.broken, tc.broken) {
			t.Errorf("%s: broken %q, want %q", tc.reason, s.broken, tc.broken)
		}
	}
}
