package openshift

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

func TestDeploymentSetGolden(t *testing.T) {
	d := sampleDeployment(rollingBlock(v1beta1.MachineRollingUpdateDeployment{DeletePolicy: "Oldest"}))
	s := deployedSets{}.New(d, rollout.SetWant{Replicas: 2, Desired: ptr.To(3), Max: ptr.To(4), Revision: 4})
	setGolden(t, "deployment-set", s)
	if faults := (Sets{}).View(s).Faults; len(faults) > 0 {
		t.Errorf("the set is at fault: %v", faults)
	}
	v := deployedSets{}.View(d, s)
	if !v.Current || v.Replicas != 2 || *v.Desired != 3 || *v.Max != 4 || v.Revision != 4 || !Deployed(s) {
		t.Errorf("it shows %+v", v)
	}
	if !(Deployments{}).View(d, setNow).Selector.Matches(labels.Set(s.Labels)) {
		t.Error("the deployment does not select its own set")
	}
}

// Dress(s, w) shows w, and does nothing when done again.
func TestDeploymentDress(t *testing.T) {
	since := setNow.Add(-time.Hour)
	d := sampleDeployment()
	tests := map[string]rollout.SetWant{
		"scaled":   {Replicas: 5, Desired: ptr.To(9), Max: ptr.To(10), Revision: 1},
		"current":  {Current: true, Replicas: 0, Revision: 7},
		"avoided":  {Replicas: 1, Avoided: true, NoGrowth: true},
		"noted":    {Current: true, Replicas: 1, Notes: rollout.Notes{Failed: []string{"a", "b"}, CanarySince: since}},
		"released": {Replicas: 1},
	}
	for name, w := range tests {
		t.Run(name, func(t *testing.T) {
			s := deployedSets{}.New(d, rollout.SetWant{Replicas: 3, Revision: 1, Avoided: true, NoGrowth: true, Notes: rollout.Notes{Failed: []string{"old"}}})
			deployedSets{}.Apply(d, s, w)
			v := deployedSets{}.View(d, s)
			got := rollout.SetWant{Current: w.Current, Replicas: v.Replicas, Desired: v.Desired, Max: v.Max, Avoided: v.Avoided, NoGrowth: v.NoGrowth, Notes: v.Notes}
			want := w
			want.Revision = 0
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +shown)\n%s", diff)
			}
			if w.Revision != 0 && v.Revision != w.Revision {
				t.Errorf("revision %d, want %d", v.Revision, w.Revision)
			}
			again := s.DeepCopy()
			deployedSets{}.Apply(d, again, w)
			if diff := cmp.Diff(s, again); diff != "" {
				t.Errorf("the second time it changed\n%s", diff)
			}
		})
	}
}

// A set that has not the present template keeps its own, for going back.
func TestDeploymentDressesOldSetsOutsideOnly(t *testing.T) {
	d := sampleDeployment()
	s := deployedSets{}.New(d, rollout.SetWant{Replicas: 3})
	before := s.DeepCopy()
	d.Spec.Template.Labels["new"], d.Annotations["new"], d.Spec.MinReadySeconds = "x", "x", 99
	deployedSets{}.Apply(d, s, rollout.SetWant{Replicas: 1, Avoided: true})
	before.Spec.Replicas, before.Annotations[OutdatedKey] = ptr.To(int32(1)), "true"
	if diff := cmp.Diff(before, s); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What is handed to living machines reaches the current set, and nothing else
// of the set changes.
func TestDeploymentDressesCurrentSets(t *testing.T) {
	d := sampleDeployment()
	s := deployedSets{}.New(d, rollout.SetWant{Replicas: 3})
	s.Annotations["foreign"], s.Labels["foreign"] = "x", "x"
	s.Annotations[capacityOfSet] = "8"
	want := s.DeepCopy()
	change := func(m *machinev1.MachineTemplateSpec) {
		m.Labels = map[string]string{"pool": "a", "new": "x"}
		m.Annotations = map[string]string{"new": "x"}
		m.Spec.ObjectMeta = machinev1.ObjectMeta{Labels: map[string]string{"tier": "b"}}
		m.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}
		m.Spec.LifecycleHooks.PreDrain = []machinev1.LifecycleHook{{Name: "abc", Owner: "def"}}
	}
	change(&d.Spec.Template)
	change(&want.Spec.Template)
	want.Spec.Template.Labels[TemplateHashLabel] = s.Labels[TemplateHashLabel]
	want.Labels["new"], want.Annotations["team"] = "x", "red"
	d.Annotations["team"], d.Spec.MinReadySeconds = "red", 99
	want.Spec.MinReadySeconds = 99
	deployedSets{}.Apply(d, s, rollout.SetWant{Current: true, Replicas: 3})
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s.Spec.Template.Spec.Taints[0].Key, s.Spec.Template.Labels["new"], s.Spec.Template.Annotations["new"] = "y", "y", "y"
	if d.Spec.Template.Spec.Taints[0].Key != "k" || d.Spec.Template.Labels["new"] != "x" || d.Spec.Template.Annotations["new"] != "x" {
		t.Error("the set shares memory with its deployment")
	}
}

// capacityOfSet is written on sets by another controller; the deployment's own
// value must not be at odds with it.
const capacityOfSet = "machine.openshift.io/vCPU"

// A template that brings a hash along, from a copied manifest, does not mix the
// sets up.
func TestDeploymentMakesItsOwnHash(t *testing.T) {
	d := sampleDeployment(func(d *v1beta1.MachineDeployment) { d.Spec.Template.Labels[TemplateHashLabel] = "copied" })
	s := deployedSets{}.New(d, rollout.SetWant{Replicas: 3})
	for place, l := range map[string]map[string]string{"labels": s.Labels, "selector": s.Spec.Selector.MatchLabels, "template": s.Spec.Template.Labels} {
		t.Run(place, func(t *testing.T) {
			if l[TemplateHashLabel] != "ljc445l" {
				t.Errorf("%s: %v", place, l)
			}
		})
	}
}

// A set does not lose the labels that its own selector asks for, whatever
// becomes of the deployment's selector: it would stop working.
func TestDeploymentKeepsSetsSound(t *testing.T) {
	d := sampleDeployment(func(d *v1beta1.MachineDeployment) {
		d.Spec.Selector.MatchLabels["stage"], d.Spec.Template.Labels["stage"] = "one", "one"
		d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "wing", Operator: metav1.LabelSelectorOpExists}}
		d.Spec.Template.Labels["wing"] = "left"
	})
	s := deployedSets{}.New(d, rollout.SetWant{Replicas: 3})
	delete(d.Spec.Selector.MatchLabels, "stage")
	delete(d.Spec.Template.Labels, "stage")
	deployedSets{}.Apply(d, s, rollout.SetWant{Current: true, Replicas: 3})
	if faults := (Sets{}).View(s).Faults; len(faults) > 0 {
		t.Errorf("a label less: %v", faults)
	}
	d.Spec.Selector.MatchExpressions = nil
	delete(d.Spec.Template.Labels, "wing")
	deployedSets{}.Apply(d, s, rollout.SetWant{Current: true, Replicas: 3})
	if faults := (Sets{}).View(s).Faults; len(faults) > 0 {
		t.Errorf("an expression less: %v", faults)
	}
}

func TestDeploymentRevisionHistory(t *testing.T) {
	d := sampleDeployment()
	s := deployedSets{}.New(d, rollout.SetWant{Revision: 1})
	for _, n := range []int64{1, 3, 3, 8} {
		deployedSets{}.Apply(d, s, rollout.SetWant{Revision: n})
	}
	if s.Annotations[RevisionAnnotation] != "8" || s.Annotations[RevisionHistoryAnnotation] != "1,3" {
		t.Errorf("revision %s, before %s", s.Annotations[RevisionAnnotation], s.Annotations[RevisionHistoryAnnotation])
	}
}

// Going back makes the set the current one again, whatever was filled into it,
// and takes nothing from the deployment.
func TestDeploymentRollBack(t *testing.T) {
	d := sampleDeployment()
	s := deployedSets{}.New(d, rollout.SetWant{Replicas: 3, Revision: 1})
	value(`{"kind":"Any","size":3,"disks":[{"gb":10}],"zone":"filled-in"}`)(&s.Spec.Template)
	s.Annotations["of-the-set"] = "x"
	value(`{"kind":"Any","size":9}`)(&d.Spec.Template)
	d.Spec.Template.Labels["new"], d.Annotations["new"] = "x", "x"
	before := maps.Clone(d.Annotations)
	d.Spec.RollbackTo = &v1beta1.RollbackConfig{Revision: 1}
	Deployments{}.RollBack(d, &s, rollout.RollBack{})
	if d.Spec.RollbackTo != nil || !(deployedSets{}).View(d, s).Current {
		t.Errorf("request %v, template %s", d.Spec.RollbackTo, d.Spec.Template.Spec.ProviderSpec.Value.Raw)
	}
	if _, ok := d.Spec.Template.Labels[TemplateHashLabel]; ok || d.Spec.Template.Labels["new"] != "" {
		t.Errorf("labels %v", d.Spec.Template.Labels)
	}
	before["of-the-set"] = "x"
	if diff := cmp.Diff(before, d.Annotations); diff != "" {
		t.Errorf("annotations (-want +got)\n%s", diff)
	}
	d.Spec.RollbackTo = &v1beta1.RollbackConfig{Revision: 99}
	template := d.Spec.Template.DeepCopy()
	Deployments{}.RollBack(d, nil, rollout.RollBack{})
	if d.Spec.RollbackTo != nil || cmp.Diff(template, &d.Spec.Template) != "" {
		t.Error("a request that cannot be met is cleared, and nothing else")
	}
}

func TestDeploymentAmend(t *testing.T) {
	d := sampleDeployment()
	before := d.DeepCopy()
	Deployments{}.ApplyMetadata(d, nil, rollout.Amend{})
	if diff := cmp.Diff(before, d); diff != "" {
		t.Errorf("nothing to amend:\n%s", diff)
	}
	Deployments{}.ApplyMetadata(d, nil, rollout.Amend{Revision: 12})
	before.Annotations[RevisionAnnotation] = "12"
	if diff := cmp.Diff(before, d); diff != "" || (Deployments{}).View(d, setNow).Revision != 12 {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Limits of a node group are the deployment's alone: with a second group of the
// same machines the autoscaler would count them twice.
func TestAutoscalerSeesOneGroup(t *testing.T) {
	d := sampleDeployment()
	s := deployedSets{}.New(d, rollout.SetWant{Replicas: 3})
	for key := range d.Annotations {
		_, copied := s.Annotations[key]
		if want := key == "team"; copied != want {
			t.Errorf("%s: copied %v, want %v", key, copied, want)
		}
	}
}

func TestDeploymentViewSet(t *testing.T) {
	d := sampleDeployment()
	s := deployedSets{}.New(d, rollout.SetWant{Replicas: 3})
	s.Generation, s.Status.ObservedGeneration = 4, 3
	s.DeletionTimestamp = &metav1.Time{Time: setNow}
	s.Annotations[DesiredAnnotation], s.Annotations[RevisionAnnotation] = "many", "first"
	s.Annotations[ScaleUpDisabledAnnotation] = "false"
	s.Status.ErrorReason = ptr.To(machinev1.InvalidConfigurationMachineSetError)
	s.Status.ErrorMessage = ptr.To("spec.replicas: x")
	v := deployedSets{}.View(d, s)
	if v.Observed || !v.Deleting || v.Desired != nil || v.Revision != 0 || v.NoGrowth {
		t.Errorf("shows %+v", v)
	}
	if diff := cmp.Diff(&rollout.Failure{Reason: "InvalidConfiguration", Message: "spec.replicas: x"}, v.Failure); diff != "" {
		t.Error(diff)
	}
	s.Spec.Replicas = nil
	if v := (deployedSets{}).View(d, s); v.Replicas != 0 {
		t.Errorf("a set without replicas makes none: %d", v.Replicas)
	}
}

// A deployment with the name that only just fits makes a set whose name fits.
func TestDeploymentSetNamesFit(t *testing.T) {
	for _, n := range []int{1, 57, 58, 253} {
		name := setName(string(make([]byte, n)), "bcdfghj")
		if len(name) > 63 || len(name) < n && n < 58 {
			t.Errorf("of %d characters: %d", n, len(name))
		}
	}
	if got := dialect.MachineName("workers-ljc44", "x7k2p"); got != "workers-ljc44-x7k2p" {
		t.Errorf("its machines are called %s", got)
	}
}
