// Package spec judges specs of the kind AWSMachineProviderConfig as they are written:
// the rules of the OpenShift admission webhooks for AWS, without the SDK of AWS.
package spec

import (
	"fmt"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Kind is what a spec calls itself.
const Kind = "AWSMachineProviderConfig"

// The defaults of a spec that names no secrets.
const (
	UserDataSecret    = "worker-user-data"
	CredentialsSecret = "aws-cloud-credentials"
)

// instanceTypes are the defaults by architecture. Where that is not known, it is the
// usual one of AWS.
var instanceTypes = map[string]string{"": "m5.large", "amd64": "m5.large", "arm64": "m6g.large"}

type config = machinev1beta1.AWSMachineProviderConfig

// Admitter judges specs of AWS. The zero value is ready for use.
type Admitter struct{}

var _ provider.Admitter = Admitter{}

// Kinds are the present group and the one that specs had before, each in two versions.
func (Admitter) Kinds() (kinds []schema.GroupVersionKind) {
	for _, group := range []string{"machine.openshift.io", "awsproviderconfig.openshift.io"} {
		for _, version := range []string{"v1beta1", "v1"} {
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: version, Kind: Kind})
		}
	}
	return kinds
}

// SpecShape implements [provider.SpecShaper].
func (Admitter) SpecShape() any { return &config{} }

// Default fills in the instance type for the platform's architecture (none for one
// other than amd64 and arm64), the platform's region and both secrets. A secret for
// credentials with an empty name stays: it stands for the role of the node.
func (Admitter) Default(a provider.Admission) ([]byte, error) {
	s, document, err := lenient.Decode[config](a.Spec)
	if err != nil {
		return nil, err
	}
	if usual := instanceTypes[a.Platform.Architecture]; s.InstanceType == "" && usual != "" {
		document.Set("instanceType", usual)
	}
	if s.Placement.Region == "" && a.Platform.Region != "" {
		document.In("placement").Set("region", a.Platform.Region)
	}
	if s.UserDataSecret == nil || s.UserDataSecret.Name == "" {
		document.In("userDataSecret").Set("name", UserDataSecret)
	}
	if s.CredentialsSecret == nil {
		document.In("credentialsSecret").Set("name", CredentialsSecret)
	}
	return document.JSON()
}

// Admit is section 6.3 of the notes on the original, rule for rule. Of lists of any
// length it names the first faults only.
func (Admitter) Admit(a provider.Admission) (warnings []string, faults field.ErrorList) {
	s, _, err := lenient.Decode[config](a.Spec)
	if err != nil {
		return nil, field.ErrorList{lenient.Undecodable(a.Path, err)}
	}
	for _, check := range []func(*config, *field.Path) field.ErrorList{
		checkRequired, checkMarket, checkBlockDevices, checkPlacementGroup, checkOptions,
	} {
		faults = append(faults, check(s, a.Path)...)
	}
	faults = append(faults, checkPlacement(s.Placement, a.ControlPlane, a.Path.Child("placement"))...)
	return warningsOf(s, a.Path), faults
}

func checkRequired(s *config, at *field.Path) (faults field.ErrorList) {
	require := func(there bool, path *field.Path, why string) {
		if !there {
			faults = append(faults, field.Required(path, why))
		}
	}
	require(s.AMI.ID != nil, at.Child("ami"), "expected providerSpec.ami.id to be populated")
	require(s.Placement.Region != "", at.Child("placement", "region"), "an instance is made in a region")
	require(s.InstanceType != "", at.Child("instanceType"), "an instance has a type, such as m5.large")
	faults = append(faults, checkUserData(s.UserDataSecret, at.Child("userDataSecret"))...)
	require(s.CredentialsSecret != nil, at.Child("credentialsSecret"), "it names the secret with the credentials of AWS")
	return faults
}

func checkUserData(secret *corev1.LocalObjectReference, at *field.Path) field.ErrorList {
	switch {
	case secret == nil:
		return field.ErrorList{field.Required(at, "it names the secret with the user data of the instance")}
	case secret.Name == "":
		return field.ErrorList{field.Required(at.Child("name"), "a secret has a name")}
	}
	return nil
}

// checkOptions holds what may be left out, or is one of a few words.
func checkOptions(s *config, at *field.Path) (faults field.ErrorList) {
	faults = append(faults, oneOf(at.Child("networkInterfaceType"), s.NetworkInterfaceType,
		"", machinev1beta1.AWSENANetworkInterfaceType, machinev1beta1.AWSEFANetworkInterfaceType)...)
	faults = append(faults, oneOf(at.Child("metadataServiceOptions", "authentication"), s.MetadataServiceOptions.Authentication,
		"", machinev1beta1.MetadataServiceAuthenticationOptional, machinev1beta1.MetadataServiceAuthenticationRequired)...)
	if s.CPUOptions == nil {
		return faults
	}
	cpu := at.Child("cpuOptions")
	if s.CPUOptions.ConfidentialCompute == nil {
		return append(faults, field.Invalid(cpu, "{}", "sets nothing: set confidentialCompute, or leave it out"))
	}
	return append(faults, oneOf(cpu.Child("confidentialCompute"), *s.CPUOptions.ConfidentialCompute,
		machinev1beta1.AWSConfidentialComputePolicyDisabled, machinev1beta1.AWSConfidentialComputePolicySEVSNP)...)
}

// oneOf is a fault unless the value is allowed; the empty one stands for leaving the
// field out.
func oneOf[T ~string](at *field.Path, value T, allowed ...T) field.ErrorList {
	words, omitted := "", ""
	for _, word := range allowed {
		switch {
		case word == value:
			return nil
		case word == "":
			omitted = ", or leave it out"
		case words == "":
			words = string(word)
		default:
			words += ", " + string(word)
		}
	}
	return field.ErrorList{field.Invalid(at, lenient.Shown(value), fmt.Sprintf("give one of %s%s", words, omitted))}
}
