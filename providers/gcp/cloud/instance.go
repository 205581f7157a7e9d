package cloud

import (
	"cmp"
	"strings"
	"time"

	"google.golang.org/api/compute/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// states maps Compute Engine's states. A TERMINATED instance is off, and still exists; STOPPING means
// switching off or deletion.
var states = map[string]provider.State{
	"PENDING": provider.Pending, "PROVISIONING": provider.Pending, "STAGING": provider.Pending,
	"RUNNING": provider.Running, "REPAIRING": provider.Running,
	"STOPPING": provider.Stopping, "SUSPENDING": provider.Stopping, "DEPROVISIONING": provider.Stopping,
	"SUSPENDED": provider.Stopped, "TERMINATED": provider.Stopped, "STOPPED": provider.Stopped,
}

// toInstance converts an instance.
func (s *scope) toInstance(i *compute.Instance) provider.Instance {
	zone := tail(i.Zone)
	return provider.Instance{
		ID: formatID(i.Id), UID: i.Labels[uidLabel], Name: cmp.Or(i.Labels[nameLabel], i.Name),
		Owner: i.Labels[ownerLabel], Namespace: i.Labels[namespaceLabel],
		ProviderID: s.providerID(zone, i.Name), NodeName: i.Name, Addresses: s.addresses(i, zone),
		State: cmp.Or(states[i.Status], provider.Pending), RawState: i.Status,
		Type: tail(i.MachineType), Region: regionOf(zone), Zone: zone, Interruptible: isSpot(i), Created: readTime(i.CreationTimestamp), Tags: marks(i),
	}
}

func isSpot(i *compute.Instance) bool {
	return i.Scheduling != nil && (i.Scheduling.Preemptible || i.Scheduling.ProvisioningModel == "SPOT")
}

// addresses are those of the first interface, and the names of the guest, in the original's order. Projects
// differ in whether names contain the zone.
func (s *scope) addresses(i *compute.Instance, zone string) (all []corev1.NodeAddress) {
	add := func(kind corev1.NodeAddressType, address string) {
		if address != "" {
			all = append(all, corev1.NodeAddress{Type: kind, Address: address})
		}
	}
	if len(i.NetworkInterfaces) > 0 {
		n := i.NetworkInterfaces[0]
		add(corev1.NodeInternalIP, n.NetworkIP)
		for _, c := range n.AccessConfigs {
			add(corev1.NodeExternalIP, c.NatIP)
		}
		add(corev1.NodeInternalIP, n.Ipv6Address)
		for _, c := range n.Ipv6AccessConfigs {
			add(corev1.NodeExternalIP, c.ExternalIpv6)
		}
	}
	domain := s.project
	if organization, project, ok := strings.Cut(s.project, ":"); ok { // example.com:project
		domain = project + "." + organization
	}
	add(corev1.NodeInternalDNS, i.Name+"."+zone+".c."+domain+".internal")
	add(corev1.NodeInternalDNS, i.Name+".c."+domain+".internal")
	add(corev1.NodeInternalDNS, i.Name)
	return all
}

func tail(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }

// regionOf is the region of a zone: us-east1 of us-east1-b.
func regionOf(zone string) string {
	if i := strings.LastIndexByte(zone, '-'); i > 0 {
		return zone[:i]
	}
	return ""
}

// readTime is zero for an empty text.
func readTime(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text)
	return t
}
