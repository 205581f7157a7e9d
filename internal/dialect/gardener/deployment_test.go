package gardener

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

type (
	deployment = v1alpha1.MachineDeployment
	change     = func(*v1alpha1.MachineDeployment)
)

// sampleDeployment is a rolling one of three machines.
func sampleDeployment(changes ...change) *deployment {
	pool := map[string]string{"name": "workers"}
	d := &deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "workers", UID: "deployment-uid", Generation: 7},
		Spec: v1alpha1.MachineDeploymentSpec{
			Replicas: 3,
			Selector: &metav1.LabelSelector{MatchLabels: pool},
			Strategy: rollingUpdate(intstr.FromInt32(1), intstr.FromInt32(0)),
			Template: v1alpha1.MachineTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"name": "workers", "tier": "a"}},
				Spec: v1alpha1.MachineSpec{
					Class:            v1alpha1.ClassSpec{APIGroup: "machine.sapcloud.io", Kind: v1alpha1.KindMachineClass, Name: "class-a"},
					NodeTemplateSpec: v1alpha1.NodeTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"pool": "workers"}}},
				},
			},
		},
	}
	for _, c := range changes {
		c(d)
	}
	return d
}

func rollingUpdate(surge, unavailable intstr.IntOrString) v1alpha1.MachineDeploymentStrategy {
	return v1alpha1.MachineDeploymentStrategy{
		Type: v1alpha1.RollingUpdateMachineDeploymentStrategyType,
		RollingUpdate: &v1alpha1.RollingUpdateMachineDeployment{
			UpdateConfiguration: v1alpha1.UpdateConfiguration{MaxSurge: &surge, MaxUnavailable: &unavailable},
		},
	}
}

func inPlaceUpdate(surge, unavailable intstr.IntOrString, who v1alpha1.OrchestrationType) v1alpha1.MachineDeploymentStrategy {
	return v1alpha1.MachineDeploymentStrategy{
		Type: v1alpha1.InPlaceUpdateMachineDeploymentStrategyType,
		InPlaceUpdate: &v1alpha1.InPlaceUpdateMachineDeployment{
			UpdateConfiguration: v1alpha1.UpdateConfiguration{MaxSurge: &surge, MaxUnavailable: &unavailable}, OrchestrationType: who,
		},
	}
}

func annotatedWith(pairs ...string) change {
	return func(d *deployment) {
		d.Annotations = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			d.Annotations[pairs[i]] = pairs[i+1]
		}
	}
}

// TestDeploymentFaults: section 1.6, and what else would do harm.
func TestDeploymentFaults(t *testing.T) {
	one, text := intstr.FromInt32(1), intstr.FromString("some")
	auto := v1alpha1.OrchestrationTypeAuto
	strategy := func(s v1alpha1.MachineDeploymentStrategy) change { return func(d *deployment) { d.Spec.Strategy = s } }
	tests := map[string]struct {
		reason string
		change change
		field  string
	}{
		"sound":             {"no fault", func(*deployment) {}, ""},
		"recreate":          {"has no bounds", strategy(v1alpha1.MachineDeploymentStrategy{Type: v1alpha1.RecreateMachineDeploymentStrategyType}), ""},
		"in place":          {"no fault", strategy(inPlaceUpdate(one, one, auto)), ""},
		"in place by hand":  {"no fault", strategy(inPlaceUpdate(one, one, v1alpha1.OrchestrationTypeManual)), ""},
		"zero and zero":     {"accepted: the engine lets one be unavailable", strategy(rollingUpdate(intstr.FromInt32(0), intstr.FromString("0%"))), ""},
		"above 100 percent": {"accepted: no more than there are can be unavailable", strategy(rollingUpdate(one, intstr.FromString("150%"))), ""},
		"other block broken": {"only the block of the chosen strategy counts", func(d *deployment) {
			d.Spec.Strategy.InPlaceUpdate = &v1alpha1.InPlaceUpdateMachineDeployment{OrchestrationType: "Robot"}
		}, ""},

		"negative replicas": {"below zero", func(d *deployment) { d.Spec.Replicas = -1 }, "spec.replicas"},
		"no selector":       {"never a crash", func(d *deployment) { d.Spec.Selector = nil }, "spec.selector"},
		"empty selector":    {"would match every set", func(d *deployment) { d.Spec.Selector = &metav1.LabelSelector{} }, "spec.selector"},
		"broken selector": {"no such operator", func(d *deployment) {
			d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}
		}, "spec.selector"},
		"foreign selector": {"its sets would not be its own", func(d *deployment) { d.Spec.Template.Labels = nil }, "spec.template.metadata.labels"},
		"no class kind":    {"required", func(d *deployment) { d.Spec.Template.Spec.Class.Kind = "" }, "spec.template.spec.class.kind"},
		"no class name":    {"required", func(d *deployment) { d.Spec.Template.Spec.Class.Name = "" }, "spec.template.spec.class.name"},

		"no strategy":         {"there is no default", strategy(v1alpha1.MachineDeploymentStrategy{}), "spec.strategy.type"},
		"unknown strategy":    {"neither of the three", strategy(v1alpha1.MachineDeploymentStrategy{Type: "BlueGreen"}), "spec.strategy.type"},
		"no rolling block":    {"required", func(d *deployment) { d.Spec.Strategy.RollingUpdate = nil }, "spec.strategy.rollingUpdate"},
		"no in-place block":   {"required", func(d *deployment) { d.Spec.Strategy.Type = "InPlaceUpdate" }, "spec.strategy.inPlaceUpdate"},
		"no surge":            {"required", func(d *deployment) { d.Spec.Strategy.RollingUpdate.MaxSurge = nil }, "spec.strategy.rollingUpdate.maxSurge"},
		"no unavailable":      {"required", func(d *deployment) { d.Spec.Strategy.RollingUpdate.MaxUnavailable = nil }, "spec.strategy.rollingUpdate.maxUnavailable"},
		"surge no number":     {"not convertible", strategy(rollingUpdate(text, one)), "spec.strategy.rollingUpdate.maxSurge"},
		"unavailable no more": {"below zero", strategy(rollingUpdate(one, intstr.FromInt32(-1))), "spec.strategy.rollingUpdate.maxUnavailable"},
		"in-place surge":      {"not convertible", strategy(inPlaceUpdate(text, one, auto)), "spec.strategy.inPlaceUpdate.maxSurge"},
		"in-place by nobody":  {"required", strategy(inPlaceUpdate(one, one, "")), "spec.strategy.inPlaceUpdate.orchestrationType"},
		"in-place by others":  {"neither of the two", strategy(inPlaceUpdate(one, one, "Robot")), "spec.strategy.inPlaceUpdate.orchestrationType"},
		"annotation of ours": {
			"a precaution that is not understood", annotatedWith(dialect.CanaryAnnotation, "tweety"),
			"metadata.annotations[millwright.dev/rollout-canary]",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := sampleDeployment(tc.change)
			faults := Deployments{}.View(d, setNow).Faults
			switch {
			case tc.field == "" && len(faults) > 0:
				t.Errorf("%s: got %v", tc.reason, faults)
			case tc.field != "" && (len(faults) != 1 || faults[0].Field != tc.field || faults[0].Message == ""):
				t.Errorf("%s: got %v, want one about %s", tc.reason, faults, tc.field)
			}
			if dialect.SelectsAll(faults) != (name == "empty selector") {
				t.Errorf("taken for the empty selector: %v", dialect.SelectsAll(faults))
			}
			if selects := tc.field != "spec.selector"; selects != (Deployments{}).View(d, setNow).Selector.Matches(labels.Set{"name": "workers"}) {
				t.Errorf("selects its sets: %v", !selects)
			}
		})
	}
}

// TestDeploymentView: section 1.5.
func TestDeploymentView(t *testing.T) {
	two, quarter := intstr.FromInt32(2), intstr.FromString("25%")
	tests := map[string]struct {
		reason string
		change change
		expect func(*rollout.Deployment)
	}{
		"rolling": {"the bounds are the block's", func(d *deployment) { d.Spec.Strategy = rollingUpdate(quarter, two) }, func(v *rollout.Deployment) {
			v.Surge, v.Unavailable = &quarter, &two
		}},
		"recreate": {"the other block's bounds do not count", func(d *deployment) { d.Spec.Strategy.Type = v1alpha1.RecreateMachineDeploymentStrategyType }, func(v *rollout.Deployment) {
			v.Strategy, v.Surge, v.Unavailable = rollout.Recreate, nil, nil
		}},
		"in place": {"Auto", func(d *deployment) { d.Spec.Strategy = inPlaceUpdate(two, quarter, v1alpha1.OrchestrationTypeAuto) }, func(v *rollout.Deployment) {
			v.Strategy, v.Surge, v.Unavailable = rollout.InPlace, &two, &quarter
		}},
		"in place by hand": {"Manual", func(d *deployment) { d.Spec.Strategy = inPlaceUpdate(two, quarter, v1alpha1.OrchestrationTypeManual) }, func(v *rollout.Deployment) {
			v.Strategy, v.Surge, v.Unavailable, v.ByHand = rollout.InPlace, &two, &quarter, true
		}},
		"history":            {"a limit", func(d *deployment) { d.Spec.RevisionHistoryLimit = ptr.To[int32](2) }, func(v *rollout.Deployment) { v.HistoryLimit = ptr.To(2) }},
		"history, negative":  {"keeps none", func(d *deployment) { d.Spec.RevisionHistoryLimit = ptr.To[int32](-2) }, func(v *rollout.Deployment) { v.HistoryLimit = ptr.To(0) }},
		"deadline":           {"seconds", func(d *deployment) { d.Spec.ProgressDeadlineSeconds = ptr.To[int32](600) }, func(v *rollout.Deployment) { v.Deadline = 10 * time.Minute }},
		"deadline, zero":     {"over at once, not for ever", func(d *deployment) { d.Spec.ProgressDeadlineSeconds = ptr.To[int32](0) }, func(v *rollout.Deployment) { v.Deadline = time.Second }},
		"paused":             {"", func(d *deployment) { d.Spec.Paused = true }, func(v *rollout.Deployment) { v.Paused = true }},
		"rollback":           {"to a revision", func(d *deployment) { d.Spec.RollbackTo = &v1alpha1.RollbackConfig{Revision: 4} }, func(v *rollout.Deployment) { v.RollbackTo = ptr.To[int64](4) }},
		"rollback, before":   {"0 is the one before", func(d *deployment) { d.Spec.RollbackTo = &v1alpha1.RollbackConfig{} }, func(v *rollout.Deployment) { v.RollbackTo = ptr.To[int64](0) }},
		"revision":           {"of the annotation", annotatedWith(v1alpha1.AnnotationKeyRevision, "12"), func(v *rollout.Deployment) { v.Revision = 12 }},
		"revision, no digit": {"as good as none", annotatedWith(v1alpha1.AnnotationKeyRevision, "last"), func(*rollout.Deployment) {}},
		"frozen":             {"a mirror of the sets, which stop by themselves", func(d *deployment) { d.Labels = map[string]string{"freeze": "True"} }, func(*rollout.Deployment) {}},
		"deleting": {"orphan: the sets survive", func(d *deployment) {
			d.DeletionTimestamp, d.Finalizers = &metav1.Time{Time: setNow}, []string{"orphan"}
		}, func(v *rollout.Deployment) { v.Deleting, v.Orphaning = true, true }},
		"guard": {"annotations of ours", annotatedWith(dialect.MaxFailuresAnnotation, "3", dialect.OnFailureAnnotation, "rollback"), func(v *rollout.Deployment) {
			v.Guard = rollout.Guard{MaxFailures: 3, RollBack: true}
		}},
		"last": {"progress counts from the last update, not from the transition", func(d *deployment) {
			d.Status = v1alpha1.MachineDeploymentStatus{Replicas: 5, UpdatedReplicas: 2, ReadyReplicas: 4, AvailableReplicas: 3, Conditions: []v1alpha1.MachineDeploymentCondition{{
				Type: v1alpha1.MachineDeploymentProgressing, Status: "True", Reason: "MachineSetUpdated", Message: "on its way",
				LastUpdateTime: metav1.NewTime(setNow), LastTransitionTime: metav1.NewTime(setNow.Add(-time.Hour)),
			}}}
		}, func(v *rollout.Deployment) {
			v.Last = rollout.Last{Updated: 2, Old: 3, Ready: 4, Available: 3, Progress: rollout.Progress{
				Status: rollout.True, Reason: rollout.SetUpdated, Message: "on its way", Since: setNow,
			}}
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			one, zero := intstr.FromInt32(1), intstr.FromInt32(0)
			want := rollout.Deployment{
				UID: "deployment-uid", Namespace: "ns", Name: "workers", Replicas: 3, Strategy: rollout.Rolling, Surge: &one, Unavailable: &zero,
			}
			tc.expect(&want)
			d := sampleDeployment(tc.change)
			before := d.DeepCopy()
			if diff := cmp.Diff(want, Deployments{}.View(d, setNow).Deployment); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, d); diff != "" {
				t.Errorf("looking changes the object:\n%s", diff)
			}
		})
	}
}

// TestDeploymentPolicy: minReadySeconds has no effect, as in the original
// (C31); machines on their way out take room (P9) unless asked otherwise.
func TestDeploymentPolicy(t *testing.T) {
	usual := rollout.Policy{LeavingTakesRoom: true, StatusCountsLeaving: true, Cascade: true, AvoidOld: true}
	slow := sampleDeployment(func(d *deployment) { d.Spec.MinReadySeconds = 3600 })
	if diff := cmp.Diff(usual, Deployments{}.View(slow, setNow).Policy); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	overlapping := usual
	overlapping.LeavingTakesRoom = false
	if diff := cmp.Diff(overlapping, Deployments{}.View(sampleDeployment(annotatedWith(dialect.OverlapAnnotation, "true")), setNow).Policy); diff != "" {
		t.Errorf("overlap (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(usual, Deployments{}.View(sampleDeployment(annotatedWith(dialect.OverlapAnnotation, "false")), setNow).Policy); diff != "" {
		t.Errorf("no overlap (-want +got):\n%s", diff)
	}
	apart := usual
	apart.StayDuringRollout, apart.Nodeless = true, true
	if diff := cmp.Diff(apart, Deployments{StayDuringRollout: true, Nodeless: true}.View(slow, setNow).Policy); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

// TestDeploymentTraits: the reasons of section 7.4.
func TestDeploymentTraits(t *testing.T) {
	got := Deployments{}.Traits()
	if got.Finalizer != "machine.sapcloud.io/machine-controller-manager" || got.Kind.Kind != "MachineDeployment" || (Sets{}).Traits().Kind.Kind != "MachineSet" {
		t.Errorf("%+v", got)
	}
	want := dialect.DeploymentEvents{
		Scaled: "ScalingMachineSet", CreateError: "MachineSetCreateError", SelectsAll: "SelectingAll", RolledBack: "DeploymentRollback",
		RevisionNotFound: "DeploymentRollbackRevisionNotFound", TemplateUnchanged: "DeploymentRollbackTemplateUnchanged",
		Invalid: "InvalidSpec", Stopped: "RolloutStopped", Resumed: "RolloutResumed", Canary: "RolloutCanary",
	}
	if diff := cmp.Diff(want, got.Events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDeploymentAdopts(t *testing.T) {
	gone := func(m *metav1.ObjectMeta) { m.DeletionTimestamp = &metav1.Time{Time: setNow} }
	d, s := sampleDeployment(), sampleSet()
	if !(deployedSets{}).Adopts(d, s) {
		t.Error("3.2: a set that nobody controls and the selector matches is taken over")
	}
	gone(&s.ObjectMeta)
	if (deployedSets{}).Adopts(d, s) {
		t.Error("a set on its way out is taken over")
	}
	gone(&d.ObjectMeta)
	if (deployedSets{}).Adopts(d, sampleSet()) {
		t.Error("a deployment on its way out takes over")
	}
}
