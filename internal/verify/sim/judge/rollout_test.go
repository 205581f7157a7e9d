package judge

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestHandedOverTakesNoRoom: a set that still has to create two machines grows by the machine that the former template's set
// hands over, and creates no machine for that growth.
func TestHandedOverTakesNoRoom(t *testing.T) {
	for _, tc := range []struct{ handed, undone bool }{{true, false}, {false, false}, {true, true}} {
		handed := tc.handed
		s := newScene()
		d := &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d"}}
		d.Spec.Replicas, d.Spec.Strategy.Type = 3, v1alpha1.InPlaceUpdateMachineDeploymentStrategyType
		d.Spec.Strategy.InPlaceUpdate = &v1alpha1.InPlaceUpdateMachineDeployment{}
		d.Spec.Strategy.InPlaceUpdate.MaxSurge = ptr.To(intstr.FromInt32(1))
		d.Spec.Template.Spec.Class.Name = "new"
		s.write(nil, d)
		sets := map[string]*v1alpha1.MachineSet{}
		set := func(by *Pass, name string, n int32) {
			o := setOfDeployment(d, name)
			o.Spec.Replicas, o.Spec.Template.Spec.Class.Name = n, name
			was := s.objects[o.UID]
			s.write(by, o)
			if sets[name] = o; by != nil {
				s.judge.RolloutWrites(s.judge.Writes(by, false, 0), was, o)
			}
		}
		machine := func(by *Pass, name, owner string) {
			s.write(by, gardenerMachine(name, ofSet(sets[owner])))
		}
		set(nil, "old", 3)
		set(nil, "new", 2)
		for _, name := range []string{"a", "b", "c"} {
			machine(nil, name, "old")
		}
		p := s.begin(Deployments, 1)
		if p.Key.Name = "d"; handed {
			machine(p, "a", "new")
		}
		set(p, "old", 2)
		set(p, "new", 3)
		if tc.undone { // a restore has the sizes that were, and the machine where it is
			set(nil, "old", 3)
			set(nil, "new", 2)
			p = s.begin(Deployments, 1)
			p.Key.Name = "d"
			set(p, "old", 2)
			set(p, "new", 3)
		}
		if broken := slices.Contains(s.broken, NotAbove); broken == handed {
			t.Errorf("a machine handed over: %v, undone: %v, broken: %v", handed, tc.undone, broken)
		}
	}
}

// TestKeepsWhatNobodyOwns: a set of size zero keeps the machine that it adopts, and creates no machine for it.
func TestKeepsWhatNobodyOwns(t *testing.T) {
	for _, selected := range []bool{true, false} {
		s := newScene()
		d := &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d"}}
		d.Spec.Replicas, d.Spec.Strategy.Type = 1, v1alpha1.RollingUpdateMachineDeploymentStrategyType
		d.Spec.Strategy.RollingUpdate = &v1alpha1.RollingUpdateMachineDeployment{}
		d.Spec.Strategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt32(0))
		s.write(nil, d)
		sets := map[string]*v1alpha1.MachineSet{}
		for _, name := range []string{"old", "new"} {
			o := setOfDeployment(d, name)
			o.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"set": name}}
			s.write(nil, o)
			sets[name] = o
		}
		s.write(nil, gardenerMachine("a", ofSet(sets["old"])))
		s.write(nil, gardenerMachine("b", func(m *v1alpha1.Machine) {
			if selected {
				m.Labels = map[string]string{"set": "new"}
			}
		}))
		p := s.begin(Deployments, 1)
		p.Key.Name = "d"
		grown := sets["new"].DeepCopy()
		grown.Spec.Replicas = 1
		s.write(p, grown)
		s.judge.RolloutWrites(s.judge.Writes(p, false, 0), sets["new"], grown)
		if broken := slices.Contains(s.broken, NotAbove); broken == selected {
			t.Errorf("the set selects a machine that is nobody's: %v, broken: %v", selected, broken)
		}
	}
}

// TestTwins: a set is created although a lasting set has the same template. A set that was being deleted when the pass looked may
// stay if a restore undoes the deletion.
func TestTwins(t *testing.T) {
	for _, tc := range []struct {
		reason          string
		deleted, undone bool
		// since: the first set was created after the pass looked, while the request to create the other was under way.
		since, broken bool
	}{
		{"it stays", false, false, false, true},
		{"it goes", true, false, false, false},
		{"a restore in mid-pass has undone that", true, true, false, false},
		{"it came later", false, false, true, false},
	} {
		s := newScene()
		d := &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d"}}
		s.write(nil, d)
		set := func(name string, deleted bool) *v1alpha1.MachineSet {
			o := setOfDeployment(d, name)
			if deleted {
				o.DeletionTimestamp = &metav1.Time{Time: s.now}
			}
			s.write(nil, o)
			return o
		}
		if !tc.since {
			set("a", tc.deleted)
		}
		p := s.begin(Deployments, 1)
		if p.Key.Name = "d"; tc.since {
			set("a", false)
		}
		if tc.undone {
			set("a", false)
		}
		s.judge.RolloutWrites(s.judge.Writes(p, false, 0), nil, set("b", false))
		if broken := slices.Contains(s.broken, OneSet); broken != tc.broken {
			t.Errorf("%s: broken %v", tc.reason, broken)
		}
	}
}
