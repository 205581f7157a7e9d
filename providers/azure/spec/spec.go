// Package spec has the specs of Azure machines of both APIs, and checks those of OpenShift when they are
// written, by the rules of OpenShift 6.4.
package spec

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

const (
	kind        = "AzureMachineProviderSpec"
	group       = "machine.openshift.io"
	legacyGroup = "azureproviderconfig.openshift.io"

	// publicCloud is the one in which spot instances are available to all.
	publicCloud = "AzurePublicCloud"
)

// Admitter is the [admit.Admitter] of AzureMachineProviderSpec.
type Admitter struct{}

var _ admit.Admitter = Admitter{}

type machineSpec = OpenShift

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

// Admit checks the spec of a machine or of a template. For a template it checks the names of data disks as
// if its machines had no name.
func (Admitter) Admit(a admit.Request) (warnings []string, faults field.ErrorList) {
	s, _, err := decode(a.Spec)
	if err != nil {
		return nil, field.ErrorList{lenient.Undecodable(a.Path, err)}
	}
	for _, check := range []func(*machineSpec, admit.Request) field.ErrorList{
		checkSize, checkNetwork, checkImage, checkSecrets, checkOSDisk, checkCapacityReservation,
		checkUltraSSD, checkSecurityProfile, checkDataDisks, checkBootDiagnostics, checkChoices,
	} {
		faults = append(faults, check(s, a)...)
	}
	if s.SpotVMOptions != nil && a.Platform.Cloud != "" && a.Platform.Cloud != publicCloud {
		warnings = append(warnings, a.Path.Child("spotVMOptions").String()+": "+a.Platform.Cloud+" may have no spot instances")
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
