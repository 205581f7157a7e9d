package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/provider"
)

// kinds are the types of the objects in the shapes, by API and kind.
var kinds = map[string]map[string]func() any{
	provider.OpenShift: {
		"Machine": func() any { return &machinev1.Machine{} }, "MachineSet": func() any { return &machinev1.MachineSet{} },
		"MachineDeployment": func() any { return &v1beta1.MachineDeployment{} },
	},
	provider.Gardener: {
		"Machine": func() any { return &v1alpha1.Machine{} }, "MachineSet": func() any { return &v1alpha1.MachineSet{} },
		"MachineClass": func() any { return &v1alpha1.MachineClass{} }, "MachineDeployment": func() any { return &v1alpha1.MachineDeployment{} },
	},
}

// strict decodes raw and refuses unknown fields.
func strict(t *testing.T, what string, raw []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func TestShapesSpellTheirAPI(t *testing.T) {
	for api, types := range kinds {
		s, err := shapeOf(api, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range append(s.Prepare, s.Roll.Prepare...) {
			var head struct{ Kind string }
			if err := json.Unmarshal(raw, &head); err != nil {
				t.Fatal(err)
			}
			if head.Kind == "Secret" {
				strict(t, api+" Secret", raw, &corev1.Secret{})
				continue
			}
			if types[head.Kind] == nil {
				t.Errorf("%s has an object of an unknown kind %q", api, head.Kind)
				continue
			}
			strict(t, api+" "+head.Kind, raw, types[head.Kind]())
		}
		for name, b := range map[string]body{
			"machine": s.Machine, "known": s.Known, "provisioned": s.Provisioned, "running": s.Running, "deleting": s.Deleting, "released": s.Released,
		} {
			strict(t, api+" "+name, b.of("m-1"), types["Machine"]())
		}
		for name, b := range map[string]body{"node": s.Node, "cordon": s.Cordon} {
			strict(t, api+" "+name, b.of("m-1"), &corev1.Node{})
		}
		strict(t, api+" change", s.Roll.Change, types["MachineDeployment"]())
		strict(t, api+" check", s.Check, &machinev1.MachineHealthCheck{})
	}
}

func TestShapesNameTheMachine(t *testing.T) {
	if got := string(body(`{"a":"NAME","b":"x/NAME"}`).of("m-1")); got != `{"a":"m-1","b":"x/m-1"}` {
		t.Errorf("got %s", got)
	}
	for api := range kinds {
		s, err := shapeOf(api, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(s.Machine.of("m-1")), "NAME") {
			t.Errorf("%s: the machine still has the placeholder", api)
		}
		if want := "/apis/" + api + "/" + s.Version + "/namespaces/" + s.Namespace + "/machines/m-1"; s.machine("m-1") != want {
			t.Errorf("path of a machine is %s, want %s", s.machine("m-1"), want)
		}
	}
}

// The ceiling replaces as many machines at a time as the deployments may.
func TestShapesRollWithTheSurgeOfTheCeiling(t *testing.T) {
	for api := range kinds {
		s, err := shapeOf(api, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Kind string
			Spec struct{ Strategy any }
		}
		if err := json.Unmarshal(s.Roll.Prepare[len(s.Roll.Prepare)-1], &d); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": "10%", "maxUnavailable": 0.0}}
		if d.Kind != "MachineDeployment" || !reflect.DeepEqual(d.Spec.Strategy, want) {
			t.Errorf("%s: the last object is a %s with the strategy %v, want a MachineDeployment with %v", api, d.Kind, d.Spec.Strategy, want)
		}
	}
	of, _ := deployment()
	for _, n := range []int{1, 9, 10, 11, 100, 1000} {
		of.Replicas = n
		if surge, unavailable := rollout.Bounds(of); surge != surgeOf(n) || unavailable != 0 {
			t.Errorf("of %d: surge %d, unavailable %d; the ceiling has %d and 0", n, surge, unavailable, surgeOf(n))
		}
	}
}

func TestChecksCoverTheMachinesOfTheSet(t *testing.T) {
	for api := range kinds {
		s, err := shapeOf(api, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		var check machinev1.MachineHealthCheck
		if err := json.Unmarshal(s.Check, &check); err != nil {
			t.Fatal(err)
		}
		var set struct {
			Metadata struct{ Name string }
			Spec     struct {
				Template struct {
					Metadata struct{ Labels map[string]string }
				}
			}
		}
		if err := json.Unmarshal(s.Prepare[len(s.Prepare)-1], &set); err != nil {
			t.Fatal(err)
		}
		selector, err := metav1.LabelSelectorAsSelector(&check.Spec.Selector)
		if err != nil {
			t.Fatal(err)
		}
		if selector.Empty() || set.Metadata.Name != "SET" || !selector.Matches(labels.Set(set.Spec.Template.Metadata.Labels)) {
			t.Errorf("%s: the check selects %q, machines of %s have %v", api, selector, set.Metadata.Name, set.Spec.Template.Metadata.Labels)
		}
		if got := cmp.Or(check.Annotations[dialect.MachineAPIAnnotation], provider.OpenShift); got != api {
			t.Errorf("the check of %s is about machines of %s", api, got)
		}
		if want := "/apis/machine.openshift.io/v1beta1/namespaces/" + check.Namespace + "/machinehealthchecks/" + check.Name; s.check() != want || check.Namespace != s.Namespace {
			t.Errorf("%s: path of the check is %s, want %s", api, s.check(), want)
		}
	}
}

func TestShapeOfAnUnknownAPI(t *testing.T) {
	if _, err := shapeOf("cluster.x-k8s.io", 0, 0); err == nil || !strings.Contains(err.Error(), "cluster.x-k8s.io") {
		t.Errorf("%v, want an error that names it", err)
	}
}
