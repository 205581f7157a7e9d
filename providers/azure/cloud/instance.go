package cloud

import (
	"encoding/json"
	"slices"
	"strings"

	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	network "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
)

// observed has the known state of a virtual machine besides its model.
type observed struct {
	// power is "running", and so on; empty: not known, or none.
	power string
	// cause is why its provisioning failed; nil: it did not, or the cause is not known.
	cause *answer
	nics  []*network.Interface
	// addresses are public ones, by ID in lower case.
	addresses map[string]*network.PublicIPAddress
}

// toInstance converts a virtual machine.
func (s *session) toInstance(vm *compute.VirtualMachine, saw observed) provider.Instance {
	p := vm.Properties
	if p == nil {
		p = &compute.VirtualMachineProperties{}
	}
	at, _ := parseID(deref(vm.ID))
	i := provider.Instance{
		ID: machineID(at.subscription, at.group, at.name), Name: at.name, NodeName: strings.ToLower(at.name),
		UID: tagOf(vm.Tags, tagUID), Owner: tagOf(vm.Tags, tagOwner), Namespace: tagOf(vm.Tags, tagNamespace), Tags: valuesOf(vm.Tags),
		Region: deref(vm.Location), Interruptible: deref(p.Priority) == compute.VirtualMachinePriorityTypesSpot || deref(p.Priority) == compute.VirtualMachinePriorityTypesLow,
		Created: deref(p.TimeCreated),
	}
	if p.HardwareProfile != nil {
		i.Type = string(deref(p.HardwareProfile.VMSize))
	}
	if len(vm.Zones) > 0 {
		i.Zone = deref(vm.Zones[0])
	}
	if p.OSProfile != nil && deref(p.OSProfile.ComputerName) != "" {
		i.NodeName = strings.ToLower(*p.OSProfile.ComputerName)
	}
	i.ProviderID = providerID(s.class.API, at, i.Region)
	i.State, i.RawState = stateOf(deref(p.ProvisioningState), saw.power)
	if i.State == provider.Stopped && strings.EqualFold(i.RawState, failed) {
		i.Fault = s.plan.called().fault(saw.cause)
	}
	i.Addresses = saw.list(i.NodeName)
	return i
}

// providerID is that of the class's API.
func providerID(api string, at resourceID, location string) string {
	if api == provider.Gardener {
		return "azure:///" + location + "/" + at.name
	}
	return "azure://" + machineID(at.subscription, at.group, at.name)
}

// The provisioning states.
const (
	failed    = "Failed"
	succeeded = "Succeeded"
	running   = "Running"
)

// stateOf is the state of a machine: its provisioning state while that is in progress, and then its power
// state. A running machine whose provisioning failed counts as running: Azure did not hear from its agent
// in time, or could not install an extension.
func stateOf(provisioning, power string) (provider.State, string) {
	runs := power == "running"
	switch {
	case strings.EqualFold(provisioning, "Deleting"):
		return provider.Stopping, provisioning
	case strings.EqualFold(provisioning, "Creating"):
		return provider.Pending, provisioning
	case runs:
		return provider.Running, running
	case strings.EqualFold(provisioning, failed), strings.EqualFold(provisioning, "Canceled"):
		return provider.Stopped, failed
	case !strings.EqualFold(provisioning, succeeded):
		return provider.Pending, provisioning
	}
	switch power {
	case "":
		return provider.Running, running // nothing contradicts it
	case "starting":
		return provider.Pending, "Starting"
	case "stopping", "stopped", "deallocating", "deallocated":
		return provider.Stopped, strings.ToUpper(power[:1]) + power[1:]
	}
	return provider.Running, "Unknown"
}

// fault is why an accepted machine failed. Faults that no retry can fix are final.
func (f fields) fault(cause *answer) *provider.Error {
	if cause == nil {
		return provider.Errorf(provider.Invalid, "provisioning failed")
	}
	e := f.error(*cause)
	if e.Kind != provider.Exhausted && e.Kind != provider.Invalid {
		// The machine stays in this state, whatever the cause: another replaces it.
		e.Kind, e.Field = provider.Invalid, ""
	}
	return e
}

// The prefixes of the codes of statuses: https://learn.microsoft.com/azure/virtual-machines/states-billing
const (
	powerState        = "PowerState/"
	provisioningState = "ProvisioningState/failed"
)

// readInstanceView reads the instance view.
func readInstanceView(view *compute.VirtualMachineInstanceView) (power string, cause *answer) {
	if view == nil {
		return "", nil
	}
	for _, status := range view.Statuses {
		code := deref(status.Code)
		if p, ok := strings.CutPrefix(code, powerState); ok {
			power = strings.ToLower(p)
		}
		if c, ok := strings.CutPrefix(code, provisioningState); ok {
			cause = &answer{code: strings.TrimPrefix(c, "/"), text: deref(status.Message), status: 400}
		}
	}
	return power, cause
}

// list has the addresses in the order of the original of OpenShift.
func (w observed) list(host string) (all []corev1.NodeAddress) {
	add := func(kind corev1.NodeAddressType, address *string) {
		if deref(address) == "" {
			return
		}
		if a := (corev1.NodeAddress{Type: kind, Address: *address}); !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	add(corev1.NodeHostName, &host)
	add(corev1.NodeInternalDNS, &host)
	for _, n := range w.nics {
		if n.Properties == nil {
			continue
		}
		if dns := n.Properties.DNSSettings; dns != nil && deref(dns.InternalDomainNameSuffix) != "" {
			name := host + "." + *dns.InternalDomainNameSuffix
			add(corev1.NodeInternalDNS, &name)
		}
		for _, p := range n.Properties.IPConfigurations {
			if p.Properties == nil {
				continue
			}
			add(corev1.NodeInternalIP, p.Properties.PrivateIPAddress)
			if a := w.public(p.Properties.PublicIPAddress); a != nil && a.Properties != nil {
				add(corev1.NodeExternalIP, a.Properties.IPAddress)
				if a.Properties.DNSSettings != nil {
					add(corev1.NodeExternalDNS, a.Properties.DNSSettings.Fqdn)
				}
			}
		}
	}
	return all
}

func (w observed) public(ref *network.PublicIPAddress) *network.PublicIPAddress {
	if ref == nil {
		return nil
	}
	return w.addresses[strings.ToLower(deref(ref.ID))]
}

// Status implements [provider.Session]: the original of OpenShift keeps one, that of Gardener none.
func (s *session) Status(i provider.Instance) ([]byte, error) {
	if s.class.API != provider.OpenShift {
		return nil, nil
	}
	state := machinev1beta1.AzureVMState(i.RawState)
	condition := metav1.Condition{
		Type: string(machinev1beta1.MachineCreated), Status: metav1.ConditionTrue, Reason: machinev1beta1.MachineCreationSucceededConditionReason,
		Message: "machine successfully created", LastTransitionTime: metav1.NewTime(i.Created),
	}
	if i.Fault != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, machinev1beta1.MachineCreationFailedConditionReason, provider.Clip(i.Fault.Error(), mostText)
	}
	return json.Marshal(machinev1beta1.AzureMachineProviderStatus{VMID: &i.ID, VMState: &state, Conditions: []metav1.Condition{condition}})
}
