package cloud

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/yandex/spec"
)

// states maps the states of Compute Cloud. It starts a crashed instance again by itself.
var states = map[compute.Instance_Status]provider.State{
	compute.Instance_PROVISIONING: provider.Pending, compute.Instance_STARTING: provider.Pending,
	compute.Instance_RUNNING: provider.Running, compute.Instance_RESTARTING: provider.Running, compute.Instance_UPDATING: provider.Running,
	compute.Instance_STOPPING: provider.Running, compute.Instance_CRASHED: provider.Running,
	compute.Instance_STOPPED: provider.Stopped, compute.Instance_ERROR: provider.Stopped, compute.Instance_DELETING: provider.Stopping,
}

// toInstance converts an instance. An instance whose deletion Compute Cloud has accepted is under deletion,
// whatever state it still shows.
func (s finder) toInstance(c *client, i *compute.Instance) provider.Instance {
	labels, r := i.GetLabels(), i.GetResources()
	out := provider.Instance{
		ID: i.GetId(), UID: labels[uidLabel], Name: cmp.Or(labels[nameLabel], i.GetName()), Owner: labels[ownerLabel], Namespace: labels[namespaceLabel],
		ProviderID: providerID(i.GetZoneId(), i.GetId()), NodeName: hostName(i), Addresses: addressesOf(i),
		State: cmp.Or(states[i.GetStatus()], provider.Pending), RawState: i.GetStatus().String(),
		Type: typeName(i.GetPlatformId(), r.GetCores(), r.GetCoreFraction(), r.GetMemory(), r.GetGpus()), Region: spec.RegionOfZone(i.GetZoneId()), Zone: i.GetZoneId(),
		Interruptible: i.GetSchedulingPolicy().GetPreemptible(), Tags: labels,
	}
	if i.GetCreatedAt() != nil {
		out.Created = i.GetCreatedAt().AsTime()
	}
	if _, leaving := c.leaving.Recall(out.ID); leaving {
		out.State = provider.Stopping
	}
	if out.Tags == nil {
		out.Tags = map[string]string{}
	}
	return out
}

// providerID is in the format of the original, with the zone. The cloud controller manager writes
// yandex://<instance> on nodes.
func providerID(zone, id string) string { return "yandex://" + zone + "/" + id }

var instanceID = regexp.MustCompile(`(?i)^yandex://(?:[a-z0-9-]+/)?([a-z0-9]+)$`)

// idOf is the instance that a provider ID names, in the format of either original, or of the cloud controller
// manager; empty if it names none.
func idOf(providerID string) string {
	if m := instanceID.FindStringSubmatch(providerID); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}

// identify is [provider.Traits].Identify. An old format of the cloud controller manager has the name of the
// instance, which identifies none.
func identify(providerID string) string {
	if id := idOf(providerID); id != "" {
		return "yandex://" + id
	}
	return ""
}

// hostName is the name under which an instance registers: its host name, which is the instance's ID unless
// the request has another one.
func hostName(i *compute.Instance) string {
	name, _, _ := strings.Cut(i.GetFqdn(), ".")
	return cmp.Or(name, i.GetName())
}

// addressesOf are those of the network interfaces, and the names of the instance.
func addressesOf(i *compute.Instance) (out []corev1.NodeAddress) {
	add := func(t corev1.NodeAddressType, address string) {
		if address != "" {
			out = append(out, corev1.NodeAddress{Type: t, Address: address})
		}
	}
	for _, n := range i.GetNetworkInterfaces() {
		for _, a := range []*compute.PrimaryAddress{n.GetPrimaryV4Address(), n.GetPrimaryV6Address()} {
			add(corev1.NodeInternalIP, a.GetAddress())
			add(corev1.NodeExternalIP, a.GetOneToOneNat().GetAddress())
		}
	}
	add(corev1.NodeInternalDNS, i.GetFqdn())
	add(corev1.NodeHostName, hostName(i))
	return out
}
