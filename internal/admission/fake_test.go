package admission_test

import (
	"encoding/json"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admit"
)

// fakeSpec is the spec of a fake infrastructure.
type fakeSpec struct {
	metav1.TypeMeta   `json:",inline"`
	Size              string                  `json:"size,omitempty"`
	Region            string                  `json:"region,omitempty"`
	Host              bool                    `json:"host,omitempty"`
	CredentialsSecret *corev1.SecretReference `json:"credentialsSecret,omitempty"`
}

// fakeAdmitter wants a size, gives a region, and keeps the control plane off hosts.
type fakeAdmitter struct{}

func (fakeAdmitter) Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "machine.openshift.io", Version: "v1beta1", Kind: "FakeSpec"}, {Group: "fake.openshift.io", Version: "v1", Kind: "FakeSpec"},
	}
}

func (fakeAdmitter) SpecShape() any { return &fakeSpec{} }

func (fakeAdmitter) Default(a admit.Request) ([]byte, error) {
	var all map[string]any
	if err := json.Unmarshal(a.Spec, &fakeSpec{}); err != nil {
		return nil, provider.Errorf(provider.Invalid, "%w", err)
	}
	if err := json.Unmarshal(a.Spec, &all); err != nil {
		return nil, err
	}
	if _, has := all["region"]; !has {
		all["region"] = a.Platform.Region
	}
	return json.Marshal(all)
}

func (fakeAdmitter) Admit(a admit.Request) (warnings []string, faults field.ErrorList) {
	var s fakeSpec
	if err := json.Unmarshal(a.Spec, &s); err != nil {
		return nil, field.ErrorList{field.Invalid(a.Path, field.OmitValueType{}, err.Error())}
	}
	if s.Size == "" {
		faults = append(faults, field.Required(a.Path.Child("size"), "expected providerSpec.size to be populated"))
	}
	if s.Size == "panic" {
		panic("a defect")
	}
	if s.Size == "huge" {
		warnings = append(warnings, "providerSpec.size: huge is dear")
	}
	if s.Host && a.ControlPlane {
		faults = append(faults, field.Forbidden(a.Path.Child("host"), "not for the control plane"))
	}
	return warnings, faults
}

// plainAdmitter does not warn of unknown fields.
type plainAdmitter struct{ admit.Admitter }

// good is a spec that nothing is wrong with.
const good = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"FakeSpec","region":"r","size":"small"}`

func specOf(text string) machinev1.ProviderSpec {
	if text == "" {
		return machinev1.ProviderSpec{}
	}
	return machinev1.ProviderSpec{Value: &runtime.RawExtension{Raw: []byte(text)}}
}

// machine is one with a spec, changed by edits.
func machine(spec string, edits ...func(*machinev1.Machine)) *machinev1.Machine {
	m := &machinev1.Machine{}
	m.Namespace, m.Name = "ns", "m"
	m.Spec.ProviderSpec = specOf(spec)
	for _, e := range edits {
		e(m)
	}
	return m
}

// set is one whose selector chooses its template, changed by edits.
func set(spec string, edits ...func(*machinev1.MachineSet)) *machinev1.MachineSet {
	s := &machinev1.MachineSet{}
	s.Namespace, s.Name = "ns", "s"
	s.Spec.Selector.MatchLabels = map[string]string{"a": "b"}
	s.Spec.Template.Labels = map[string]string{"a": "b"}
	s.Spec.Template.Spec.ProviderSpec = specOf(spec)
	for _, e := range edits {
		e(s)
	}
	return s
}
