// Package spec checks the specs of GCP machines when they are written, by the rules of OpenShift 6.5.
package spec

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

const (
	kind        = "GCPMachineProviderSpec"
	group       = "machine.openshift.io"
	legacyGroup = "gcpprovider.openshift.io"
)

// Admitter is the [admit.Admitter] of GCPMachineProviderSpec.
type Admitter struct{}

var _ admit.Admitter = Admitter{}

type machineSpec = machinev1beta1.GCPMachineProviderSpec

// Kinds are those of the API's group and of the former group.
func (Admitter) Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: group, Version: "v1beta1", Kind: kind},
		{Group: group, Version: "v1", Kind: kind},
		{Group: legacyGroup, Version: "v1beta1", Kind: kind},
		{Group: legacyGroup, Version: "v1", Kind: kind},
	}
}

// SpecShape implements [admit.SpecShaper].
func (Admitter) SpecShape() any { return &machineSpec{} }

// Admit checks the spec of a machine or of a template, by the same rules.
func (Admitter) Admit(a admit.Request) (warnings []string, faults field.ErrorList) {
	s, _, err := decode(a.Spec)
	if err != nil {
		return nil, field.ErrorList{lenient.Undecodable(a.Path, err)}
	}
	for _, check := range []func(*machineSpec, *field.Path) field.ErrorList{
		checkPlace, checkMaintenance, checkRestarts, checkProvisioning, checkShielded, checkConfidential,
		checkNetworks, checkDisks, checkGPUs, checkServiceAccounts, checkSecrets,
	} {
		faults = append(faults, check(s, a.Path)...)
	}
	if len(s.ServiceAccounts) == 0 {
		warnings = append(warnings, a.Path.Child("serviceAccounts").String()+": without a service account nodes may be unable to join the cluster")
	}
	return warnings, faults
}

// decode reads a spec; empty input is a spec without fields.
func decode(raw []byte) (*machineSpec, *lenient.Document, error) {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	return lenient.Decode[machineSpec](raw)
}
