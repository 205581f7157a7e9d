// Package spec judges provider specs of Power VS as they are written: the PowerVSMachineProviderConfig of
// machine.openshift.io (OpenShift 6.7). It needs no SDK.
package spec

import (
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// The values of fields that a spec leaves empty.
const (
	defaultUserDataSecret    = "worker-user-data"
	defaultCredentialsSecret = "powervs-credentials"
	defaultSystemType        = "s922"
	defaultProcessors        = "0.5"
	defaultDedicated         = 1
	defaultMemoryGiB         = 32
)

// Admitter implements [admit.Admitter].
type Admitter struct{}

var _ admit.Admitter = Admitter{}

// Kinds are the names of the one kind there is. The original asks for none.
func (Admitter) Kinds() []schema.GroupVersionKind {
	const group, kind = "machine.openshift.io", "PowerVSMachineProviderConfig"
	return []schema.GroupVersionKind{
		{Group: group, Version: "v1", Kind: kind},
		{Group: group, Version: "v1beta1", Kind: kind},
	}
}

// SpecShape implements [admit.SpecShaper].
func (Admitter) SpecShape() any { return &machinev1.PowerVSMachineProviderConfig{} }

// Default names the secrets that the installer makes, and sizes the machine: an
// s922 of 32 GiB with half a shared processor, or with a dedicated one. A secret
// reference that is there stays, even without a name.
func (Admitter) Default(a admit.Request) ([]byte, error) {
	spec, document, err := lenient.Decode[machinev1.PowerVSMachineProviderConfig](a.Spec)
	if err != nil {
		return nil, err
	}
	if spec.UserDataSecret == nil {
		document.In("userDataSecret").Set("name", defaultUserDataSecret)
	}
	if spec.CredentialsSecret == nil {
		document.In("credentialsSecret").Set("name", defaultCredentialsSecret)
	}
	if spec.SystemType == "" {
		document.Set("systemType", defaultSystemType)
	}
	if spec.ProcessorType == "" {
		document.Set("processorType", machinev1.PowerVSProcessorTypeShared)
	}
	if spec.Processors.IntVal == 0 && spec.Processors.StrVal == "" {
		document.Set("processors", intstr.FromString(defaultProcessors))
		if spec.ProcessorType == machinev1.PowerVSProcessorTypeDedicated {
			document.Set("processors", intstr.FromInt32(defaultDedicated))
		}
	}
	if spec.MemoryGiB == 0 {
		document.Set("memoryGiB", defaultMemoryGiB)
	}
	return document.JSON()
}

// Admit applies the rules of the original.
func (Admitter) Admit(a admit.Request) (warnings []string, faults field.ErrorList) {
	spec, _, err := lenient.Decode[machinev1.PowerVSMachineProviderConfig](a.Spec)
	if err != nil {
		return nil, field.ErrorList{lenient.Undecodable(a.Path, err)}
	}
	if spec.KeyPairName == "" {
		faults = append(faults, field.Required(a.Path.Child("keyPairName"), "without a key pair, users cannot log in"))
	}
	faults = append(faults, resource(a.Path.Child("serviceInstance"), spec.ServiceInstance, byIDOrName)...)
	faults = append(faults, resource(a.Path.Child("image"), spec.Image, byIDOrName)...)
	faults = append(faults, resource(a.Path.Child("network"), spec.Network, byAny)...)
	faults = append(faults, secret(a.Path.Child("userDataSecret"), spec.UserDataSecret)...)
	faults = append(faults, secret(a.Path.Child("credentialsSecret"), spec.CredentialsSecret)...)
	warnings, more := size(a.Path, spec)
	return warnings, append(faults, more...)
}

// secret looks at a reference to a secret, which must have a name.
func secret(at *field.Path, s *machinev1.PowerVSSecretReference) field.ErrorList {
	switch {
	case s == nil:
		return field.ErrorList{field.Required(at, "a secret must be named")}
	case s.Name == "":
		return field.ErrorList{field.Required(at.Child("name"), "a secret must be named")}
	}
	return nil
}
