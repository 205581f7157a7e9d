package speccheck

import (
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
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
		warnings, err := Admit(ctx, c.before, c.after)
		if text := strings.Join(warnings, "; "); (c.warning == "") != (text == "") || !strings.Contains(text, c.warning) {
			t.Errorf("%s: warnings %q, want %q", c.reason, text, c.warning)
		}
		if (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", c.reason, err, c.err)
		}
	}
	if w, err := Admit(t.Context(), nil, set(sizelessOne)); w != nil || err != nil {
		t.Errorf("without rules: %v, %v", w, err)
	}
}
