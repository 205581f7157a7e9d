package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

// instance says what a host shows in the words of the engine. The name of its node is not known: kubelets take that of the network.
func instance(h *host) provider.Instance {
	o := marksOn(h)
	i := provider.Instance{
		ID: id(h), UID: o.UID, Name: o.Name, Owner: o.Owner, Namespace: o.Namespace, ProviderID: providerID(h), Addresses: addresses(h),
		State: state(h), RawState: raw(h), Type: typeOf(h), Tags: kubeapi.Tags(h.ObjectMeta),
	}
	if i.Fault = fault(h, i.State); i.Fault != nil {
		i.State = provider.Stopped
	}
	return i
}

// raw is the state in the words of Metal3, with what is wrong.
func raw(h *host) string {
	all := []string{string(h.Status.Provisioning.State)}
	if h.Status.ErrorType != "" {
		all = append(all, string(h.Status.ErrorType))
	}
	return strings.Join(all, ", ")
}

// deploys reports whether something is to be on the disk of a host.
func deploys(h *host) bool { return h.Spec.Image != nil || h.Spec.CustomDeploy != nil }

// wrote reports whether something is on its disk, as far as its operator knows.
func wrote(h *host) bool {
	return h.Status.Provisioning.Image.URL != "" || h.Status.Provisioning.CustomDeploy != nil
}

// state is what becomes of a host that somebody has.
func state(h *host) provider.State {
	if h.DeletionTimestamp != nil {
		return provider.Stopping
	}
	switch at := h.Status.Provisioning.State; at {
	case metal3.StateExternallyProvisioned:
		return power(h)
	case metal3.StateUnmanaged:
		return provider.Running // nobody knows better, and the original takes it for one that is there
	case metal3.StateRegistering:
		if wrote(h) || h.Spec.ExternallyProvisioned {
			return provider.Running // its operator has just begun anew
		}
	case metal3.StateProvisioned:
		if deploys(h) {
			return power(h)
		}
	case metal3.StatePoweringOffBeforeDelete, metal3.StateDeleting:
		return provider.Stopping
	}
	if deploys(h) {
		return provider.Pending
	}
	return provider.Stopping // it is given back
}

func power(h *host) provider.State {
	if h.Status.PoweredOn {
		return provider.Running
	}
	return provider.Stopped
}

// unknown stands for what a host does not say of its failure.
const unknown = "failure of which nothing is said"

// fault is why a host that has not run for its machine yet does not come up; nil: nothing is known against it. Its operator tries again for
// as long as the machine wants the host.
func fault(h *host, at provider.State) *provider.Error {
	if why := untouched(h); at == provider.Pending && why != "" {
		return provider.Errorf(provider.Transient, "host %s %s, so that nothing is done to it", h.Name, why)
	}
	if at != provider.Pending || h.Status.ErrorMessage == "" && h.Status.ErrorType == "" {
		return nil
	}
	return provider.Errorf(provider.Transient, "host %s has a %s: %s", h.Name, cmp.Or(string(h.Status.ErrorType), unknown), cmp.Or(h.Status.ErrorMessage, unknown))
}

// untouched is why the operator of bare metal does nothing to a host: people have said so; empty: it does.
func untouched(h *host) string {
	for _, key := range []string{metal3.PausedAnnotation, metal3.DetachedAnnotation} {
		if _, ok := h.Annotations[key]; ok {
			return "has the annotation " + key
		}
	}
	return ""
}

// addresses are those that inspection found, in a stable order, and the name that the host had then. Names that any host has name none.
func addresses(h *host) (out []corev1.NodeAddress) {
	hardware := h.Status.HardwareDetails
	if hardware == nil {
		return nil
	}
	for _, nic := range hardware.NIC {
		a := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: nic.IP}
		if nic.IP != "" && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	if hardware.Hostname == "" || strings.HasPrefix(hardware.Hostname, "localhost") {
		return out
	}
	for _, kind := range []corev1.NodeAddressType{corev1.NodeHostName, corev1.NodeInternalDNS} {
		out = append(out, corev1.NodeAddress{Type: kind, Address: hardware.Hostname})
	}
	return out
}

// typeOf is what inspection found: "16cpu-65536Mi"; empty before.
func typeOf(h *host) string {
	if h.Status.HardwareDetails == nil {
		return ""
	}
	return fmt.Sprintf("%dcpu-%dMi", h.Status.HardwareDetails.CPU.Count, h.Status.HardwareDetails.RAMMebibytes)
}
