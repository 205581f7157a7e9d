// Package spec checks specs of the kind VSphereMachineProviderSpec when they are written: the rules of the
// OpenShift admission webhooks for vSphere, without the SDK of vSphere.
package spec

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Kind is the kind of a spec.
const Kind = "VSphereMachineProviderSpec"

// The defaults of a spec that names no secrets.
const (
	UserDataSecret    = "worker-user-data"
	CredentialsSecret = "vsphere-cloud-credentials"
)

// GateVMGroup is the feature gate without which workspace.vmGroup is refused.
const GateVMGroup = "VSphereHostVMGroupZonal"

type config = machinev1beta1.VSphereMachineProviderSpec

// Admitter checks specs of vSphere. The zero value is ready for use.
type Admitter struct{}

var _ admit.Admitter = Admitter{}

// Kinds are the current group and the former one, each in two versions.
func (Admitter) Kinds() (kinds []schema.GroupVersionKind) {
	for _, group := range []string{"machine.openshift.io", "vsphereprovider.openshift.io"} {
		for _, version := range []string{"v1beta1", "v1"} {
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: version, Kind: Kind})
		}
	}
	return kinds
}

// SpecShape implements [admit.SpecShaper].
func (Admitter) SpecShape() any { return &config{} }

// Default fills in omitted secrets. A secret with an empty name stays.
func (Admitter) Default(a admit.Request) ([]byte, error) {
	s, document, err := lenient.Decode[config](a.Spec)
	if err != nil {
		return nil, err
	}
	if s.UserDataSecret == nil {
		document.In("userDataSecret").Set("name", UserDataSecret)
	}
	if s.CredentialsSecret == nil {
		document.In("credentialsSecret").Set("name", CredentialsSecret)
	}
	return document.JSON()
}

// Admit implements section 6.6 of the notes on the original, rule for rule. Of a list that is too long it
// checks only as many entries as are allowed. Unknown feature gates (nil) are treated as enabled.
func (Admitter) Admit(a admit.Request) (warnings []string, faults field.ErrorList) {
	s, _, err := lenient.Decode[config](a.Spec)
	if err != nil {
		return nil, field.ErrorList{lenient.Undecodable(a.Path, err)}
	}
	if s.Template == "" {
		faults = append(faults, field.Required(a.Path.Child("template"), "a virtual machine is a clone of a template"))
	}
	groups := a.Platform.Gates == nil || a.Platform.Gates[GateVMGroup]
	faults = append(faults, checkWorkspace(s.Workspace, groups, a.Path.Child("workspace"))...)
	faults = append(faults, checkDevices(s.Network.Devices, a.Path.Child("network", "devices"))...)
	faults = append(faults, checkSecret(s.UserDataSecret, a.Path.Child("userDataSecret"), "it names the secret with the user data of the machine")...)
	faults = append(faults, checkSecret(s.CredentialsSecret, a.Path.Child("credentialsSecret"), "it names the secret with the credentials of vSphere")...)
	faults = append(faults, checkTags(s.TagIDs, a.Path.Child("tagIDs"))...)
	faults = append(faults, checkDataDisks(s.DataDisks, a.Path.Child("dataDisks"))...)
	return warningsOf(s, a.Path), faults
}

func checkSecret(secret *corev1.LocalObjectReference, at *field.Path, why string) field.ErrorList {
	switch {
	case secret == nil:
		return field.ErrorList{field.Required(at, why)}
	case secret.Name == "":
		return field.ErrorList{field.Required(at.Child("name"), "a secret has a name")}
	}
	return nil
}
