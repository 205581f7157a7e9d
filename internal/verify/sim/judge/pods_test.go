package judge

import (
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestPodsLeaveByTheMachineOfTheirNode: machines of both APIs are named m, and have recorded a node of that name.
// It is the node of the machine whose instance registered it.
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

// TestVolumesFirst: an instance is terminated with an attached volume whose pod left a moment ago. A hostile
// kubelet's statements about its own node may cause that.
func TestVolumesFirst(t *testing.T) {
	for _, tc := range []struct {
		reason            string
		hostile, disowned bool
		// unseen: a cache that has stopped does not show the attachment.
		unseen bool
		broken []string
	}{
		{reason: "it is waited for", broken: []string{VolumesFirst}},
		{reason: "as far as a cache shows it", unseen: true},
		{reason: "also where somebody has put another machine's mark on the node", disowned: true, broken: []string{VolumesFirst}},
		{reason: "also where a hostile kubelet says nothing of that", hostile: true, broken: []string{VolumesFirst}},
		{reason: "a hostile kubelet has disowned its node", hostile: true, disowned: true},
	} {
		s := newScene()
		s.judge.Hostile = true
		s.write(nil, gardenerMachine("m", func(m *v1alpha1.Machine) { m.DeletionTimestamp = &metav1.Time{Time: s.now.Add(-time.Minute)} }))
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "n", Annotations: map[string]string{}}}
		n.Spec.ProviderID = "sim:///i"
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.now.Add(-24 * time.Hour))}}
		if tc.disowned {
			n.Annotations[machineMark] = "machines/another"
		}
		s.write(nil, n)
		volume := "v"
		s.write(nil, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume, UID: "v"}, Spec: corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Name: "db"}}})
		s.write(nil, &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a", CreationTimestamp: metav1.NewTime(s.now.Add(-time.Hour))},
			Spec:       storagev1.VolumeAttachmentSpec{NodeName: "m", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
		})
		s.remove(nil, s.write(nil, database("db")))
		i := Instance{ID: "i", UID: "m", Name: "m", Namespace: "machines", ProviderID: "sim:///i", NodeName: "m", Node: "n", Hostile: tc.hostile}
		s.instances = []Instance{i}
		s.now = s.now.Add(10 * time.Second)
		p := s.begin(Machines, 1)
		if tc.unseen {
			delete(p.seen, "a")
		}
		if s.judge.Stopped(i, p); !slices.Equal(s.broken, tc.broken) {
			t.Errorf("%s: broken %q, want %q", tc.reason, s.broken, tc.broken)
		}
	}
}
