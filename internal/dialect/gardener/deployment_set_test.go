package gardener

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// sampleWant is a current set of three machines, with a surge of one.
func sampleWant(replicas int) rollout.SetWant {
	return rollout.SetWant{Current: true, Replicas: replicas, Was: replicas, Desired: ptr.To(3), Max: ptr.To(4), Revision: 1}
}

// TestTemplateEquality: section 4.3, what triggers a rollout and what does not.
func TestTemplateEquality(t *testing.T) {
	type template = v1alpha1.MachineTemplateSpec
	tests := map[string]struct {
		reason string
		change func(*template)
		rolls  bool
	}{
		"label":                 {"template labels roll", func(t *template) { t.Labels["tier"] = "b" }, true},
		"label gone":            {"template labels roll", func(t *template) { delete(t.Labels, "tier") }, true},
		"annotation":            {"template annotations roll", func(t *template) { t.Annotations = map[string]string{"a": "b"} }, true},
		"finalizer":             {"any template metadata rolls", func(t *template) { t.Finalizers = []string{"example.com/own"} }, true},
		"class":                 {"class.name rolls", func(t *template) { t.Spec.Class.Name = "class-b" }, true},
		"class group":           {"class.apiGroup rolls", func(t *template) { t.Spec.Class.APIGroup = "" }, true},
		"provider ID":           {"spec.providerID rolls", func(t *template) { t.Spec.ProviderID = "kubemark:///a" }, true},
		"class kind":            {"follows", func(t *template) { t.Spec.Class.Kind = "AzureMachineClass" }, false},
		"node label":            {"follows", func(t *template) { t.Spec.NodeTemplateSpec.Labels["pool"] = "others" }, false},
		"node taint":            {"follows", func(t *template) { t.Spec.NodeTemplateSpec.Spec.Taints = []corev1.Taint{{Key: "k"}} }, false},
		"drain timeout":         {"follows", func(t *template) { t.Spec.MachineConfiguration = drainTimeout(time.Hour) }, false},
		"empty, not absent map": {"means the same", func(t *template) { t.Annotations = map[string]string{} }, false},
		"hash":                  {"is not part of the template", func(t *template) { t.Labels[v1alpha1.LabelKeyMachineTemplateHash] = "1" }, false},
		"nothing":               {"", func(*template) {}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := sampleDeployment()
			s := deployedSets{}.New(d, sampleWant(3))
			tc.change(&d.Spec.Template)
			v := deployedSets{}.View(d, s)
			if v.Current == tc.rolls {
				t.Errorf("%s: current %v", tc.reason, v.Current)
			}
			again := deployedSets{}.New(d, sampleWant(3))
			if (again.Name == s.Name) == tc.rolls {
				t.Errorf("%s: the set's name was %s and is %s", tc.reason, s.Name, again.Name)
			}
			if !(deployedSets{}).View(d, again).Current {
				t.Error("a set just made of the template is not the current one")
			}
		})
	}
}

func drainTimeout(t time.Duration) *v1alpha1.MachineConfiguration {
	return &v1alpha1.MachineConfiguration{MachineDrainTimeout: &metav1.Duration{Duration: t}}
}

// TestNewSetGolden pins section 4.2 and the end of 4.3.
func TestNewSetGolden(t *testing.T) {
	d := sampleDeployment(annotatedWith(
		corev1.LastAppliedConfigAnnotation, "{}", v1alpha1.AnnotationKeyTriggerDeletion, "a~b", v1alpha1.AnnotationKeyRevision, "8",
		v1alpha1.AnnotationKeyEffectiveCreationTimeout, "7m", v1alpha1.AnnotationKeyScalerReplicaChange, "2026-01-01T00:00:00Z",
		v1alpha1.AnnotationKeyUnfreeze, "True", dialect.CanaryAnnotation, "1", "example.com/team", "blue",
	), func(d *deployment) {
		d.Spec.MinReadySeconds, d.Spec.AutoPreserveFailedMachineMax = 5, 1
		d.Spec.Template.Spec.MachineConfiguration = drainTimeout(time.Hour)
	})
	before := d.DeepCopy()
	w := sampleWant(2)
	w.Current, w.Revision, w.Notes = false, 9, rollout.Notes{Failed: []string{"workers-a"}}
	s := deployedSets{}.New(d, w)
	setGolden(t, "deployment/newset", s)
	if diff := cmp.Diff(before, d); diff != "" {
		t.Errorf("making a set changes the deployment:\n%s", diff)
	}
	again := s.DeepCopy()
	w.Current = true
	if (deployedSets{}).Apply(d, again, w); !cmp.Equal(s, again) {
		t.Errorf("a set just made is dressed again:\n%s", cmp.Diff(s, again))
	}
	if v := (deployedSets{}).View(d, s); !v.Current || v.Replicas != 2 || v.Revision != 9 || *v.Desired != 3 || *v.Max != 4 || !cmp.Equal(v.Notes, w.Notes) {
		t.Errorf("what was made does not show: %+v", v)
	}
	if faults := (Sets{}).View(s).Faults; len(faults) > 0 {
		t.Errorf("the set is at fault: %v", faults)
	}
}

// TestSetName: names follow from template and collisions.
func TestSetName(t *testing.T) {
	name := func(changes ...change) string {
		return deployedSets{}.New(sampleDeployment(changes...), sampleWant(3)).Name
	}
	collided := func(n int32) change { return func(d *deployment) { d.Status.CollisionCount = &n } }
	if a, b := name(), name(); a != b || len(a) != len("workers-")+5 || !strings.HasPrefix(a, "workers-") {
		t.Errorf("%s and %s: want one name, of five characters behind the deployment's", a, b)
	}
	seen := map[string]bool{}
	for _, n := range []string{name(), name(collided(1)), name(collided(2))} {
		seen[n] = true
	}
	if len(seen) != 3 {
		t.Errorf("two collisions give the names %v", seen)
	}
	if n := name(func(d *deployment) { d.Name = strings.Repeat("w", 253) }); len(n) != 253 {
		t.Errorf("a name of %d characters", len(n))
	}
}

// TestViewSet: sections 1.4, 1.7 and 4.
func TestViewSet(t *testing.T) {
	annotated := func(pairs ...string) func(*v1alpha1.MachineSet) {
		return func(s *v1alpha1.MachineSet) {
			for i := 0; i < len(pairs); i += 2 {
				setAnnotation(s, pairs[i], pairs[i+1])
			}
		}
	}
	failing := func(status v1alpha1.ConditionStatus) func(*v1alpha1.MachineSet) {
		return func(s *v1alpha1.MachineSet) {
			s.Status.Conditions = []v1alpha1.MachineSetCondition{
				{Type: v1alpha1.MachineSetFrozen, Status: "True"},
				{Type: v1alpha1.MachineSetReplicaFailure, Status: status, Reason: "FailedCreate", Message: "no room"},
			}
		}
	}
	tests := map[string]struct {
		reason string
		change func(*v1alpha1.MachineSet)
		expect func(*rollout.Set)
	}{
		"plain":               {"nothing recorded yet", func(*v1alpha1.MachineSet) {}, func(*rollout.Set) {}},
		"recorded":            {"", annotated("deployment.kubernetes.io/revision", "3", "deployment.kubernetes.io/desired-replicas", "5", "deployment.kubernetes.io/max-replicas", "6"), func(v *rollout.Set) { v.Revision, v.Desired, v.Max = 3, ptr.To(5), ptr.To(6) }},
		"recorded, malformed": {"as good as nothing", annotated("deployment.kubernetes.io/revision", "x", "deployment.kubernetes.io/desired-replicas", "", "deployment.kubernetes.io/max-replicas", "6.5"), func(*rollout.Set) {}},
		"avoided":             {"its nodes are tainted", annotated("deployment.machine.sapcloud.io/prefer-no-schedule", "True"), func(v *rollout.Set) { v.Avoided = true }},
		"held": {"the label's presence counts", func(s *v1alpha1.MachineSet) {
			s.Labels = map[string]string{"node.machine.sapcloud.io/scale-up-disabled": ""}
		}, func(v *rollout.Set) { v.NoGrowth = true }},
		"unobserved":  {"a generation not seen yet", func(s *v1alpha1.MachineSet) { s.Generation++ }, func(v *rollout.Set) { v.Observed = false }},
		"going":       {"", func(s *v1alpha1.MachineSet) { s.DeletionTimestamp = &metav1.Time{Time: setNow} }, func(v *rollout.Set) { v.Deleting = true }},
		"failing":     {"the condition ReplicaFailure", failing("True"), func(v *rollout.Set) { v.Failure = &rollout.Failure{Reason: "FailedCreate", Message: "no room"} }},
		"not failing": {"it says False", failing("False"), func(*rollout.Set) {}},
		"notes": {"of ours", annotated(dialect.FailedAnnotation, "a,b", dialect.CanarySinceAnnotation, "2026-01-02T03:04:05Z"), func(v *rollout.Set) {
			v.Notes = rollout.Notes{Failed: []string{"a", "b"}, CanarySince: setNow}
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := sampleSet(func(s *v1alpha1.MachineSet) { s.Status.ObservedGeneration = s.Generation }, tc.change)
			want := rollout.Set{UID: "set-uid", Name: "workers", Replicas: 3, Observed: true}
			tc.expect(&want)
			if diff := cmp.Diff(want, deployedSets{}.View(sampleDeployment(), s)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDress: sections 4.3 and 4.4, and what of 5.1 concerns sets.
func TestDress(t *testing.T) {
	type set = v1alpha1.MachineSet
	thaw := annotatedWith(v1alpha1.AnnotationKeyUnfreeze, "please")
	scaled := annotatedWith(v1alpha1.AnnotationKeyScalerReplicaChange, "2026-01-01T00:00:00Z")
	cold := func(s *set) { s.Labels[v1alpha1.LabelKeyFreeze] = "True" }
	old := func(w *rollout.SetWant) { w.Current = false }
	nothing := func(*set) {}
	tests := map[string]struct {
		reason string
		md     change
		before func(*set)
		want   func(*rollout.SetWant)
		expect func(*set)
	}{
		"at rest": {"nothing is to be changed", func(*deployment) {}, nothing, func(*rollout.SetWant) {}, nothing},
		"scaled": {"replicas, desired and max", func(*deployment) {}, nothing, func(w *rollout.SetWant) { w.Replicas, w.Desired, w.Max = 5, ptr.To(5), ptr.To(7) }, func(s *set) {
			s.Spec.Replicas = 5
			s.Annotations[v1alpha1.AnnotationKeyDesiredReplicas], s.Annotations[v1alpha1.AnnotationKeyMaxReplicas] = "5", "7"
		}},
		"not told": {"nil and 0 leave alone", func(*deployment) {}, nothing, func(w *rollout.SetWant) { w.Desired, w.Max, w.Revision = nil, nil, 0 }, nothing},
		"revision": {"the old one goes into the history", func(*deployment) {}, nothing, func(w *rollout.SetWant) { w.Revision = 4 }, func(s *set) {
			s.Annotations[v1alpha1.AnnotationKeyRevision], s.Annotations[v1alpha1.AnnotationKeyRevisionHistory] = "4", "1"
		}},
		"revision again": {"at the end of the history", func(*deployment) {}, func(s *set) { s.Annotations[v1alpha1.AnnotationKeyRevisionHistory] = "3,5" }, func(w *rollout.SetWant) { w.Revision = 4 }, func(s *set) {
			s.Annotations[v1alpha1.AnnotationKeyRevision], s.Annotations[v1alpha1.AnnotationKeyRevisionHistory] = "4", "3,5,1"
		}},
		"annotations":           {"those of the deployment are copied", annotatedWith("team", "blue", "empty", ""), nothing, func(*rollout.SetWant) {}, func(s *set) { s.Annotations["team"], s.Annotations["empty"] = "blue", "" }},
		"annotations, old":      {"only to the current set", annotatedWith("team", "blue"), nothing, old, nothing},
		"annotation taken away": {"never removed again", func(*deployment) {}, func(s *set) { s.Annotations["team"] = "blue" }, func(*rollout.SetWant) {}, func(s *set) { s.Annotations["team"] = "blue" }},
		"skip list": {"these mean their own object only", annotatedWith(
			"kubectl.kubernetes.io/last-applied-configuration", "{}", "deployment.kubernetes.io/revision", "9", "deployment.kubernetes.io/revision-history", "8",
			"deployment.kubernetes.io/desired-replicas", "9", "deployment.kubernetes.io/max-replicas", "9", "deployment.machine.sapcloud.io/prefer-no-schedule", "True",
			"safety.machine.sapcloud.io/unfreeze", "True", "node.machine.sapcloud.io/trigger-deletion-by-mcm", "a~b", "millwright.dev/rollout-approved", "1",
		), nothing, func(*rollout.SetWant) {}, nothing},
		"what follows": {"without a rollout", func(d *deployment) {
			d.Spec.MinReadySeconds, d.Spec.AutoPreserveFailedMachineMax = 9, 2
			d.Spec.Template.Spec.NodeTemplateSpec.Labels = map[string]string{"pool": "others"}
			d.Spec.Template.Spec.MachineConfiguration = drainTimeout(time.Hour)
			d.Spec.Template.Spec.Class.Kind = "Other"
		}, nothing, func(*rollout.SetWant) {}, func(s *set) {
			s.Spec.MinReadySeconds, s.Spec.AutoPreserveFailedMachineMax = 9, 2
			s.Spec.Template.Spec.NodeTemplateSpec.Labels = map[string]string{"pool": "others"}
			s.Spec.Template.Spec.MachineConfiguration = drainTimeout(time.Hour)
			s.Spec.Template.Spec.Class.Kind = "Other"
		}},
		"what follows, old": {"only the current set", func(d *deployment) { d.Spec.MinReadySeconds, d.Spec.Template.Spec.Class.Kind = 9, "Other" }, nothing, old, nothing},
		"what rolls":        {"is never written into a set that exists", func(d *deployment) { d.Spec.Template.Spec.Class.Name, d.Spec.Template.Labels["tier"] = "other", "b" }, nothing, func(*rollout.SetWant) {}, nothing},
		"avoided":           {"", func(*deployment) {}, nothing, func(w *rollout.SetWant) { w.Avoided = true }, func(s *set) { s.Annotations["deployment.machine.sapcloud.io/prefer-no-schedule"] = "True" }},
		"no more avoided":   {"", func(*deployment) {}, func(s *set) { s.Annotations["deployment.machine.sapcloud.io/prefer-no-schedule"] = "True" }, func(*rollout.SetWant) {}, func(s *set) { delete(s.Annotations, "deployment.machine.sapcloud.io/prefer-no-schedule") }},
		"held":              {"", func(*deployment) {}, nothing, func(w *rollout.SetWant) { w.NoGrowth = true }, func(s *set) { s.Labels["node.machine.sapcloud.io/scale-up-disabled"] = "true" }},
		"no more held":      {"", func(*deployment) {}, func(s *set) { s.Labels["node.machine.sapcloud.io/scale-up-disabled"] = "x" }, func(*rollout.SetWant) {}, func(s *set) { delete(s.Labels, "node.machine.sapcloud.io/scale-up-disabled") }},
		"notes":             {"", func(*deployment) {}, nothing, func(w *rollout.SetWant) { w.Notes.Failed = []string{"a", "b"} }, func(s *set) { s.Annotations[dialect.FailedAnnotation] = "a,b" }},
		"scaler":            {"9: without it the choice among old machines is not granted", scaled, nothing, old, func(s *set) { s.Annotations[v1alpha1.AnnotationKeyScalerReplicaChange] = "2026-01-01T00:00:00Z" }},
		"scaler, empty set": {"no machine to choose, no write", scaled, func(s *set) { s.Status.Replicas = 0 }, func(w *rollout.SetWant) { w.Current, w.Replicas = false, 0 }, func(s *set) { s.Spec.Replicas = 0 }},
		"thaw":              {"5.1: handed to frozen sets", thaw, cold, old, func(s *set) { s.Annotations[v1alpha1.AnnotationKeyUnfreeze] = "True" }},
		"thaw, not frozen":  {"5.1: it would thaw the next freeze", thaw, nothing, func(*rollout.SetWant) {}, nothing},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := deployedSets{}.New(sampleDeployment(), sampleWant(3))
			tc.before(s)
			want, w := s.DeepCopy(), sampleWant(3)
			tc.want(&w)
			tc.expect(want)
			d := sampleDeployment(tc.md)
			deployedSets{}.Apply(d, s, w)
			if diff := cmp.Diff(want, s, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			again := s.DeepCopy()
			deployedSets{}.Apply(d, again, w)
			if diff := cmp.Diff(s, again); diff != "" {
				t.Errorf("dressed twice:\n%s", diff)
			}
		})
	}
}

// TestDressSharesNothing: what the set was given does not change with the
// deployment, which belongs to a cache.
func TestDressSharesNothing(t *testing.T) {
	d := sampleDeployment(func(d *deployment) { d.Spec.Template.Spec.MachineConfiguration = drainTimeout(time.Hour) })
	s := deployedSets{}.New(d, sampleWant(3))
	before := d.DeepCopy()
	s.Spec.Selector.MatchLabels["x"], s.Spec.Template.Labels["x"], s.Labels["x"] = "y", "y", "y"
	s.Spec.Template.Spec.NodeTemplateSpec.Labels["x"] = "y"
	s.Spec.Template.Spec.MachineDrainTimeout.Duration = 0
	if diff := cmp.Diff(before, d); diff != "" {
		t.Errorf("the set and the deployment share memory:\n%s", diff)
	}
}

// TestAdoptedSetKeepsItsSelector: the end of section 4.2; P16.
func TestAdoptedSetKeepsItsSelector(t *testing.T) {
	d := sampleDeployment()
	s := sampleSet(func(s *v1alpha1.MachineSet) { s.Spec.Template = *d.Spec.Template.DeepCopy() })
	if !(deployedSets{}).View(d, s).Current {
		t.Fatal("a set of the same template is not the current one")
	}
	deployedSets{}.Apply(d, s, sampleWant(3))
	if diff := cmp.Diff(sampleSet().Spec.Selector, s.Spec.Selector); diff != "" || len(s.Spec.Template.Labels) != 2 {
		t.Errorf("selector %s\nlabels %v", diff, s.Spec.Template.Labels)
	}
}
