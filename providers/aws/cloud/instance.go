package cloud

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// states maps EC2's states. An instance that is shutting down ends without another call. One that is
// stopping can be neither started nor stopped: it is off once it is stopped.
var states = map[types.InstanceStateName]provider.State{
	types.InstanceStateNamePending:      provider.Pending,
	types.InstanceStateNameRunning:      provider.Running,
	types.InstanceStateNameStopping:     provider.Running,
	types.InstanceStateNameStopped:      provider.Stopped,
	types.InstanceStateNameShuttingDown: provider.Stopping,
	types.InstanceStateNameTerminated:   provider.Terminated,
}

func stateOf(i types.Instance) types.InstanceStateName {
	if i.State == nil {
		return ""
	}
	return i.State.Name
}

// toInstance converts an instance. The error says that names may be missing.
func (s finder) toInstance(ctx context.Context, c *client, i types.Instance) (provider.Instance, error) {
	domains, err := s.domains(ctx, c, i)
	loadBalancers(s).remember(c, mapOf(i.Tags)[uidTag], i)
	tags, state := mapOf(i.Tags), stateOf(i)
	out := provider.Instance{
		ID: deref(i.InstanceId), UID: tags[uidTag], Name: tags[nameTag], Owner: tags[ownerTag], Namespace: tags[namespaceTag],
		State: states[state], RawState: string(state), Type: string(i.InstanceType), Region: c.ec2.Options().Region,
		Interruptible: i.InstanceLifecycle == types.InstanceLifecycleTypeSpot, Created: deref(i.LaunchTime), Tags: tags,
		Addresses: addresses(i, domains), Fault: faultOf(i),
	}
	if i.Placement != nil {
		out.Zone = deref(i.Placement.AvailabilityZone)
	}
	out.ProviderID = s.providerID(out)
	if s.class.API == provider.Gardener {
		out.NodeName = deref(i.PrivateDnsName)
	}
	if state == types.InstanceStateNameRunning && s.plan != nil {
		out.Uninitialized = len(s.plan.initSteps(i)) > 0
	}
	return out, err
}

// providerID has the zone before the instance in one API, and the region in the other.
func (s finder) providerID(i provider.Instance) string {
	if s.class.API == provider.Gardener {
		return "aws:///" + i.Region + "/" + i.ID
	}
	return "aws:///" + i.Zone + "/" + i.ID
}

var instanceID = regexp.MustCompile(`(?i)^aws://(?:.*/)?(i-[0-9a-f]+)$`)

// idOf is the instance that a provider ID names, in any format; empty if it names none of AWS.
func idOf(providerID string) string {
	if m := instanceID.FindStringSubmatch(providerID); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}

// identify is [provider.Traits].Identify.
func identify(providerID string) string {
	if id := idOf(providerID); id != "" {
		return "aws://" + id
	}
	return ""
}

// launchFaults are reasons for which EC2 terminates an accepted instance that never ran.
var launchFaults = map[string]reaction{
	"Server.InsufficientInstanceCapacity": {kind: provider.Exhausted, scope: provider.ScopeType},
	"Server.InternalError":                {kind: provider.Exhausted, scope: provider.ScopeType},
	"Client.VolumeLimitExceeded":          {kind: provider.Exhausted, scope: provider.ScopeAccount},
	"Client.InstanceLimitExceeded":        {kind: provider.Exhausted, scope: provider.ScopeType},
	"Client.InvalidSnapshot.NotFound":     {kind: provider.Invalid},
	"Client.InternalError":                {kind: provider.Invalid},
	"Client.InvalidParameterValue":        {kind: provider.Invalid},
}

// faultOf is why EC2 failed an accepted instance. An instance that ran and was terminated, by users or for
// lack of spot capacity, has no fault.
func faultOf(i types.Instance) *provider.Error {
	if i.StateReason == nil || stateOf(i) != types.InstanceStateNameTerminated && stateOf(i) != types.InstanceStateNameShuttingDown {
		return nil
	}
	code := deref(i.StateReason.Code)
	r, ok := launchFaults[code]
	switch {
	case ok:
	case strings.HasPrefix(code, "Client.InvalidKMSKey"), strings.HasPrefix(code, "Client.Invalid"):
		r = reaction{kind: provider.Invalid}
	default:
		return nil
	}
	return &provider.Error{Kind: r.kind, Scope: r.scope, Err: fmt.Errorf("EC2 ended instance %s before it ran: %s", deref(i.InstanceId), deref(i.StateReason.Message))}
}

// addresses are those of the network interfaces in use, IPv6 before IPv4, and names. Domains are those of
// the network's hosts.
func addresses(i types.Instance, domains []string) (out []corev1.NodeAddress) {
	add := func(t corev1.NodeAddressType, a string) {
		if a != "" {
			out = append(out, corev1.NodeAddress{Type: t, Address: a})
		}
	}
	for _, n := range i.NetworkInterfaces {
		if n.Status != types.NetworkInterfaceStatusInUse {
			continue
		}
		for _, a := range n.Ipv6Addresses {
			add(corev1.NodeInternalIP, deref(a.Ipv6Address))
		}
		for _, a := range n.PrivateIpAddresses {
			add(corev1.NodeInternalIP, deref(a.PrivateIpAddress))
		}
	}
	add(corev1.NodeExternalIP, deref(i.PublicIpAddress))
	name := deref(i.PrivateDnsName)
	add(corev1.NodeInternalDNS, name)
	add(corev1.NodeHostName, name)
	host, _, _ := strings.Cut(name, ".")
	for _, d := range domains {
		if own := host + "." + d; name != "" && own != name {
			add(corev1.NodeInternalDNS, own)
		}
	}
	add(corev1.NodeExternalDNS, deref(i.PublicDnsName))
	return out
}

// domains are those of the instance's network: nodes may have names in them, for which they request
// certificates. Without the permission the list is empty, and the request is not repeated for a while. After
// any other failure the previous domains stay, so that addresses do not flap. Without previous ones, the
// instance is not reported.
func (s finder) domains(ctx context.Context, c *client, i types.Instance) ([]string, error) {
	id := deref(i.VpcId)
	if s.class.API != provider.OpenShift || id == "" || deref(i.PrivateDnsName) == "" {
		return nil, nil
	}
	return c.domains.Get(ctx, id, func(ctx context.Context) ([]string, error) {
		domains, err := domainsOf(ctx, c, id)
		if err == nil {
			c.past.domains.Put(id, domains)
			return domains, nil
		}
		if before, ok := c.past.domains.Recall(id); ok && ctx.Err() == nil {
			return before, nil
		}
		err = classify("look for the domains of network "+id, err, s.names)
		switch provider.KindOf(err) {
		case provider.Denied, provider.Invalid: // the credentials are valid for the rest: the client stays
			return nil, nil
		}
		return nil, err
	})
}

func domainsOf(ctx context.Context, c *client, network string) (out []string, err error) {
	networks, err := c.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{network}})
	if err != nil || len(networks.Vpcs) == 0 || networks.Vpcs[0].DhcpOptionsId == nil {
		return nil, err
	}
	options, err := c.ec2.DescribeDhcpOptions(ctx, &ec2.DescribeDhcpOptionsInput{DhcpOptionsIds: []string{*networks.Vpcs[0].DhcpOptionsId}})
	if err != nil {
		return nil, err
	}
	for _, o := range options.DhcpOptions {
		for _, d := range o.DhcpConfigurations {
			if deref(d.Key) != "domain-name" {
				continue
			}
			for _, v := range d.Values {
				out = append(out, strings.Fields(deref(v.Value))...)
			}
		}
	}
	return out, nil
}
