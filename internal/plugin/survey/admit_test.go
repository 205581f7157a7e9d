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
	"github.com/millwright-dev/millwright/internal/plugin/connect"
	"github.com/millwright-dev/millwright/internal/plugin/project"
	"github.com/millwright-dev/millwright/internal/plugin/speccheck"
	"github.com/millwright-dev/millwright/provider/admit"
)

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
	denied := interceptor.NewClient(c, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.Join(apierrors.NewForbidden(schema.GroupResource{}, "", nil))
	}})
	if got := classless(t.Context(), denied, []project.Change{{After: set("large")}}); len(got) != 0 {
		t.Errorf("a class that cannot be read: %q", got)
	}
}

// refusing is an infrastructure that refuses every spec.
type refusing struct{}

func (refusing) Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{{Group: "test", Version: "v1", Kind: "Refused"}}
}

func (refusing) Default(a admit.Request) ([]byte, error) { return a.Spec, nil }

func (refusing) Admit(a admit.Request) ([]string, field.ErrorList) {
	return []string{"a warning"}, field.ErrorList{field.Required(a.Path.Child("size"), "must be set")}
}

// TestTrialsAreChecked: an invalid provider spec fails a plan. A change that the API server has not tried has no defaults, so
// that objections are warnings.
func TestTrialsAreChecked(t *testing.T) {
	ctx := speccheck.WithAdmitters(t.Context(), map[string]admit.Admitter{"Test": refusing{}})
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"test/v1","kind":"Refused"}`)}
	const size = "providerSpec.size: Required value: must be set"
	if got, err := (Trial{Change: project.Change{After: m}}).checked(ctx); err == nil || !strings.Contains(err.Error(), size) || len(got.Warnings) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := (Trial{Change: project.Change{After: m}, Note: "you may not create it"}).checked(ctx); err != nil || !strings.Contains(strings.Join(got.Warnings, ";"), size) {
		t.Errorf("%+v, %v", got, err)
	}
}
