// Package spec has the specs that users write for OpenStack, without an SDK: the OpenstackProviderSpec of
// machine.openshift.io, whose types are OpenShift's own, and the MachineProviderConfig of
// machine.sapcloud.io.
package spec

import (
	"github.com/openshift/api/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// OpenShift is the spec of a machine of machine.openshift.io.
type OpenShift = v1alpha1.OpenstackProviderSpec

const kind = "OpenstackProviderSpec"

// Admitter implements [admit.Admitter]. The original checks nothing when a spec is written: the controller
// reports what cannot work, and the webhook warns of it, so that it refuses nothing that was accepted
// before.
type Admitter struct{}

var _ admit.Admitter = Admitter{}

// Kinds implements [admit.Admitter].
func (Admitter) Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "machine.openshift.io", Version: "v1alpha1", Kind: kind},
		{Group: "openstackproviderconfig.openshift.io", Version: "v1alpha1", Kind: kind},
	}
}

// SpecShape implements [admit.SpecShaper].
func (Admitter) SpecShape() any { return &OpenShift{} }

// Default fills in nothing.
func (Admitter) Default(a admit.Request) ([]byte, error) {
	_, document, err := lenient.Decode[OpenShift](a.Spec)
	if err != nil {
		return nil, err
	}
	return document.JSON()
}

// Admit warns of what the controller would refuse, and of what it ignores as the original does.
func (Admitter) Admit(a admit.Request) (warnings []string, faults field.ErrorList) {
	s, err := DecodeOpenShift(a.Spec)
	if s == nil {
		return nil, field.ErrorList{lenient.Undecodable(a.Path, err)}
	}
	warnings = lenient.Warnings(a.Path, err)
	for _, i := range ignored(s) {
		warnings = append(warnings, a.Path.Child(i.path).String()+": is ignored: "+i.instead)
	}
	for n, g := range s.SecurityGroups {
		if g == (v1alpha1.SecurityGroupParam{}) {
			warnings = append(warnings, a.Path.Child("securityGroups").Index(n).String()+": selects every security group of the project: uuid, name or filter say which")
		}
	}
	return warnings, nil
}
