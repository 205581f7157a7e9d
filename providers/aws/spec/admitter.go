// Package spec checks specs of the kind AWSMachineProviderConfig when they are written: the rules of the
// OpenShift admission webhooks for AWS, without the SDK of AWS.
package spec

import (
	"fmt"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Kind is the kind of a spec.
const Kind = "AWSMachineProviderConfig"

// The defaults of a spec that names no secrets.
const (
	UserDataSecret    = "worker-user-data"
	CredentialsSecret = "aws-cloud-credentials"
)

// instanceTypes are the defaults by architecture. For an unknown one, it is the usual one of AWS.
var instanceTypes = map[string]string{"": "m5.large", "amd64": "m5.large", "arm64": "m6g.large"}

type config = machinev1beta1.AWSMachineProviderConfig

// Admitter checks specs of AWS. The zero value is ready for use.
type Admitter struct{}

var _ admit.Admitter = Admitter{}

// Kinds are the current group and the former one, each in two versions.
func (Admitter) Kinds() (kinds []schema.GroupVersionKind) {
	for _, group := range []string{"machine.openshift.io", "awsproviderconfig.openshift.io"} {
		for _, version := range []string{"v1beta1", "v1"} {
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: version, Kind: Kind})
		}
	}
	return kinds
}

// SpecShape implements [admit.SpecShaper].
func (Admitter) SpecShape() any { return &config{} }

// Default fills in the instance type for the platform's architecture (none for one
// other than amd64 and arm64), the platform's region and both secrets. A secret for
// credentials with an empty name stays: it stands for the role of the node.
func (Admitter) Default(a admit.Request) ([]byte, error) {
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

// Admit is section 6.3 of the notes on the original, rule for rule, with its words and its names of fields, which clients and its
// tests look for. Of lists of any length it names the first faults only.
func (Admitter) Admit(a admit.Request) (warnings []string, faults field.ErrorList) {
	s, _, err := lenient.Decode[config](a.Spec)
	if err != nil {
		return nil, field.ErrorList{lenient.Undecodable(a.Path, err)}
	}
	for _, check := range []func(*config, *field.Path) field.ErrorList{
		checkRequired, checkReservation, checkMarket, checkBlockDevices, checkPlacementGroup, checkInterfaceType, checkOptions,
	} {
		faults = append(faults, check(s, a.Path)...)
	}
	faults = append(faults, checkPlacement(s.Placement, a.ControlPlane, a.Path)...)
	return warningsOf(s, a.Path), faults
}

func checkRequired(s *config, at *field.Path) (faults field.ErrorList) {
	require := func(there bool, path *field.Path, verb string) {
		if !there {
			faults = append(faults, field.Required(path, "expected "+path.String()+" to be "+verb))
		}
	}
	if s.AMI.ID == nil {
		faults = append(faults, field.Required(at.Child("ami"), "expected "+at.Child("ami", "id").String()+" to be populated"))
	}
	require(s.Placement.Region != "", at.Child("placement", "region"), "populated")
	require(s.InstanceType != "", at.Child("instanceType"), "populated")
	secret := at.Child("userDataSecret")
	require(s.UserDataSecret != nil, secret, "populated")
	require(s.UserDataSecret == nil || s.UserDataSecret.Name != "", secret.Child("name"), "provided")
	require(s.CredentialsSecret != nil, at.Child("credentialsSecret"), "populated")
	return faults
}

// checkInterfaceType holds the type of network interface to those that there are.
func checkInterfaceType(s *config, at *field.Path) field.ErrorList {
	switch s.NetworkInterfaceType {
	case "", machinev1beta1.AWSENANetworkInterfaceType, machinev1beta1.AWSEFANetworkInterfaceType:
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("networkInterfaceType"), lenient.Shown(s.NetworkInterfaceType),
		fmt.Sprintf("Valid values are: %s, %s and omitted", machinev1beta1.AWSENANetworkInterfaceType, machinev1beta1.AWSEFANetworkInterfaceType))}
}

// checkOptions holds what may be left out, or is one of a few words.
func checkOptions(s *config, at *field.Path) (faults field.ErrorList) {
	switch a := s.MetadataServiceOptions.Authentication; a {
	case "", machinev1beta1.MetadataServiceAuthenticationOptional, machinev1beta1.MetadataServiceAuthenticationRequired:
	default:
		faults = append(faults, field.Invalid(at.Child("metadataServiceOptions", "authentication"), lenient.Shown(a),
			fmt.Sprintf("Allowed values are either '%s' or '%s'", machinev1beta1.MetadataServiceAuthenticationOptional, machinev1beta1.MetadataServiceAuthenticationRequired)))
	}
	if s.CPUOptions == nil {
		return faults
	}
	cpu := at.Child("CPUOptions")
	if s.CPUOptions.ConfidentialCompute == nil {
		return append(faults, field.Invalid(cpu, "{}", "At least one field must be set if cpuOptions is provided"))
	}
	switch c := *s.CPUOptions.ConfidentialCompute; c {
	case machinev1beta1.AWSConfidentialComputePolicyDisabled, machinev1beta1.AWSConfidentialComputePolicySEVSNP:
	default:
		faults = append(faults, field.Invalid(cpu.Child("ConfidentialCompute"), lenient.Shown(c),
			fmt.Sprintf("Allowed values are %s, %s and omitted", machinev1beta1.AWSConfidentialComputePolicyDisabled, machinev1beta1.AWSConfidentialComputePolicySEVSNP)))
	}
	return faults
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
