// Package spec judges provider specs of Nutanix as they are written: the NutanixMachineProviderConfig of
// machine.openshift.io (OpenShift 6.7). It needs no SDK.
package spec

import (
	"fmt"

	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// The names of secrets that a spec leaves out.
const (
	defaultUserDataSecret    = "worker-user-data"
	defaultCredentialsSecret = "nutanix-credentials"
)

// Admitter implements [admit.Admitter].
type Admitter struct{}

var _ admit.Admitter = Admitter{}

// Kinds are the names of the one kind there is. The original asks for none.
func (Admitter) Kinds() []schema.GroupVersionKind {
	const group, kind = "machine.openshift.io", "NutanixMachineProviderConfig"
	return []schema.GroupVersionKind{
		{Group: group, Version: "v1", Kind: kind},
		{Group: group, Version: "v1beta1", Kind: kind},
	}
}

// SpecShape implements [admit.SpecShaper].
func (Admitter) SpecShape() any { return &machinev1.NutanixMachineProviderConfig{} }

// Default names the secrets that the installer makes. A secret reference that is
// there stays, even without a name.
func (Admitter) Default(a admit.Request) ([]byte, error) {
	spec, document, err := lenient.Decode[machinev1.NutanixMachineProviderConfig](a.Spec)
	if err != nil {
		return nil, err
	}
	if spec.UserDataSecret == nil {
		document.In("userDataSecret").Set("name", defaultUserDataSecret)
	}
	if spec.CredentialsSecret == nil {
		document.In("credentialsSecret").Set("name", defaultCredentialsSecret)
	}
	return document.JSON()
}

// Admit applies the rules of the original.
func (Admitter) Admit(a admit.Request) (warnings []string, faults field.ErrorList) {
	spec, _, err := lenient.Decode[machinev1.NutanixMachineProviderConfig](a.Spec)
	if err != nil {
		return nil, field.ErrorList{lenient.Undecodable(a.Path, err)}
	}
	faults = append(faults, identifier(a.Path.Child("cluster"), spec.Cluster)...)
	faults = append(faults, identifier(a.Path.Child("image"), spec.Image)...)
	faults = append(faults, subnets(a.Path.Child("subnets"), spec.Subnets)...)
	faults = append(faults, secret(a.Path.Child("userDataSecret"), spec.UserDataSecret)...)
	faults = append(faults, secret(a.Path.Child("credentialsSecret"), spec.CredentialsSecret)...)
	faults = append(faults, hardware(a.Path, spec)...)
	return small(a.Path, spec), faults
}

var (
	leastMemory     = resource.MustParse("2048Mi")
	leastSystemDisk = resource.MustParse("20Gi")
)

// small warns of sizes with which a node is not known to start.
func small(at *field.Path, spec *machinev1.NutanixMachineProviderConfig) (warnings []string) {
	warn := func(name string, has, least any) {
		warnings = append(warnings, fmt.Sprintf("%s: %v is less than %v: the node may not start", at.Child(name), has, least))
	}
	if spec.VCPUSockets < 1 {
		warn("vcpuSockets", spec.VCPUSockets, 1)
	}
	if spec.VCPUsPerSocket < 1 {
		warn("vcpusPerSocket", spec.VCPUsPerSocket, 1)
	}
	if spec.MemorySize.Cmp(leastMemory) < 0 {
		warn("memorySize", spec.MemorySize.String(), leastMemory.String())
	}
	if spec.SystemDiskSize.Cmp(leastSystemDisk) < 0 {
		warn("systemDiskSize", spec.SystemDiskSize.String(), leastSystemDisk.String())
	}
	return warnings
}

// invalid is a fault that repeats no more of a value than is of use.
func invalid(at *field.Path, value, why string) *field.Error {
	return field.Invalid(at, lenient.Shown(value), why)
}
