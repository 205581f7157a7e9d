package servertest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// shipped returns the objects of a file of config/admission.
func shipped(t *testing.T, file string) (out []*unstructured.Unstructured) {
	t.Helper()
	raw, err := os.ReadFile("../admission/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range bytes.Split(raw, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, object)
	}
	return out
}

// installed creates objects, and deletes them when the test ends.
func installed(t *testing.T, c client.Client, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if err := c.Create(t.Context(), o, client.FieldValidation("Strict")); err != nil {
			t.Fatalf("create %s: %v", o.GetName(), err)
		}
		t.Cleanup(func() {
			if err := c.Delete(context.WithoutCancel(t.Context()), o); client.IgnoreNotFound(err) != nil {
				t.Errorf("delete %s: %v", o.GetName(), err)
			}
		})
	}
}

// judged compares the response to a write with the wanted message; an empty message means success. It returns the difference.
func judged(err error, want string) string {
	switch {
	case want == "" && err == nil:
		return ""
	case want != "" && apierrors.IsInvalid(err) && strings.HasSuffix(err.Error(), "denied request: "+want):
		return ""
	}
	return fmt.Sprintf("%v\nwant %q", err, want)
}

// await repeats a write until the response is the wanted one, because policies and their parameters take effect shortly after
// they were stored.
func await(t *testing.T, want string, try func() error) {
	t.Helper()
	different := judged(try(), want)
	for end := time.Now().Add(30 * time.Second); different != "" && time.Now().Before(end); different = judged(try(), want) {
		time.Sleep(100 * time.Millisecond)
	}
	if different != "" {
		t.Fatal(different)
	}
}

// strict enables the strict policy in one namespace, because other tests store objects that it refuses.
func strict(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	binding := shipped(t, "strict_binding.yaml")[0]
	err := unstructured.SetNestedStringMap(binding.Object, map[string]string{corev1.LabelMetadataName: namespace}, "spec", "matchResources", "namespaceSelector", "matchLabels")
	if err != nil {
		t.Fatal(err)
	}
	installed(t, c, binding)
	probe := manifest(t, namespace, `{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"Machine","metadata":{"name":"probe"}}`)
	await(t, machineNoClass, func() error { return c.Create(t.Context(), probe.DeepCopy(), client.DryRunAll) })
}

const (
	machineHead    = `{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"Machine","metadata":{"name":"a"},"spec":`
	setHead        = `{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"MachineSet","metadata":{"name":"a"},"spec":`
	deploymentHead = `{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"MachineDeployment","metadata":{"name":"a"},"spec":`
	template       = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"class":{"kind":"MachineClass","name":"c"}}}`

	classless      = "spec.template.spec.class.name must be the name of a MachineClass"
	emptySelector  = "spec.selector must not be empty: it would match machines of others"
	otherLabels    = "spec.selector must match the labels in spec.template.metadata.labels"
	neitherAddNor  = "maxSurge and maxUnavailable in spec.strategy must not both be zero"
	machineNoClass = "spec.class.name must be the name of a MachineClass"
)

// selecting returns a set with a selector.
func selecting(selector string) string {
	return setHead + `{"selector":` + selector + `,` + template + `}}`
}

// rolling returns a deployment with a strategy.
func rolling(strategy string) string {
	return deploymentHead + `{"selector":{"matchLabels":{"a":"b"}},"strategy":` + strategy + `,` + template + `}}`
}

var strictRules = []struct{ name, object, says, reason string }{
	{"machine", machineHead + `{"class":{"name":"c"}}}`, "", "it names a class"},
	{"machine without class", machineHead + `{"providerID":"x"}}`, machineNoClass, "no controller can create it"},
	{"machine with a class without name", machineHead + `{"class":{"kind":"MachineClass"}}}`, machineNoClass, "no controller can create it"},
	{"set", selecting(`{"matchLabels":{"a":"b"}}`), "", "it finds its machines"},
	{"set without template", setHead + `{"selector":{"matchLabels":{"a":"b"}}}}`, classless, "the first fault is said"},
	{"set with a class without name", setHead + `{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"class":{"name":""}}}}}`, classless, "no controller can create its machines"},
	{"no selector", setHead + `{` + template + `}}`, emptySelector, "all machines would be its own"},
	{"empty selector", selecting(`{"matchLabels":{},"matchExpressions":[]}`), emptySelector, "all machines would be its own"},
	{"another value", selecting(`{"matchLabels":{"a":"c"}}`), otherLabels, "it would never find its machines"},
	{"another label", selecting(`{"matchLabels":{"a":"b","c":""}}`), otherLabels, "an absent label is not an empty one"},
	{"In", selecting(`{"matchExpressions":[{"key":"a","operator":"In","values":["x","b"]}]}`), "", "one of them"},
	{"not In", selecting(`{"matchExpressions":[{"key":"a","operator":"In","values":["x"]}]}`), otherLabels, "none of them"},
	{"In, absent", selecting(`{"matchExpressions":[{"key":"c","operator":"In","values":["x"]}]}`), otherLabels, "the label is absent"},
	{"NotIn", selecting(`{"matchExpressions":[{"key":"a","operator":"NotIn","values":["x"]}]}`), "", "none of them"},
	{"NotIn, absent", selecting(`{"matchExpressions":[{"key":"c","operator":"NotIn","values":["x"]}]}`), "", "an absent label has none of the values"},
	{"not NotIn", selecting(`{"matchExpressions":[{"key":"a","operator":"NotIn","values":["b"]}]}`), otherLabels, "one of them"},
	{"Exists", selecting(`{"matchExpressions":[{"key":"a","operator":"Exists"}]}`), "", "the label is there"},
	{"not Exists", selecting(`{"matchExpressions":[{"key":"c","operator":"Exists"}]}`), otherLabels, "the label is absent"},
	{"DoesNotExist", selecting(`{"matchExpressions":[{"key":"c","operator":"DoesNotExist"}]}`), "", "the label is absent"},
	{"not DoesNotExist", selecting(`{"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]}`), otherLabels, "the label is there"},
	{"unknown operator", selecting(`{"matchExpressions":[{"key":"a","operator":"Is"}]}`), otherLabels, "controllers cannot read it"},
	{"deployment", rolling(`{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":0}}`), "", "it may add one"},
	{"deployment without strategy", deploymentHead + `{"selector":{"matchLabels":{"a":"b"}},` + template + `}}`, "", "only zeros are judged"},
	{"deployment that selects others", deploymentHead + `{"selector":{"matchLabels":{"a":"x"}},` + template + `}}`, otherLabels, "sets and deployments alike"},
	{"neither surge nor unavailable", rolling(`{"type":"RollingUpdate","rollingUpdate":{"maxSurge":0,"maxUnavailable":0}}`), neitherAddNor, "it could never roll"},
	{"neither, in percent", rolling(`{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"0%","maxUnavailable":"00%"}}`), neitherAddNor, "zero percent is zero"},
	{"neither, in place", rolling(`{"type":"InPlaceUpdate","inPlaceUpdate":{"maxSurge":0,"maxUnavailable":"0%"}}`), neitherAddNor, "it could never roll"},
	{"one left out", rolling(`{"type":"RollingUpdate","rollingUpdate":{"maxSurge":0}}`), "", "what is left out is not zero"},
	{"10 percent", rolling(`{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"10%","maxUnavailable":0}}`), "", "it may add some"},
}

func TestStrictPolicy(t *testing.T) {
	c, namespace := connect(t)
	installed(t, c, shipped(t, "strict_policy.yaml")...)
	for _, r := range strictRules {
		if err := c.Create(t.Context(), manifest(t, namespace, r.object), client.DryRunAll); err != nil {
			t.Errorf("%s is refused without the binding: %v", r.name, err)
		}
	}
	strict(t, c, namespace)
	for _, r := range strictRules {
		t.Run(r.name, func(t *testing.T) {
			if different := judged(c.Create(t.Context(), manifest(t, namespace, r.object), client.DryRunAll), r.says); different != "" {
				t.Errorf("%s: %s", different, r.reason)
			}
		})
	}
	negative := manifest(t, namespace, setHead+`{"replicas":-1,"selector":{"matchLabels":{"a":"b"}},`+template+`}}`)
	if err := c.Create(t.Context(), negative, client.DryRunAll); !apierrors.IsInvalid(err) {
		t.Errorf("replicas -1: %v", err)
	}
}

// TestStrictPolicySparesTheOld: users and controllers can change all other fields of objects that were stored before the
// policy.
func TestStrictPolicySparesTheOld(t *testing.T) {
	c, namespace := connect(t)
	set := manifest(t, namespace, setHead+`{"replicas":1,"selector":{"matchLabels":{"a":"x"}},"template":{"metadata":{"labels":{"a":"b"}}}}}`)
	deployment := manifest(t, namespace, rolling(`{"type":"RollingUpdate","rollingUpdate":{"maxSurge":0,"maxUnavailable":0}}`))
	machine := manifest(t, namespace, machineHead+`{"providerID":"x"}}`)
	machine.SetFinalizers([]string{"millwright.example/test"})
	for _, o := range []*unstructured.Unstructured{set, deployment, machine} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	installed(t, c, shipped(t, "strict_policy.yaml")...)
	strict(t, c, namespace)
	for _, r := range []struct {
		name, patch, says string
		object            *unstructured.Unstructured
	}{
		{"scale an old set", `{"spec":{"replicas":0}}`, "", set},
		{"annotate an old machine", `{"metadata":{"annotations":{"a":"b"}}}`, "", machine},
		{"scale an old deployment", `{"spec":{"replicas":3}}`, "", deployment},
		{"make an old selector worse", `{"spec":{"selector":{"matchLabels":{"a":"y"}}}}`, otherLabels, set},
		{"change the labels of an old template", `{"spec":{"template":{"metadata":{"labels":{"a":"c"}}}}}`, otherLabels, set},
		{"make an old selector right", `{"spec":{"selector":{"matchLabels":{"a":"b"}}}}`, "", set},
		{"give an old class no name either", `{"spec":{"class":{"kind":"MachineClass"}}}`, "", machine},
		{"name an old class", `{"spec":{"class":{"name":"c"}}}`, "", machine},
		{"change an old strategy", `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":"0%"}}}}`, neitherAddNor, deployment},
		{"take away a name", `{"spec":{"template":{"spec":{"class":{"name":null}}}}}`, classless, deployment},
	} {
		t.Run(r.name, func(t *testing.T) {
			err := c.Patch(t.Context(), r.object.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(r.patch)), client.DryRunAll)
			if different := judged(err, r.says); different != "" {
				t.Errorf("%s: updates are judged by what they change", different)
			}
		})
	}
	if err := c.Delete(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	if err := c.Patch(t.Context(), machine, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null},"spec":{"class":{"kind":"x"}}}`))); err != nil {
		t.Errorf("a machine that is being deleted is held up: %v", err)
	}
}
