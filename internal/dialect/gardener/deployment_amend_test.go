package gardener

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

const (
	trigger = "node.machine.sapcloud.io/trigger-deletion-by-mcm"
	scaler  = "machine.sapcloud.io/last-deployment-replica-change-by-scaler-time"
)

// TestWishes: rows 7 and 8 of section 4.1, and T20: the autoscaler's
// annotation.
func TestWishes(t *testing.T) {
	at, early := setNow, setNow.Add(-time.Hour)
	tests := map[string]struct {
		reason string
		change change
		want   []rollout.Wish
	}{
		"none":             {"", func(*deployment) {}, nil},
		"emptied":          {"no entry", annotatedWith(trigger, ""), nil},
		"one":              {"", annotatedWith(trigger, "a~2026-01-02T03:04:05Z"), []rollout.Wish{{Machine: "a", At: at}}},
		"two":              {"in the order of the text", annotatedWith(trigger, "b~2026-01-02T03:04:05Z,a~2026-01-02T02:04:05Z"), []rollout.Wish{{Machine: "b", At: at}, {Machine: "a", At: early}}},
		"by hand":          {"blanks are let through", annotatedWith(trigger, "a~2026-01-02T03:04:05Z, b~2026-01-02T03:04:05Z"), []rollout.Wish{{Machine: "a", At: at}, {Machine: "b", At: at}}},
		"malformed time":   {"has none, and is dropped", annotatedWith(trigger, "a~noon"), []rollout.Wish{{Machine: "a"}}},
		"malformed entry":  {"has no time, and is dropped", annotatedWith(trigger, "a~b~2026-01-02T03:04:05Z"), []rollout.Wish{{Machine: "a"}}},
		"empty entry":      {"is dropped", annotatedWith(trigger, "a~2026-01-02T03:04:05Z,"), []rollout.Wish{{Machine: "a", At: at}, {}}},
		"undated":          {"counts from now", annotatedWith(trigger, "a"), []rollout.Wish{{Machine: "a", At: at, Undated: true}}},
		"undated, scaled":  {"counts from the last change of the replicas", annotatedWith(trigger, "a", scaler, "2026-01-02T02:04:05Z"), []rollout.Wish{{Machine: "a", At: early, Undated: true}}},
		"undated, garbage": {"counts from now", annotatedWith(trigger, "a", scaler, "noon"), []rollout.Wish{{Machine: "a", At: at, Undated: true}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			// Half a second is lost where times are written in seconds.
			got := Deployments{}.View(sampleDeployment(tc.change), setNow.Add(500*time.Millisecond)).Wishes
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAmend: rows 7 and 8 of section 4.1, 4.3, and the mirror of 5.1.
func TestAmend(t *testing.T) {
	cold := sampleSet(func(s *v1alpha1.MachineSet) { s.Labels = map[string]string{"freeze": "True"} })
	conditioned := sampleSet(func(s *v1alpha1.MachineSet) {
		s.Status.Conditions = []v1alpha1.MachineSetCondition{{Type: v1alpha1.MachineSetFrozen, Status: "True"}}
	})
	told := cold.DeepCopy()
	told.Annotations = map[string]string{v1alpha1.AnnotationKeyUnfreeze: "True"}
	labelled := func(value string) change {
		return func(d *deployment) { d.Labels = map[string]string{"freeze": value} }
	}
	leaving := cold.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	thaw := annotatedWith(v1alpha1.AnnotationKeyUnfreeze, "")
	nothing := func(*deployment) {}
	tests := map[string]struct {
		reason         string
		before, expect change
		sets           []*v1alpha1.MachineSet
		plan           rollout.Amend
	}{
		"nothing":           {"no change, no write", nothing, nothing, []*v1alpha1.MachineSet{sampleSet()}, rollout.Amend{}},
		"revision":          {"", nothing, annotatedWith("deployment.kubernetes.io/revision", "4"), nil, rollout.Amend{Revision: 4}},
		"wishes":            {"sorted, with their times", annotatedWith(trigger, "b"), annotatedWith(trigger, "a~2026-01-02T03:04:05Z,b~2026-01-02T02:04:05Z"), nil, rollout.Amend{Rewish: true, Wishes: []rollout.Wish{{Machine: "b", At: setNow.Add(-time.Hour)}, {Machine: "a", At: setNow.In(time.FixedZone("east", 3600))}}}},
		"wishes stay":       {"written only where they differ", annotatedWith(trigger, "b~x"), annotatedWith(trigger, "b~x"), nil, rollout.Amend{}},
		"wishes granted":    {"none are left", annotatedWith(trigger, "b~x"), annotatedWith(), nil, rollout.Amend{Rewish: true}},
		"frozen":            {"a set has the label", nothing, labelled("True"), []*v1alpha1.MachineSet{sampleSet(), cold}, rollout.Amend{}},
		"frozen, condition": {"a set has the condition", nothing, labelled("True"), []*v1alpha1.MachineSet{conditioned}, rollout.Amend{}},
		"thawed":            {"no set has either", labelled("True"), nothing, []*v1alpha1.MachineSet{sampleSet()}, rollout.Amend{}},
		"label of a user":   {"is not the freeze", labelled("true"), labelled("true"), nil, rollout.Amend{}},
		"thaw, not told":    {"waits until the set has it", thaw, func(d *deployment) { thaw(d); labelled("True")(d) }, []*v1alpha1.MachineSet{told, cold}, rollout.Amend{}},
		"thaw, not leaving": {"a set that is being deleted is not told", thaw, labelled("True"), []*v1alpha1.MachineSet{told, leaving}, rollout.Amend{}},
		"thaw, told":        {"has done its work", thaw, labelled("True"), []*v1alpha1.MachineSet{told}, rollout.Amend{}},
		"thaw, none frozen": {"has nothing to do", thaw, nothing, []*v1alpha1.MachineSet{sampleSet()}, rollout.Amend{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d, want := sampleDeployment(tc.before), sampleDeployment(tc.expect)
			Deployments{}.ApplyMetadata(d, tc.sets, tc.plan)
			if diff := cmp.Diff(want, d, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			again := d.DeepCopy()
			if (Deployments{}).ApplyMetadata(again, tc.sets, tc.plan); !cmp.Equal(d, again) {
				t.Errorf("amended twice:\n%s", cmp.Diff(d, again))
			}
		})
	}
	d := sampleDeployment(annotatedWith(trigger, "c, a~2026-01-02T03:04:05Z"))
	v := Deployments{}.View(d, setNow)
	Deployments{}.ApplyMetadata(d, nil, rollout.Amend{Rewish: true, Wishes: v.Wishes})
	for _, w := range (Deployments{}).View(d, setNow.Add(time.Hour)).Wishes {
		if w.Undated || !w.At.Equal(setNow) {
			t.Errorf("what was made up is not written down: %+v", w)
		}
	}
}

// TestThawIsHandedOn: 5.1: one wish of a person thaws each set once. It does
// not come back when the set, still too large, freezes again.
func TestThawIsHandedOn(t *testing.T) {
	d, s := sampleDeployment(annotatedWith(v1alpha1.AnnotationKeyUnfreeze, "True")), sampleSet()
	pass := func() {
		Deployments{}.ApplyMetadata(d, []*v1alpha1.MachineSet{s}, rollout.Amend{})
		deployedSets{}.Apply(d, s, rollout.SetWant{Replicas: 3, Was: 3})
	}
	Sets{}.Freeze(s, true)
	pass()
	if !wantsThaw(s) {
		t.Fatal("the set is not told")
	}
	pass()
	Sets{}.Freeze(s, false)
	pass()
	Sets{}.Freeze(s, true)
	pass()
	if wantsThaw(d) || wantsThaw(s) || d.Labels["freeze"] != "True" {
		t.Errorf("deployment %v %v, set %v", d.Labels, d.Annotations, s.Annotations)
	}
}

// TestRollBack: section 4.5, rollback.
func TestRollBack(t *testing.T) {
	d := sampleDeployment(annotatedWith("team", "blue", "deployment.kubernetes.io/revision", "1"))
	s := deployedSets{}.New(d, sampleWant(3))
	setAnnotation(s, scaler, "2025-01-01T00:00:00Z")
	s.Annotations["deployment.machine.sapcloud.io/prefer-no-schedule"] = "True"
	s.Annotations[dialect.FailedAnnotation] = "a"
	first := d.Spec.Template.DeepCopy()
	d.Spec.Template.Spec.Class.Name = "class-b"
	d.Spec.RollbackTo = &v1alpha1.RollbackConfig{Revision: 1}
	d.Annotations = map[string]string{"team": "red", "since": "then", scaler: "2026-01-01T00:00:00Z", "deployment.kubernetes.io/revision": "2", dialect.CanaryAnnotation: "1"}

	cleared := d.DeepCopy()
	Deployments{}.RollBack(cleared, nil, rollout.RollBack{})
	want := d.DeepCopy()
	want.Spec.RollbackTo = nil
	if diff := cmp.Diff(want, cleared); diff != "" {
		t.Errorf("no such revision: only the request goes (-want +got):\n%s", diff)
	}

	before := s.DeepCopy()
	Deployments{}.RollBack(d, &s, rollout.RollBack{Found: true, Differs: true})
	want.Spec.Template = *first
	want.Annotations["team"] = "blue"
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("template and annotations of the set (-want +got):\n%s", diff)
	}
	if !(deployedSets{}).View(d, s).Current {
		t.Error("the set rolled back to is not the current one")
	}
	d.Spec.Template.Labels["x"] = "y"
	if diff := cmp.Diff(before, s); diff != "" {
		t.Errorf("rolling back changes the set:\n%s", diff)
	}
	if metav1.FormatLabelSelector(d.Spec.Selector) != "name=workers" || d.Spec.Template.Labels[v1alpha1.LabelKeyMachineTemplateHash] != "" {
		t.Errorf("the hash got into the deployment: %v", d.Spec.Template.Labels)
	}
}
