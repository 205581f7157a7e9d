package admission

import (
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
)

// Defaults are the fields that an object is to have in addition to its own.
type Defaults struct {
	// Labels are to be added.
	Labels map[string]string
	// Spec replaces the provider spec; nil: that stays as it is.
	Spec []byte
}

// DefaultMachine fills in the fields that m lacks. Faults are the reasons why a field cannot be filled in.
func (r Rules) DefaultMachine(m *machinev1.Machine) (Defaults, field.ErrorList) {
	d, faults := r.defaultSpec(m.Spec.ProviderSpec, about(m))
	if _, has := m.Labels[machinev1.MachineClusterIDLabel]; !has && r.Platform.ID != "" {
		d.Labels = map[string]string{machinev1.MachineClusterIDLabel: r.Platform.ID}
	}
	return d, faults
}

// DefaultMachineSet fills in the fields that the template of s lacks. Its labels stay as they are: the
// selector depends on them.
func (r Rules) DefaultMachineSet(s *machinev1.MachineSet) (Defaults, field.ErrorList) {
	return r.defaultSpec(s.Spec.Template.Spec.ProviderSpec, admit.Request{})
}

func (r Rules) defaultSpec(s machinev1.ProviderSpec, about admit.Request) (Defaults, field.ErrorList) {
	if r.Admitter == nil {
		return Defaults{}, nil
	}
	if absent(s) {
		return Defaults{}, field.ErrorList{required()}
	}
	about.Spec, about.Path, about.Platform = s.Value.Raw, specPath, r.Platform
	spec, err := r.Admitter.Default(about)
	if err != nil {
		return Defaults{}, field.ErrorList{field.Invalid(specPath.Child("value"), field.OmitValueType{}, err.Error())}
	}
	return Defaults{Spec: spec}, nil
}
