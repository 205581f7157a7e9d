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

// toInstance converts a host. The node name is unknown: the kubelet uses the name that the network assigns.
func toInstance(h *host) provider.Instance {
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

// raw is the state in the words of Metal3, with the error.
func raw(h *host) string {
	all := []string{string(h.Status.Provisioning.State)}
	if h.Status.ErrorType != "" {
		all = append(all, string(h.Status.ErrorType))
	}
	return strings.Join(all, ", ")
}

// deploys reports whether the spec of a host requests a deployment.
func deploys(h *host) bool { return h.Spec.Image != nil || h.Spec.CustomDeploy != nil }

// wrote reports whether something is deployed on the disk, as far as the baremetal-operator knows.
func wrote(h *host) bool {
	return h.Status.Provisioning.Image.URL != "" || h.Status.Provisioning.CustomDeploy != nil
}

// state is the state of a claimed host.
func state(h *host) provider.State {
	if h.DeletionTimestamp != nil {
		return provider.Stopping
	}
	switch at := h.Status.Provisioning.State; at {
	case metal3.StateExternallyProvisioned:
		return power(h)
	case metal3.StateUnmanaged:
		return provider.Running // nothing contradicts it, and the original treats it as existing
	case metal3.StateRegistering:
		if wrote(h) || h.Spec.ExternallyProvisioned {
			return provider.Running // the baremetal-operator has just started again
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
	return provider.Stopping // it is being released
}

func power(h *host) provider.State {
	if h.Status.PoweredOn {
		return provider.Running
	}
	return provider.Stopped
}

// unknown is the text for a failure without a type or message.
const unknown = "failure of which nothing is said"

// fault is why a host that has not run for its machine yet does not start; nil: no error is known. The
// baremetal-operator retries as long as the machine claims the host.
func fault(h *host, at provider.State) *provider.Error {
	if why := untouched(h); at == provider.Pending && why != "" {
		return provider.Errorf(provider.Transient, "host %s %s, so the baremetal-operator ignores it", h.Name, why)
	}
	if at != provider.Pending || h.Status.ErrorMessage == "" && h.Status.ErrorType == "" {
		return nil
	}
	return provider.Errorf(provider.Transient, "host %s has a %s: %s", h.Name, cmp.Or(string(h.Status.ErrorType), unknown), cmp.Or(h.Status.ErrorMessage, unknown))
}

// untouched is the annotation by which a user stops the baremetal-operator from managing a host; empty: it is
// managed.
func untouched(h *host) string {
	for _, key := range []string{metal3.PausedAnnotation, metal3.DetachedAnnotation} {
		if _, ok := h.Annotations[key]; ok {
			return "has the annotation " + key
		}
	}
	return ""
}

// addresses are the addresses that inspection found, in a stable order, and the host name at that time.
// Generic host names are left out.
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

// typeOf is the type of a host by its inspected size: "16cpu-65536Mi"; empty before inspection.
func typeOf(h *host) string {
	if h.Status.HardwareDetails == nil {
		return ""
	}
	return fmt.Sprintf("%dcpu-%dMi", h.Status.HardwareDetails.CPU.Count, h.Status.HardwareDetails.RAMMebibytes)
}
