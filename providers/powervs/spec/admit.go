// Package spec judges provider specs of Power VS as they are written: the PowerVSMachineProviderConfig of
// machine.openshift.io (OpenShift 6.7). It needs no SDK.
package spec

import (
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
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

// longest is how much of a value of a spec an answer repeats, in bytes.
const longest = 200

// Admitter implements [provider.Admitter].
type Admitter struct{}

var _ provider.Admitter = Admitter{}

// Kinds are the names of the one kind there is. The original asks for none.
func (Admitter) Kinds() []schema.GroupVersionKind {
	const group, kind = "machine.openshift.io", "PowerVSMachineProviderConfig"
	return []schema.GroupVersionKind{
		{Group: group, Version: "v1", Kind: kind},
		{Group: group, Version: "v1beta1", Kind: kind},
	}
}

// SpecShape implements [provider.SpecShaper].
func (Admitter) SpecShape() any { return &machinev1.PowerVSMachineProviderConfig{} }

// Default names the secrets that the installer makes, and sizes the machine: an
// s922 of 32 GiB with half a shared processor, or with a dedicated one. A secret
// reference that is there stays, even without a name.
func (Admitter) Default(a provider.Admission) ([]byte, error) {
	spec, err := decode(a.Spec)
	if err != nil {
		return nil, err
	}
	defaults := map[string]any{}
	if spec.UserDataSecret == nil {
		defaults["userDataSecret"] = machinev1.PowerVSSecretReference{Name: defaultUserDataSecret}
	}
	if spec.CredentialsSecret == nil {
		defaults["credentialsSecret"] = machinev1.PowerVSSecretReference{Name: defaultCredentialsSecret}
	}
	if spec.SystemType == "" {
		defaults["systemType"] = defaultSystemType
	}
	if spec.ProcessorType == "" {
		defaults["processorType"] = machinev1.PowerVSProcessorTypeShared
	}
	if spec.Processors.IntVal == 0 && spec.Processors.StrVal == "" {
		defaults["processors"] = intstr.FromString(defaultProcessors)
		if spec.ProcessorType == machinev1.PowerVSProcessorTypeDedicated {
			defaults["processors"] = intstr.FromInt32(defaultDedicated)
		}
	}
	if spec.MemoryGiB == 0 {
		defaults["memoryGiB"] = defaultMemoryGiB
	}
	return fill(a.Spec, defaults)
}

// Admit applies the rules of the original.
func (Admitter) Admit(a provider.Admission) (warnings []string, faults field.ErrorList) {
	spec, err := decode(a.Spec)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(a.Path, provider.Clip(string(a.Spec), longest), provider.Clip(err.Error(), longest))}
	}
	if spec.KeyPairName == "" {
		faults = append(faults, field.Required(a.Path.Child("keyPairName"), "without a key pair nobody can log in"))
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
