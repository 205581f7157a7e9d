package judge

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

func owner(kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: name, UID: types.UID(name), Controller: ptr.To(true)}}
}

// fleetOf is a deployment of the size with a maximum of unavailable machines.
func fleetOf(size, unavailable int) *v1alpha1.MachineDeployment {
	d := &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d"}}
	d.Spec.Replicas = int32(size)
	d.Spec.Strategy.Type = v1alpha1.RollingUpdateMachineDeploymentStrategyType
	d.Spec.Strategy.RollingUpdate = &v1alpha1.RollingUpdateMachineDeployment{UpdateConfiguration: v1alpha1.UpdateConfiguration{
		MaxUnavailable: ptr.To(intstr.FromInt(unavailable)), MaxSurge: ptr.To(intstr.FromInt(1)),
	}}
	return d
}

func setOf(size int) *v1alpha1.MachineSet {
	s := &v1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "old", UID: "old", OwnerReferences: owner("MachineDeployment", "d")}}
	s.Spec.Replicas, s.Spec.Selector = int32(size), &metav1.LabelSelector{MatchLabels: map[string]string{"set": "old"}}
	return s
}

func workingMachine(name string) *v1alpha1.Machine {
	return gardenerMachine(name, func(m *v1alpha1.Machine) {
		m.Labels["set"], m.OwnerReferences = "old", owner("MachineSet", "old")
		m.Status.CurrentStatus.Phase = v1alpha1.MachineRunning
	})
}

// TestGivenUpForTheSizeThatWasSeen: a set acts on the size that its pass saw, and its deployment is judged by its
// knowledge when it set that size.
func TestGivenUpForTheSizeThatWasSeen(t *testing.T) {
	for _, c := range []struct {
		reason string
		// first is the author of the set's smaller size.
		first string
		// late: the set's pass began after the larger size was written.
		late, broken bool
	}{
		{"all might be unavailable then, and more are wanted since", Deployments, false, false},
		{"it saw the larger size, by which all have to stay", Deployments, true, true},
		{"people gave it the smaller size", "", false, false},
		{"people did, and it saw that their size was taken back", "", true, true},
	} {
		s := newScene()
		s.write(nil, fleetOf(2, 2))
		s.write(s.begin(Deployments, 1), setOf(2))
		a := s.write(nil, workingMachine("a"))
		s.write(nil, workingMachine("b"))
		var by *Pass
		if c.first != "" {
			by = s.begin(c.first, 1)
		}
		s.now = s.now.Add(time.Second)
		s.write(by, setOf(1))
		pass := s.begin(Sets, 2)
		s.write(nil, fleetOf(5, 2))
		s.write(s.begin(Deployments, 1), setOf(2))
		if c.late {
			pass = s.begin(Sets, 2)
		}
		s.broken = nil
		s.judge.setWrites(s.judge.Writes(pass, false, 0), a, nil)
		if got := slices.ContainsFunc(s.broken, func(b string) bool { return b == NotBelow || b == NotTooFew }); got != c.broken {
			t.Errorf("%s: %q", c.reason, s.broken)
		}
	}
}

// TestSetsThatPeopleDeleteWereCountedOn: a set deletes machines because of its deployment's view. If users then delete another
// set with its machines, no controller decided on that loss.
func TestSetsThatPeopleDeleteWereCountedOn(t *testing.T) {
	for _, c := range []struct {
		reason string
		by     string
		// early: the other set is deleted before the deployment looks.
		early, broken bool
	}{
		{"people deleted it since", "", false, false},
		{"its deployment saw that", "", true, true},
		{"its deployment did", Deployments, false, true},
	} {
		s := newScene()
		s.write(nil, fleetOf(3, 1))
		s.write(s.begin(Deployments, 1), setOf(2))
		other := setOf(1)
		other.Name, other.UID = "new", "new"
		s.write(nil, other)
		a := s.write(nil, workingMachine("a"))
		s.write(nil, workingMachine("b"))
		last := workingMachine("c")
		last.OwnerReferences = owner("MachineSet", "new")
		s.write(nil, last)
		goes := func() {
			if c.by == "" {
				s.remove(nil, other)
			} else {
				s.remove(s.begin(c.by, 1), other)
			}
		}
		if c.early {
			goes()
		}
		pass := s.begin(Deployments, 1)
		s.now = s.now.Add(time.Second)
		s.write(pass, setOf(1))
		if !c.early {
			goes()
		}
		s.broken = nil
		s.judge.setWrites(s.judge.Writes(s.begin(Sets, 2), false, 0), a, nil)
		if got := slices.Contains(s.broken, NotBelow); got != c.broken {
			t.Errorf("%s: %q", c.reason, s.broken)
		}
	}
}
