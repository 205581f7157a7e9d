package survey

import (
	"context"
	"errors"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
	"github.com/millwright-dev/millwright/internal/plugin/project"
	"github.com/millwright-dev/millwright/provider/admit"
)

// sized requires a size.
type sized struct{}

func (sized) Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{{Group: "test", Version: "v1", Kind: "Sized"}}
}

func (sized) Default(a admit.Request) ([]byte, error) { return a.Spec, nil }

func (sized) Admit(a admit.Request) (warnings []string, faults field.ErrorList) {
	if !strings.Contains(string(a.Spec), "size") {
		faults = append(faults, field.Required(a.Path.Child("size"), "must be set"))
	}
	if strings.Contains(string(a.Spec), "old") {
		warnings = []string{"old sizes are slow"}
	}
	return warnings, faults
}

const (
	sizedSpec   = `{"apiVersion":"test/v1","kind":"Sized","size":"old"}`
	sizelessOne = `{"apiVersion":"test/v1","kind":"Sized"}`
)

func templated(spec string) machinev1.MachineTemplateSpec {
	out := machinev1.MachineTemplateSpec{ObjectMeta: machinev1.ObjectMeta{Labels: map[string]string{"a": "b"}}}
	out.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(spec)}
	return out
}

// TestAdmitted: the rules of the infrastructure hold for machines, and for templates of sets and deployments. An update that
// does not change the spec is not refused, and a spec of an unknown infrastructure is not judged.
func TestAdmitted(t *testing.T) {
	ctx := WithAdmitters(t.Context(), map[string]admit.Admitter{"Sized": sized{}})
	selector := metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	set := func(spec string) client.Object {
		return &machinev1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: machinev1.MachineSetSpec{Selector: selector, Template: templated(spec)}}
	}
	deployment := func(spec string) client.Object {
		return &v1beta1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: v1beta1.MachineDeploymentSpec{Selector: selector, Template: templated(spec)}}
	}
	machine := func(spec string) client.Object {
		m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
		m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(spec)}
		return m
	}
	const size, slow = "providerSpec.size: Required value: must be set", "old sizes are slow"
	for _, c := range []struct {
		reason        string
		before, after client.Object
		warning, err  string
	}{
		{"a new set", nil, set(sizelessOne), "", size},
		{"a new machine", nil, machine(sizelessOne), "", size},
		{"a new deployment", nil, deployment(sizelessOne), "", size},
		{"a changed deployment", deployment(sizedSpec), deployment(sizelessOne), "", size},
		{"a valid set", nil, set(sizedSpec), slow, ""},
		{"an invalid set that is scaled", set(sizelessOne), set(sizelessOne), size, ""},
		{"another infrastructure", nil, set(`{"apiVersion":"test/v1","kind":"Other"}`), "", ""},
		{"no spec", nil, &machinev1.Machine{}, "", ""},
		{"an object without a provider spec", nil, &v1alpha1.Machine{}, "", ""},
		{"a deletion", set(sizelessOne), nil, "", ""},
	} {
		warnings, err := admitted(ctx, c.before, c.after)
		if text := strings.Join(warnings, "; "); (c.warning == "") != (text == "") || !strings.Contains(text, c.warning) {
			t.Errorf("%s: warnings %q, want %q", c.reason, text, c.warning)
		}
		if (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", c.reason, err, c.err)
		}
	}
	if w, err := admitted(t.Context(), nil, set(sizelessOne)); w != nil || err != nil {
		t.Errorf("without rules: %v, %v", w, err)
	}
	denied := Trial{Change: project.Change{After: set(sizelessOne)}, Note: "you may not create it"}
	if got, err := denied.checked(ctx); err != nil || !strings.Contains(strings.Join(got.Warnings, ";"), size) {
		t.Errorf("a change that was not tried has no defaults, so that objections are warnings: %+v, %v", got, err)
	}
}

// TestCreateIsStrict: the API server gets the manifest with unknown fields, and the request to refuse them.
func TestCreateIsStrict(t *testing.T) {
	var sent client.Object
	var validation string
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(connect.Scheme()).Build(), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			var all client.CreateOptions
			all.ApplyOptions(opts)
			sent, validation = o, all.FieldValidation
			return nil
		},
	})
	docs, _, err := Documents(strings.NewReader(`{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: a}, spec: {replcas: 3}}`), "blue")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Apply(t.Context(), c, docs[0]); err != nil {
		t.Fatal(err)
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(sent)
	if spec, _ := raw["spec"].(map[string]any); err != nil || spec["replcas"] == nil || validation != metav1.FieldValidationStrict {
		t.Errorf("%v sent with validation %q, %v", raw, validation, err)
	}
}

// TestNoObjects: the error says what a manifest without a machine has.
func TestNoObjects(t *testing.T) {
	for manifest, want := range map[string]string{
		"":                   "is empty",
		"# a comment\n---\n": "is empty",
		"{apiVersion: v1, kind: Secret, metadata: {name: s}}":                           "Secret s (v1) is left out",
		"{apiVersion: cluster.x-k8s.io/v1beta1, kind: Machine, metadata: {name: m}}":    "Machine m (cluster.x-k8s.io/v1beta1) is left out: a plan is about machines, their sets, deployments and classes, of machine.openshift.io and machine.sapcloud.io",
		strings.Repeat("---\n{apiVersion: v1, kind: Secret, metadata: {name: s}}\n", 5): "and 2 more objects",
	} {
		docs, skipped, err := Documents(strings.NewReader(manifest), "blue")
		if err != nil || len(docs) > 0 {
			t.Errorf("%q: %v, %v", manifest, docs, err)
			continue
		}
		if got := NoObjects(skipped).Error(); !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", manifest, got, want)
		}
	}
	for _, manifest := range []string{"just text", "a: [", "{a: b}"} {
		if _, _, err := Documents(strings.NewReader(manifest), "blue"); err == nil || !strings.Contains(err.Error(), "document 1 is not the YAML or JSON of a Kubernetes object") {
			t.Errorf("%q: %v", manifest, err)
		}
	}
}

// TestClassless: a class that does not exist is a warning, unless the same change creates it.
func TestClassless(t *testing.T) {
	set := func(class string) client.Object {
		s := &v1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "pool"}, Spec: v1alpha1.MachineSetSpec{Replicas: 1}}
		s.Spec.Template.Spec.Class = v1alpha1.ClassSpec{Kind: "MachineClass", Name: class}
		return s
	}
	class := &v1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "large"}}
	c := fake.NewClientBuilder().WithScheme(connect.Scheme()).WithObjects(&v1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "small"}}).Build()
	for _, test := range []struct {
		reason  string
		changes []project.Change
		want    int
	}{
		{"it exists", []project.Change{{After: set("small")}}, 0},
		{"it does not", []project.Change{{Before: set("small"), After: set("large")}}, 1},
		{"it did not before", []project.Change{{Before: set("large"), After: set("large")}}, 0},
		{"it is created", []project.Change{{After: set("large")}, {After: class}}, 0},
		{"a deletion", []project.Change{{Before: set("large")}}, 0},
		{"an API without classes", []project.Change{{After: &machinev1.MachineSet{Spec: machinev1.MachineSetSpec{Replicas: ptr.To[int32](1)}}}}, 0},
	} {
		if got := classless(t.Context(), c, test.changes); len(got) != test.want {
			t.Errorf("%s: %q", test.reason, got)
		}
	}
	refusing := interceptor.NewClient(c, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.Join(apierrors.NewForbidden(schema.GroupResource{}, "", nil))
	}})
	if got := classless(t.Context(), refusing, []project.Change{{After: set("large")}}); len(got) != 0 {
		t.Errorf("a class that cannot be read: %q", got)
	}
}
