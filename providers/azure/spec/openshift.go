package spec

import (
	"errors"
	"fmt"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// OpenShift is an AzureMachineProviderSpec, and what is ours in it.
type OpenShift struct {
	machinev1beta1.AzureMachineProviderSpec
	// Choices are what a machine may be made of, best first, in place of zone and vmSize: each is tried while those before it are
	// exhausted. The original knows none, and has the machine fail.
	Choices []Choice `json:"choices,omitempty"`
}

// Choice is a zone and a size. What it leaves out is as the spec has it.
type Choice struct {
	// Zone is a zone of the location: "1".
	Zone string `json:"zone,omitempty"`
	// VMSize is a size of virtual machines.
	VMSize string `json:"vmSize,omitempty"`
}

// DecodeOpenShift reads a spec from which machines are created. It refuses what the original's controller
// refuses and what cannot be sent, and accepts what only the webhook refuses: machines exist that were
// created from such specs.
func DecodeOpenShift(raw []byte) (*OpenShift, error) {
	s, _, err := decode(raw)
	if err != nil {
		return nil, err
	}
	root := field.NewPath("spec")
	a := admit.Request{Path: root}
	var faults field.ErrorList
	for _, check := range []func(*machineSpec, admit.Request) field.ErrorList{
		checkSize, checkSubnet, checkImageSource, checkSecuritySettings, checkDataDisks, checkBootStorage, checkCapacityReservation, checkChoices,
	} {
		faults = append(faults, check(s, a)...)
	}
	return s, refused(faults, root)
}

// refused returns faults as errors of a provider, with paths below the root.
func refused(faults field.ErrorList, root *field.Path) error {
	var all []error
	for _, f := range faults {
		path := strings.TrimPrefix(strings.TrimPrefix(f.Field, root.String()), ".")
		all = append(all, provider.InvalidField(path, "%s", f.ErrorBody()))
	}
	return errors.Join(all...)
}

// checkSubnet is what the original's controller requires besides the webhook: an interface needs a subnet.
func checkSubnet(s *machineSpec, a admit.Request) (faults field.ErrorList) {
	if s.Vnet == "" {
		faults = append(faults, field.Required(a.Path.Child("vnet"), "name the virtual network"))
	}
	if s.Subnet == "" {
		faults = append(faults, field.Required(a.Path.Child("subnet"), "name the subnet in the virtual network"))
	}
	return faults
}

// checkImageSource checks what every request needs. A resourceID has precedence over publisher, offer, sku
// and version, as in the original.
func checkImageSource(s *machineSpec, a admit.Request) field.ErrorList {
	if s.Image.ResourceID != "" {
		return nil
	}
	return checkImage(s, a)
}

// checkBootStorage accepts a storage account although Azure has one of its own: the original does not read
// it.
func checkBootStorage(s *machineSpec, a admit.Request) field.ErrorList {
	if boot := s.Diagnostics.Boot; boot != nil && boot.StorageAccountType == machinev1beta1.AzureManagedAzureDiagnosticsStorage {
		return nil
	}
	return checkBootDiagnostics(s, a)
}

// mostChoices is more than the number of zones and sizes of any user.
const mostChoices = 30

func checkChoices(s *machineSpec, a admit.Request) field.ErrorList {
	return choiceFaults(s.Choices, a.Path.Child("choices"))
}

func choiceFaults(choices []Choice, path *field.Path) (faults field.ErrorList) {
	if len(choices) > mostChoices {
		return field.ErrorList{field.TooMany(path, len(choices), mostChoices)}
	}
	seen := map[Choice]bool{}
	for i, c := range choices {
		folded := Choice{Zone: c.Zone, VMSize: strings.ToLower(c.VMSize)}
		switch {
		case c == Choice{}:
			faults = append(faults, field.Required(path.Index(i), "name a zone, a vmSize, or both"))
		case seen[folded]:
			faults = append(faults, field.Invalid(path.Index(i), lenient.Shown(fmt.Sprintf("%s %s", c.VMSize, c.Zone)), "another choice is the same"))
		}
		seen[folded] = true
	}
	return faults
}
