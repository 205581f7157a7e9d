package gardener

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/limits"
)

func TestSetCrowd(t *testing.T) {
	surge := v1alpha1.UpdateConfiguration{MaxSurge: ptr.To(intstr.FromString("25%"))}
	deployment := func(kind v1alpha1.MachineDeploymentStrategyType) *v1alpha1.MachineDeployment {
		return &v1alpha1.MachineDeployment{Spec: v1alpha1.MachineDeploymentSpec{Replicas: 8, Strategy: v1alpha1.MachineDeploymentStrategy{
			Type:          kind,
			RollingUpdate: &v1alpha1.RollingUpdateMachineDeployment{UpdateConfiguration: surge},
			InPlaceUpdate: &v1alpha1.InPlaceUpdateMachineDeployment{UpdateConfiguration: surge},
		}}}
	}
	bare := deployment(v1alpha1.RollingUpdateMachineDeploymentStrategyType)
	bare.Spec.Strategy.RollingUpdate = nil
	as := func(labels, annotations map[string]string) *v1alpha1.MachineSet {
		return sampleSet(func(s *v1alpha1.MachineSet) { s.Labels, s.Annotations = labels, annotations })
	}
	with, without := &limits.Parent{Replicas: 8, Surge: surge.MaxSurge}, &limits.Parent{Replicas: 8}
	tests := map[string]struct {
		reason string
		set    *v1alpha1.MachineSet
		parent client.Object
		want   limits.Crowd
	}{
		"alone":                {"its own size counts", sampleSet(), nil, limits.Crowd{Replicas: 3}},
		"rolling":              {"surge of the block in force", sampleSet(), deployment("RollingUpdate"), limits.Crowd{Replicas: 3, Parent: with}},
		"in place":             {"surge of the block in force", sampleSet(), deployment("InPlaceUpdate"), limits.Crowd{Replicas: 3, Parent: with}},
		"recreate":             {"no surge, and no error", sampleSet(), deployment("Recreate"), limits.Crowd{Replicas: 3, Parent: without}},
		"unknown strategy":     {"no surge, and no error", sampleSet(), deployment("Sideways"), limits.Crowd{Replicas: 3, Parent: without}},
		"rolling, no block":    {"no surge, and no crash", sampleSet(), bare, limits.Crowd{Replicas: 3, Parent: without}},
		"frozen":               {"exactly True", as(map[string]string{"freeze": "True"}, nil), nil, limits.Crowd{Replicas: 3, Frozen: true}},
		"not frozen":           {"any other value", as(map[string]string{"freeze": "true"}, nil), nil, limits.Crowd{Replicas: 3}},
		"asked to thaw":        {"by its presence", as(nil, map[string]string{"safety.machine.sapcloud.io/unfreeze": ""}), nil, limits.Crowd{Replicas: 3, Asked: true}},
		"a parent of a kind..": {"..that is none of ours", sampleSet(), &v1alpha1.Machine{}, limits.Crowd{Replicas: 3}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Sets{}.Crowd(tc.set, tc.parent, nil)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What was written is seen, and nothing but the label and the request changes.
func TestSetFreezeLaws(t *testing.T) {
	own := map[string]string{"pool": "a"}
	for _, labels := range []map[string]string{nil, own, {"pool": "a", "freeze": "True"}, {"freeze": "no"}} {
		for _, annotations := range []map[string]string{nil, own, {"pool": "a", "safety.machine.sapcloud.io/unfreeze": "True"}} {
			for _, frozen := range []bool{true, false} {
				s := sampleSet(func(s *v1alpha1.MachineSet) {
					s.Labels, s.Annotations = maps.Clone(labels), maps.Clone(annotations)
				})
				before := s.DeepCopy()
				Sets{}.Freeze(s, frozen)
				c := Sets{}.Crowd(s, nil, nil)
				if c.Frozen != frozen || (Sets{}.View(s).NoGrowth != "") != frozen || !frozen && c.Asked {
					t.Errorf("from %v, %v to frozen %v: got %+v", labels, annotations, frozen, c)
				}
				for _, m := range []map[string]string{before.Labels, before.Annotations, s.Labels, s.Annotations} {
					delete(m, "freeze")
					delete(m, "safety.machine.sapcloud.io/unfreeze")
				}
				if len(s.Labels) == 0 && len(before.Labels) == 0 {
					s.Labels, before.Labels = nil, nil
				}
				if diff := cmp.Diff(before, s); diff != "" {
					t.Errorf("from %v, %v to frozen %v changes more:\n%s", labels, annotations, frozen, diff)
				}
			}
		}
	}
}

// The condition follows the label, and keeps the time at which the set froze. A
// pass that did not look leaves it alone.
func TestSetFrozenConditionFollowsTheLabel(t *testing.T) {
	since := metav1.NewTime(setNow.Add(-time.Hour))
	there := []v1alpha1.MachineSetCondition{{Type: "Frozen", Status: "True", LastTransitionTime: since, Reason: "OverShootingReplicaCount", Message: "first"}}
	untrue := []v1alpha1.MachineSetCondition{{Type: "Frozen", Status: "False", Message: "odd"}}
	tests := map[string]struct {
		reason     string
		label      string
		conditions []v1alpha1.MachineSetCondition
		frozen     string
		want       string
	}{
		"froze":                {"both are there", "True", nil, "now", "now"},
		"still frozen":         {"the number may have changed", "True", there, "now", "now"},
		"not looked":           {"nothing is known to say", "True", nil, "", ""},
		"not looked, there":    {"stays", "True", there, "", "first"},
		"label gone":           {"goes with it", "", there, "", ""},
		"label of other value": {"that is no freeze", "true", there, "", ""},
		"condition untrue":     {"mended", "True", untrue, "now", "now"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := sampleSet(func(s *v1alpha1.MachineSet) {
				s.Status.Conditions = append(s.Status.Conditions, tc.conditions...)
				if tc.label != "" {
					s.Labels = map[string]string{"freeze": tc.label}
				}
			})
			Sets{}.Record(s, dialect.SetOutcome{Now: setNow, Judged: true, Frozen: tc.frozen})
			got := s.Status.Conditions
			switch {
			case tc.want == "" && len(got) != 0:
				t.Errorf("%s: got %+v", tc.reason, got)
			case tc.want == "":
			case len(got) != 1 || got[0].Type != "Frozen" || got[0].Status != "True" || got[0].Reason != "OverShootingReplicaCount" || got[0].Message != tc.want:
				t.Errorf("%s: got %+v, want %q", tc.reason, got, tc.want)
			case got[0].LastTransitionTime.Equal(&since) != (len(tc.conditions) > 0 && tc.conditions[0].Status == "True"):
				t.Errorf("%s: since %s", tc.reason, got[0].LastTransitionTime)
			}
		})
	}
}

// TestSetCrowdCountsWhatRuns: a machine counts until the machine controller has let go of it.
func TestSetCrowdCountsWhatRuns(t *testing.T) {
	machine := func(deleting bool, finalizers ...string) client.Object {
		m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Finalizers: finalizers}}
		if deleting {
			m.DeletionTimestamp = &metav1.Time{}
		}
		return m
	}
	for _, tc := range []struct {
		reason  string
		machine client.Object
		want    int
	}{
		{"it lives", machine(false, v1alpha1.FinalizerMachine), 1},
		{"it is new", machine(false), 1},
		{"its instance may run", machine(true, v1alpha1.FinalizerMachine, "example.com/backup"), 1},
		{"only others hold it", machine(true, "example.com/backup"), 0},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if got := (Sets{}).Crowd(&v1alpha1.MachineSet{}, nil, []client.Object{tc.machine}).Machines; got != tc.want {
				t.Errorf("%s: %d machines, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
