package openshift

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// sampleDeployment is one as the API server hands it out.
func sampleDeployment(changes ...func(*v1beta1.MachineDeployment)) *v1beta1.MachineDeployment {
	d := &v1beta1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "workers", UID: "deployment-uid", Generation: 7,
			Annotations: map[string]string{
				"team": "blue", RevisionAnnotation: "3",
				"kubectl.kubernetes.io/last-applied-configuration":                "{}",
				"machine.openshift.io/cluster-api-autoscaler-node-group-min-size": "1",
				"machine.openshift.io/cluster-api-autoscaler-node-group-max-size": "9",
				"machine.openshift.io/vCPU":                                       "4",
				"capacity.cluster-autoscaler.kubernetes.io/labels":                "a=b",
				"machine.openshift.io/autoscaling-options-scaledownunneededtime":  "5m",
				dialect.MaxFailuresAnnotation:                                     "3",
			},
		},
		Spec: v1beta1.MachineDeploymentSpec{
			Replicas: ptr.To(int32(3)),
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "a"}},
			Template: machinev1.MachineTemplateSpec{
				ObjectMeta: machinev1.ObjectMeta{
					Labels: map[string]string{"pool": "a", ClusterLabel: "blue"}, Annotations: map[string]string{"note": "x"},
				},
				Spec: machinev1.MachineSpec{
					ObjectMeta:   machinev1.ObjectMeta{Labels: map[string]string{"tier": "a"}},
					ProviderSpec: machinev1.ProviderSpec{Value: &runtime.RawExtension{Raw: []byte(`{"kind":"Any","size":3,"disks":[{"gb":10}]}`)}},
				},
			},
			MinReadySeconds: 5,
		},
	}
	for _, c := range changes {
		c(d)
	}
	return d
}

func rollingBlock(b v1beta1.MachineRollingUpdateDeployment) func(*v1beta1.MachineDeployment) {
	return func(d *v1beta1.MachineDeployment) { d.Spec.Strategy.RollingUpdate = &b }
}

func strategy(name string) func(*v1beta1.MachineDeployment) {
	return func(d *v1beta1.MachineDeployment) { d.Spec.Strategy.Type = v1beta1.MachineDeploymentStrategyType(name) }
}

func annotated(key, value string) func(*v1beta1.MachineDeployment) {
	return func(d *v1beta1.MachineDeployment) { d.Annotations[key] = value }
}

func TestDeploymentView(t *testing.T) {
	since := metav1.NewTime(setNow)
	d := sampleDeployment(
		rollingBlock(v1beta1.MachineRollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromString("250%")), MaxUnavailable: ptr.To(intstr.FromInt32(0))}),
		func(d *v1beta1.MachineDeployment) {
			d.Spec.Paused, d.Spec.RollbackTo = true, &v1beta1.RollbackConfig{Revision: 2}
			d.Spec.RevisionHistoryLimit, d.Spec.ProgressDeadlineSeconds = ptr.To(int32(5)), ptr.To(int32(60))
			d.DeletionTimestamp = &since
			d.Status = v1beta1.MachineDeploymentStatus{
				Replicas: 4, UpdatedReplicas: 1, ReadyReplicas: 3, AvailableReplicas: 2, LastProgressTime: &since,
				Conditions: []metav1.Condition{{Type: "Progressing", Status: "True", Reason: "MachineSetUpdated", Message: "m"}},
			}
		})
	want := rollout.Deployment{
		UID: "deployment-uid", Namespace: "ns", Name: "workers", Replicas: 3, Strategy: rollout.Rolling,
		Surge: ptr.To(intstr.FromString("250%")), Unavailable: ptr.To(intstr.FromInt32(0)),
		HistoryLimit: ptr.To(5), Deadline: time.Minute, Paused: true, RollbackTo: ptr.To(int64(2)), Deleting: true, Revision: 3,
		Guard: rollout.Guard{MaxFailures: 3},
		Last: rollout.Last{
			Updated: 1, Old: 3, Ready: 3, Available: 2,
			Progress: rollout.Progress{Status: rollout.True, Reason: rollout.SetUpdated, Message: "m", Since: setNow},
		},
	}
	if diff := cmp.Diff(want, Deployments{}.View(d, setNow).Deployment); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What stands in for fields that a stored object leaves out.
func TestDeploymentEffectiveDefaults(t *testing.T) {
	v := Deployments{}.View(sampleDeployment(func(d *v1beta1.MachineDeployment) { d.Spec.Replicas = nil }), setNow)
	if v.Replicas != 1 || v.Strategy != rollout.Rolling || *v.HistoryLimit != 1 || v.Deadline != 10*time.Minute {
		t.Errorf("replicas %d, strategy %q, history %d, deadline %v", v.Replicas, v.Strategy, *v.HistoryLimit, v.Deadline)
	}
	if v.Surge.IntValue() != 1 || v.Unavailable.IntValue() != 0 {
		t.Errorf("surge %v, unavailable %v", v.Surge, v.Unavailable)
	}
	v = Deployments{}.View(sampleDeployment(func(d *v1beta1.MachineDeployment) {
		d.Spec.RevisionHistoryLimit, d.Spec.ProgressDeadlineSeconds = ptr.To(int32(-2)), ptr.To(int32(-1))
	}), setNow)
	if *v.HistoryLimit != 0 || v.Deadline != 0 || len(v.Faults) > 0 {
		t.Errorf("below zero: history %d, deadline %v, faults %v; want none kept, for ever, none", *v.HistoryLimit, v.Deadline, v.Faults)
	}
}

func TestDeploymentStrategies(t *testing.T) {
	tests := map[string]struct {
		reason  string
		want    rollout.Strategy
		bounded bool
		leaving bool
	}{
		"":              {"the default", rollout.Rolling, true, true},
		"RollingUpdate": {"by name", rollout.Rolling, true, true},
		"Recreate":      {"all old machines are gone before", rollout.Recreate, false, true},
		"OnDelete":      {"a machine is replaced while it leaves, as sets do", rollout.OnDelete, false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := sampleDeployment(strategy(name), rollingBlock(v1beta1.MachineRollingUpdateDeployment{}))
			v, p := Deployments{}.View(d, setNow), Deployments{}.View(d, setNow).Policy
			if v.Strategy != tc.want || (v.Surge != nil) != tc.bounded || p.LeavingTakesRoom != tc.leaving || len(v.Faults) > 0 {
				t.Errorf("%q (%s): %s, surge %v, leaving takes room %v, faults %v", name, tc.reason, v.Strategy, v.Surge, p.LeavingTakesRoom, v.Faults)
			}
		})
	}
}

func TestDeploymentPolicy(t *testing.T) {
	want := rollout.Policy{MinReady: 5 * time.Second, LeavingTakesRoom: true, AvoidOld: true, StayDuringRollout: true}
	if diff := cmp.Diff(want, Deployments{}.View(sampleDeployment(), setNow).Policy); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want.LeavingTakesRoom = false
	if diff := cmp.Diff(want, Deployments{}.View(sampleDeployment(annotated(dialect.OverlapAnnotation, "")), setNow).Policy); diff != "" {
		t.Errorf("with overlap (-want +got)\n%s", diff)
	}
}

func TestDeploymentFaults(t *testing.T) {
	bound := func(surge, unavailable intstr.IntOrString) func(*v1beta1.MachineDeployment) {
		return rollingBlock(v1beta1.MachineRollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable})
	}
	one, many := intstr.FromInt32(1), intstr.FromString("many")
	both := func(a, b func(*v1beta1.MachineDeployment)) func(*v1beta1.MachineDeployment) {
		return func(d *v1beta1.MachineDeployment) { a(d); b(d) }
	}
	selector := func(s metav1.LabelSelector) func(*v1beta1.MachineDeployment) {
		return func(d *v1beta1.MachineDeployment) { d.Spec.Selector = s }
	}
	tests := map[string]struct {
		reason string
		change func(*v1beta1.MachineDeployment)
		field  string
	}{
		"sound":             {"no fault", func(*v1beta1.MachineDeployment) {}, ""},
		"negative replicas": {"below zero", func(d *v1beta1.MachineDeployment) { d.Spec.Replicas = ptr.To(int32(-1)) }, "spec.replicas"},
		"empty selector":    {"would match every set", selector(metav1.LabelSelector{}), "spec.selector"},
		"broken selector":   {"no such operator", selector(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}), "spec.selector"},
		"foreign selector":  {"would make sets for ever", selector(metav1.LabelSelector{MatchLabels: map[string]string{"pool": "b"}}), "spec.template.metadata.labels"},
		"unknown strategy":  {"stored, and explained", strategy("InPlaceUpdate"), "spec.strategy.type"},
		"any case":          {"names are exact", strategy("rollingupdate"), "spec.strategy.type"},
		"no room at all":    {"the engine lets one be unavailable", bound(intstr.FromInt32(0), intstr.FromString("0%")), ""},
		"more than all":     {"kept within what there is", bound(intstr.FromString("250%"), intstr.FromInt32(1000)), ""},
		"surge, no number":  {"not convertible", bound(many, one), "spec.strategy.rollingUpdate.maxSurge"},
		"surge, no percent": {"a number must not be quoted", bound(intstr.FromString("1"), one), "spec.strategy.rollingUpdate.maxSurge"},
		"surge, negative":   {"below zero", bound(intstr.FromInt32(-1), one), "spec.strategy.rollingUpdate.maxSurge"},
		"unavailable":       {"not convertible", bound(one, many), "spec.strategy.rollingUpdate.maxUnavailable"},
		"unavailable below": {"below zero", bound(one, intstr.FromString("-5%")), "spec.strategy.rollingUpdate.maxUnavailable"},
		"unused bounds":     {"they do not count for this strategy", both(strategy("OnDelete"), bound(many, many)), ""},
		"unknown policy":    {"it would be refused by the sets", rollingBlock(v1beta1.MachineRollingUpdateDeployment{DeletePolicy: "Prettiest"}), "spec.strategy.rollingUpdate.deletePolicy"},
		"policy counts":     {"for every strategy", both(strategy("OnDelete"), rollingBlock(v1beta1.MachineRollingUpdateDeployment{DeletePolicy: "x"})), "spec.strategy.rollingUpdate.deletePolicy"},
		"known policy":      {"one of three", rollingBlock(v1beta1.MachineRollingUpdateDeployment{DeletePolicy: "Oldest"}), ""},
		"other authority":   {"sets could not store it", func(d *v1beta1.MachineDeployment) { d.Spec.Template.Spec.AuthoritativeAPI = "ClusterAPI" }, "spec.template.spec.authoritativeAPI"},
		"own authority":     {"filled in by servers", func(d *v1beta1.MachineDeployment) { d.Spec.Template.Spec.AuthoritativeAPI = "MachineAPI" }, ""},
		"our annotations":   {"a precaution must be understood", annotated(dialect.CanaryAnnotation, "few"), "metadata.annotations[" + dialect.CanaryAnnotation + "]"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			faults := Deployments{}.View(sampleDeployment(tc.change), setNow).Faults
			switch {
			case tc.field == "" && len(faults) > 0:
				t.Errorf("%s: got %v", tc.reason, faults)
			case tc.field != "" && (len(faults) != 1 || faults[0].Field != tc.field || faults[0].Message == ""):
				t.Errorf("%s: got %v, want one about %s", tc.reason, faults, tc.field)
			}
			if got := dialect.SelectsAll(faults); got != (name == "empty selector") {
				t.Errorf("selects all: %v", got)
			}
		})
	}
}

func TestDeploymentSelector(t *testing.T) {
	if s := (Deployments{}).View(sampleDeployment(), setNow).Selector; !s.Matches(labels.Set{"pool": "a", "x": "y"}) || s.Matches(labels.Set{"pool": "b"}) {
		t.Errorf("selector %v", s)
	}
	for _, broken := range []metav1.LabelSelector{{}, {MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}} {
		d := sampleDeployment(func(d *v1beta1.MachineDeployment) { d.Spec.Selector = broken })
		if s := (Deployments{}).View(d, setNow).Selector; s.Matches(labels.Set{"pool": "a"}) || s.Matches(labels.Set{}) {
			t.Errorf("%v matches something", broken)
		}
	}
}

// Existing sets of a user are never taken over by accident.
func TestDeploymentAdopts(t *testing.T) {
	d := sampleDeployment()
	left := func(changes ...func(*machinev1.MachineSet)) *machinev1.MachineSet {
		s := deployedSets{}.New(d, rollout.SetWant{Replicas: 3})
		s.OwnerReferences = nil
		for _, c := range changes {
			c(s)
		}
		return s
	}
	tests := map[string]struct {
		reason string
		set    *machinev1.MachineSet
		want   bool
	}{
		"left behind":     {"the deployment was deleted, its set was to stay", left(), true},
		"made by hand":    {"though the selector matches it", sampleSet(func(s *machinev1.MachineSet) { s.Labels = map[string]string{"pool": "a"} }), false},
		"of another name": {"another deployment's", left(func(s *machinev1.MachineSet) { s.Annotations[DeploymentAnnotation] = "others" }), false},
		"copied":          {"somebody made a set of his own out of one of ours", left(func(s *machinev1.MachineSet) { s.Name = "workers-copy" }), false},
		"without hash":    {"it could not be told apart", left(func(s *machinev1.MachineSet) { delete(s.Labels, TemplateHashLabel) }), false},
	}
	for name, tc := range tests {
		if got := (deployedSets{}).Adopts(d, tc.set); got != tc.want {
			t.Errorf("%s: adopted %v: %s", name, got, tc.reason)
		}
	}
}
