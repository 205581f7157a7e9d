package cloud

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// The states of requests for entities, and of the power of virtual machines.
const (
	pending       = "PENDING"
	inProgress    = "RUNNING"
	inError       = "ERROR"
	leavingPrefix = "DELETE"
	on            = "ON"
	off           = "OFF"
)

// toInstance converts a virtual machine. The region is the name of Prism Central's own cluster, as the original
// has it; empty while the user may not read it.
func (s finder) toInstance(ctx context.Context, c *client, v *vm) provider.Instance {
	out := s.described(v)
	if _, leaving := c.leaving.Recall(out.ID); leaving {
		out.State = provider.Stopping
	}
	if central, err := lookup(s).central(ctx, c); err == nil {
		out.Region = central.name()
	}
	return out
}

func (s finder) described(v *vm) provider.Instance {
	tags, r := tagsOf(v), v.Status.Resources
	out := provider.Instance{
		ID: v.uuid(), UID: tags[uidMark], Name: v.Spec.Name, Owner: tags[ownerMark], Namespace: tags[namespaceMark], ProviderID: scheme + v.uuid(), Addresses: addressesOf(v),
		Type: r.Hypervisor, Zone: v.Status.Cluster.Name, Created: v.Metadata.Created, Tags: tags,
	}
	if r.Sockets > 0 {
		tags[sizeTag] = sizeName(r.Sockets, r.VCPUsPerSocket, r.MemoryMiB)
	}
	out.State, out.RawState = stateOf(v)
	if neverRan(v) {
		out.Fault = faultOf("create a virtual machine", "", text(v.Status.Messages))
	}
	return out
}

// stateOf is the state of a virtual machine, and Prism Central's word for it. While a change is in progress or
// after one has failed, the power decides.
func stateOf(v *vm) (provider.State, string) {
	state, power := v.Status.State, v.Status.Resources.Power
	switch {
	case strings.HasPrefix(state, leavingPrefix):
		return provider.Stopping, state
	case neverRan(v):
		return provider.Stopped, state
	case power == on:
		return provider.Running, power
	case state == pending || state == inProgress:
		return provider.Pending, state
	case power == off || power == "PAUSED":
		return provider.Stopped, power
	}
	return provider.Pending, state
}

// neverRan reports whether Prism Central has failed the creation of a virtual machine. Each change raises the
// version of its spec, so that a failed change of a stopped one is no failed creation.
func neverRan(v *vm) bool {
	return v.Status.State == inError && v.Status.Resources.Power != on && v.Metadata.SpecVersion <= 1
}

func text(messages []message) string {
	var all []string
	for _, m := range messages {
		all = append(all, strings.Trim(m.Reason+": "+m.Message, ": "))
	}
	return strings.Join(all, "; ")
}

// addressesOf are the addresses in the original's order: those of the network, and the name as host name.
// Addresses that a guest assigned to itself are left out.
func addressesOf(v *vm) (out []corev1.NodeAddress) {
	var ips []string
	for _, n := range v.Status.Resources.NICs {
		for _, e := range n.Endpoints {
			ip, err := netip.ParseAddr(e.IP)
			if e.IP != "" && (err != nil || !ip.IsLinkLocalUnicast()) {
				ips = append(ips, e.IP)
			}
		}
	}
	slices.Sort(ips)
	for _, ip := range ips {
		out = append(out, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip})
	}
	return append(out, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: v.Spec.Name}, corev1.NodeAddress{Type: corev1.NodeHostName, Address: v.Spec.Name})
}
