package judge

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestFrozenWhileOthersHold: machines that only others hold count while they exist. A set thaws with fewer than
// twice its size plus two.
func TestFrozenWhileOthersHold(t *testing.T) {
	for _, tc := range []struct {
		reason     string
		size, held int
		ours, may  bool
	}{
		{reason: "nothing is there", may: false},
		{reason: "one by one is thawed at one", held: 1, may: false},
		{reason: "two of none wanted are too many", held: 2, may: true},
		{reason: "one that is wanted and two others are not", size: 1, held: 2, may: false},
		{reason: "and three others are", size: 1, held: 3, may: true},
		{reason: "what we hold ourselves has to go first", held: 2, ours: true, may: false},
	} {
		s := newScene()
		s.judge.Foreign = "example.com/backup"
		set := &v1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "s", Labels: map[string]string{v1alpha1.LabelKeyFreeze: "True"}}}
		set.Spec.Replicas = int32(tc.size)
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"set": "s"}}
		s.objects["s"] = set
		for i := range tc.size + tc.held {
			m := gardenerMachine(fmt.Sprint("m", i), func(m *v1alpha1.Machine) {
				m.Labels["set"] = "s"
				ofSet(set)(m)
				if i < tc.size {
					return
				}
				m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: s.now}, []string{s.judge.Foreign}
				if tc.ours {
					m.Finalizers = append(m.Finalizers, v1alpha1.FinalizerMachine)
				}
			})
			s.objects[types.UID(m.Name)] = m
		}
		if may := s.judge.unsettledDeployments() == ""; may != tc.may {
			t.Errorf("%s: may stay frozen %v, want %v", tc.reason, may, tc.may)
		}
	}
}
