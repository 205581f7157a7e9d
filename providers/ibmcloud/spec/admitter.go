package spec

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Kind is the kind of a spec.
const Kind = "IBMCloudMachineProviderSpec"

// Admitter checks specs when they are written. machine-api-operator has no rules for them: invalid fields are
// warnings. The zero value is ready for use.
type Admitter struct{}

var _ admit.Admitter = Admitter{}

// Kinds implements [admit.Admitter].
func (Admitter) Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{{Group: "ibmcloudproviderconfig.openshift.io", Version: "v1beta1", Kind: Kind}}
}

// SpecShape implements [admit.SpecShaper].
func (Admitter) SpecShape() any { return &ProviderSpec{} }

// Default implements [admit.Admitter]. The original has no defaults.
func (Admitter) Default(a admit.Request) ([]byte, error) {
	_, document, err := lenient.Decode[ProviderSpec](a.Spec)
	if err != nil {
		return nil, err
	}
	return document.JSON()
}

// Admit implements [admit.Admitter]. Only a spec that cannot be decoded is refused.
func (Admitter) Admit(a admit.Request) (warnings []string, faults field.ErrorList) {
	s, err := Decode(a.Spec)
	if s == nil {
		return nil, field.ErrorList{lenient.Undecodable(a.Path, err)}
	}
	return lenient.Warnings(a.Path, err), nil
}
