package cloud

import (
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/alicloud/spec"
)

// The states of ECS. It shows an instance that was stopped and one that is being released in the same way.
const (
	pending  = "Pending"
	starting = "Starting"
	running  = "Running"
	stopping = "Stopping"
	stopped  = "Stopped"
)

// states maps ECS's states. An instance that is stopping is off once it is stopped.
var states = map[string]provider.State{
	pending: provider.Pending, starting: provider.Pending, running: provider.Running, stopping: provider.Running, stopped: provider.Stopped,
}

// toInstance converts an instance. An instance whose deletion ECS has accepted is under deletion, whatever
// state ECS still shows.
func (s finder) toInstance(c *client, i *vm) provider.Instance {
	tags, id := mapOf(i), deref(i.InstanceId)
	out := provider.Instance{
		ID: id, UID: tags[uidTag], Name: s.machineOf(i, tags), Owner: tags[ownerTag], Namespace: tags[namespaceTag],
		ProviderID: s.providerID(c.region, id), State: states[deref(i.Status)], RawState: deref(i.Status), Type: deref(i.InstanceType),
		Region: c.region, Zone: deref(i.ZoneId), Interruptible: interruptible(deref(i.SpotStrategy)), Created: createdAt(i), Tags: tags,
	}
	if out.State == "" { // a state that ECS has added
		out.State = provider.Pending
	}
	if _, leaving := c.observed.leaving.Recall(id); leaving {
		out.State = provider.Stopping
	}
	out.NodeName, out.Addresses = s.nodeName(id), s.addresses(i, out.Name)
	return out
}

func interruptible(strategy string) bool {
	return strategy == spec.SpotAsPriceGo || strategy == spec.SpotWithPriceLimit
}

// createdAt is the time of an instance's creation, to the minute, as ECS shows it.
func createdAt(i *vm) time.Time {
	at, err := time.Parse("2006-01-02T15:04Z", deref(i.CreationTime))
	if err != nil {
		return time.Time{}
	}
	return at
}

// providerID has a scheme in one API only.
func (s finder) providerID(region, id string) string {
	if s.class.API == provider.OpenShift {
		return "alicloud://" + region + "." + id
	}
	return region + "." + id
}

var instanceID = regexp.MustCompile(`(?i)^(?:alicloud://)?([a-z0-9-]+)\.(i-[a-z0-9]+)$`)

// idOf is the instance that a provider ID names, in the format of either API; empty if it names none.
func idOf(providerID string) string {
	if m := instanceID.FindStringSubmatch(providerID); m != nil {
		return strings.ToLower(m[2])
	}
	return ""
}

// regionIn is the region in a provider ID.
func regionIn(providerID string) string {
	if m := instanceID.FindStringSubmatch(providerID); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}

// identify is [provider.Traits].Identify.
func identify(providerID string) string {
	if id := idOf(providerID); id != "" {
		return "alicloud://" + regionIn(providerID) + "." + id
	}
	return ""
}

// nodeName is the name under which an instance registers. Without another host name, ECS derives that of an
// instance from its ID: i-abc has the name izabcz. Instances of the other API have the name of their
// machine, which ECS does not always allow.
func (s finder) nodeName(id string) string {
	if s.class.API == provider.OpenShift {
		return ""
	}
	return strings.Replace(id, "-", "z", 1) + "z"
}

// addresses are those of the network interfaces, IPv6 before IPv4, public ones, and in one API the name of
// the machine, which is the host name there.
func (s finder) addresses(i *vm, machine string) (out []corev1.NodeAddress) {
	add := func(t corev1.NodeAddressType, address string) {
		if address != "" {
			out = append(out, corev1.NodeAddress{Type: t, Address: address})
		}
	}
	if i.NetworkInterfaces != nil {
		for _, n := range i.NetworkInterfaces.NetworkInterface {
			if n.Ipv6Sets != nil {
				for _, a := range n.Ipv6Sets.Ipv6Set {
					add(corev1.NodeInternalIP, deref(a.Ipv6Address))
				}
			}
			if n.PrivateIpSets != nil {
				for _, a := range n.PrivateIpSets.PrivateIpSet {
					add(corev1.NodeInternalIP, deref(a.PrivateIpAddress))
				}
			}
		}
	}
	if i.PublicIpAddress != nil {
		for _, a := range i.PublicIpAddress.IpAddress {
			add(corev1.NodeExternalIP, deref(a))
		}
	}
	if i.EipAddress != nil {
		add(corev1.NodeExternalIP, deref(i.EipAddress.IpAddress))
	}
	if s.class.API == provider.OpenShift {
		add(corev1.NodeInternalDNS, machine)
	}
	add(corev1.NodeHostName, strings.ToLower(deref(i.HostName)))
	return out
}
