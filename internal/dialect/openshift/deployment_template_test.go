package openshift

import (
	"maps"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

func value(raw string) func(*machinev1.MachineTemplateSpec) {
	return func(t *machinev1.MachineTemplateSpec) {
		t.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(raw)}
	}
}

// TestWhatRolls is the table of what a change of the deployment's template
// comes to: machines are replaced, or not.
func TestWhatRolls(t *testing.T) {
	tests := map[string]struct {
		reason string
		change func(*machinev1.MachineTemplateSpec)
		rolls  bool
	}{
		"nothing":             {"", func(*machinev1.MachineTemplateSpec) {}, false},
		"a value":             {"the instance is another", value(`{"kind":"Any","size":4,"disks":[{"gb":10}]}`), true},
		"a value deep inside": {"the instance is another", value(`{"kind":"Any","size":3,"disks":[{"gb":11}]}`), true},
		"a field more":        {"the instance is another", value(`{"kind":"Any","size":3,"disks":[{"gb":10}],"gpu":1}`), true},
		"a field less":        {"the instance is another", value(`{"kind":"Any","disks":[{"gb":10}]}`), true},
		"order of a list":     {"lists are ordered", value(`{"kind":"Any","size":3,"disks":[{"gb":20},{"gb":10}]}`), true},
		"text for a number":   {"a text is no number", value(`{"kind":"Any","size":"3","disks":[{"gb":10}]}`), true},
		"no value":            {"there would be nothing to make", func(t *machinev1.MachineTemplateSpec) { t.Spec.ProviderSpec.Value = nil }, true},
		"order of keys":       {"means the same", value(`{"disks":[{"gb":10}],"size":3,"kind":"Any"}`), false},
		"form of a number":    {"means the same", value(`{"kind":"Any","size":3.0,"disks":[{"gb":1e1}]}`), false},
		"blanks":              {"mean nothing", value("{ \"kind\": \"Any\",\n\"size\":3, \"disks\":[ {\"gb\":10} ] }"), false},
		"null":                {"says as much as no field", value(`{"kind":"Any","size":3,"disks":[{"gb":10,"kind":null}],"zone":null}`), false},
		"provider ID":         {"it names the instance", func(t *machinev1.MachineTemplateSpec) { t.Spec.ProviderID = ptr.To("x") }, true},
		"authority":           {"somebody else looks after the machine", func(t *machinev1.MachineTemplateSpec) { t.Spec.AuthoritativeAPI = "ClusterAPI" }, true},
		"authority filled in": {"some servers write the default", func(t *machinev1.MachineTemplateSpec) { t.Spec.AuthoritativeAPI = "MachineAPI" }, false},
		"a label":             {"added to living machines", func(t *machinev1.MachineTemplateSpec) { t.Labels["new"] = "x" }, false},
		"an annotation":       {"added to living machines", func(t *machinev1.MachineTemplateSpec) { t.Annotations["new"] = "x" }, false},
		"labels of nodes":     {"handed to living machines", func(t *machinev1.MachineTemplateSpec) { t.Spec.Labels = map[string]string{"tier": "b"} }, false},
		"taints of nodes":     {"handed to living machines", func(t *machinev1.MachineTemplateSpec) { t.Spec.Taints = []corev1.Taint{{Key: "k"}} }, false},
		"hooks": {"for machines to come", func(t *machinev1.MachineTemplateSpec) {
			t.Spec.LifecycleHooks.PreDrain = []machinev1.LifecycleHook{{Name: "abc", Owner: "def"}}
		}, false},
		"large numbers, by one": {"all digits count", value(`{"kind":"Any","size":12345678901234567}`), true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := sampleDeployment()
			s := deployedSets{}.New(d, rollout.SetWant{})
			tc.change(&d.Spec.Template)
			if got := !(deployedSets{}).View(d, s).Current; got != tc.rolls {
				t.Errorf("rolls: %v, want %v: %s", got, tc.rolls, tc.reason)
			}
		})
	}
}

// Defaults that another component filled into a set's template are no reason to replace its machines; a
// changed value is.
func TestDefaultsFilledIntoASet(t *testing.T) {
	tests := map[string]struct {
		reason string
		change func(*machinev1.MachineSet)
		want   bool
	}{
		"defaults": {"it says all that the deployment says", func(s *machinev1.MachineSet) {
			value(`{"kind":"Any","size":3,"zone":"z","disks":[{"gb":10,"type":"ssd"}]}`)(&s.Spec.Template)
		}, true},
		"another value": {"that is no default", func(s *machinev1.MachineSet) {
			value(`{"kind":"Any","size":4,"zone":"z","disks":[{"gb":10}]}`)(&s.Spec.Template)
		}, false},
		"something less": {"that is no default", func(s *machinev1.MachineSet) {
			value(`{"kind":"Any","zone":"z","disks":[{"gb":10}]}`)(&s.Spec.Template)
		}, false},
		"a longer list": {"that is no default", func(s *machinev1.MachineSet) {
			value(`{"kind":"Any","size":3,"disks":[{"gb":10},{"gb":1}]}`)(&s.Spec.Template)
		}, false},
		"another's set": {"what it was made from is not known", func(s *machinev1.MachineSet) {
			value(`{"kind":"Any","size":3,"zone":"z","disks":[{"gb":10}]}`)(&s.Spec.Template)
			delete(s.Annotations, TemplateAnnotation)
		}, false},
		"provider ID": {"that is no default", func(s *machinev1.MachineSet) { s.Spec.Template.Spec.ProviderID = ptr.To("x") }, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := sampleDeployment()
			s := deployedSets{}.New(d, rollout.SetWant{})
			tc.change(s)
			if got := (deployedSets{}).View(d, s).Current; got != tc.want {
				t.Errorf("current: %v, want %v: %s", got, tc.want, tc.reason)
			}
		})
	}
	d := sampleDeployment()
	s := deployedSets{}.New(d, rollout.SetWant{})
	value(`{"kind":"Any","size":3,"zone":"z","disks":[{"gb":10}]}`)(&s.Spec.Template)
	value(`{"kind":"Any","size":3,"zone":"y","disks":[{"gb":10}]}`)(&d.Spec.Template)
	if (deployedSets{}).View(d, s).Current {
		t.Error("the deployment came to say something else than the default, and the set stays current")
	}
}

// TestStoredSetsAreCurrent: what a server makes of an object on its way, or an
// older version of this program wrote, rolls nothing.
func TestStoredSetsAreCurrent(t *testing.T) {
	type stored struct{ deployment, set string }
	for name, c := range map[string]stored{
		"as written":         {`{"b":1,"a":[1,2]}`, `{"b":1,"a":[1,2]}`},
		"keys sorted":        {`{"b":1,"a":{"d":1,"c":2}}`, `{"a":{"c":2,"d":1},"b":1}`},
		"numbers as floats":  {`{"a":1,"b":0.5,"c":100}`, `{"a":1.0,"b":5e-1,"c":1e2}`},
		"large numbers":      {`{"a":12345678901234567,"b":18446744073709551615}`, `{"b":18446744073709551615,"a":12345678901234567}`},
		"nulls dropped":      {`{"a":null,"b":{"c":null}}`, `{"b":{}}`},
		"escapes":            {`{"a":"<\u00e9>"}`, `{"a":"\u003cé\u003e"}`},
		"empty":              {`{}`, `{}`},
		"not even an object": {`["a"]`, `[ "a" ]`},
		"not even JSON":      {`{"a":`, `{"a":`},
		"enormous exponents": {`{"a":1e999999}`, `{"a":1e999999}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := sampleDeployment()
			value(c.deployment)(&d.Spec.Template)
			s := deployedSets{}.New(d, rollout.SetWant{Replicas: 3})
			value(c.set)(&s.Spec.Template)
			delete(s.Annotations, TemplateAnnotation)                                         // nor is it there on older sets
			s.Labels[TemplateHashLabel], s.Spec.Template.Labels[TemplateHashLabel] = "1", "1" // a hash made otherwise
			s.Spec.Selector.MatchLabels[TemplateHashLabel] = "1"
			v := deployedSets{}.View(d, s)
			if !v.Current {
				t.Fatalf("not current")
			}
			before := s.DeepCopy()
			deployedSets{}.Apply(d, s, rollout.SetWant{Current: true, Replicas: v.Replicas, Desired: v.Desired, Max: v.Max, Notes: v.Notes})
			if !maps.Equal(before.Spec.Template.Labels, s.Spec.Template.Labels) || string(s.Spec.Template.Spec.ProviderSpec.Value.Raw) != c.set {
				t.Errorf("dressing it writes\n%v, %s", s.Spec.Template.Labels, s.Spec.Template.Spec.ProviderSpec.Value.Raw)
			}
		})
	}
}

// TestNamesFollowFromTheTemplate pins how names are made: another way would
// replace nothing, yet a set whose creation was not answered would be made
// twice in the middle of an upgrade.
func TestNamesFollowFromTheTemplate(t *testing.T) {
	collided := func(n int32) func(*v1beta1.MachineDeployment) {
		return func(d *v1beta1.MachineDeployment) { d.Status.CollisionCount = ptr.To(n) }
	}
	name := func(changes ...func(*v1beta1.MachineDeployment)) string {
		return deployedSets{}.New(sampleDeployment(changes...), rollout.SetWant{}).Name
	}
	const want = "workers-ljc44"
	if got := name(); got != want {
		t.Errorf("the name is %s, want %s", got, want)
	}
	reordered := name(func(d *v1beta1.MachineDeployment) {
		value(`{"disks":[{"gb":1e1}],"size":3.0,"kind":"Any"}`)(&d.Spec.Template)
		d.Spec.Template.Labels["new"] = "label"
	})
	if reordered != want {
		t.Errorf("what rolls nothing changes the name to %s", reordered)
	}
	seen := map[string]bool{want: true}
	for n := range int32(50) {
		got := name(collided(n + 1))
		if seen[got] {
			t.Errorf("after %d collisions the name is taken again: %s", n+1, got)
		}
		seen[got] = true
	}
	hash := templateHash(sampleDeployment())
	if len(hash) != 7 || setName("workers", hash) != want || dialect.SuffixLength != 5 {
		t.Errorf("hash %s does not begin with the name's suffix", hash)
	}
}
