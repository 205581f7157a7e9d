package cloud

import (
	"context"
	"net/netip"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	network "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"

	"github.com/millwright-dev/millwright/provider"
)

// nic creates the machine's interface, or reuses the one of an earlier call.
func (cr *creator) nic(ctx context.Context) (*network.Interface, error) {
	name, nics := cr.ref.Name+nicSuffix, cr.network.NewInterfacesClient()
	has, err := nics.Get(ctx, cr.group, name, nil)
	switch {
	case err == nil:
		if err := cr.may("network interface", name, has.Tags); err != nil {
			return nil, err
		}
		if vm := userOf(&has.Interface); vm != "" && !strings.EqualFold(base(vm), cr.ref.Name) {
			return nil, provider.Errorf(provider.Conflict, "network interface %s is that of virtual machine %s", name, base(vm))
		}
		if cr.whole(&has.Interface) {
			return &has.Interface, unfinished("network interface", name, deref(has.Properties.ProvisioningState))
		}
	case !isMissing(err):
		return nil, cr.observe(err, "read network interface %s", name)
	}
	asked, err := cr.interfaceFor(ctx, name)
	if err != nil {
		return nil, err
	}
	made, err := begin[network.Interface](ctx, func(ctx context.Context) (*runtime.Poller[network.InterfacesClientCreateOrUpdateResponse], error) {
		return nics.BeginCreateOrUpdate(ctx, cr.group, name, *asked, nil)
	})
	if err != nil {
		return nil, cr.observe(err, "make network interface %s", name)
	}
	if made.Properties == nil {
		return nil, provider.Errorf(provider.Transient, "network interface %s: the answer has no properties", name)
	}
	return made, unfinished("network interface", name, deref(made.Properties.ProvisioningState))
}

// userOf is the ID of the virtual machine that has an interface; empty: none.
func userOf(n *network.Interface) string {
	if n.Properties == nil || n.Properties.VirtualMachine == nil {
		return ""
	}
	return deref(n.Properties.VirtualMachine.ID)
}

// may refuses to use a resource of another machine or another cluster. One without a UID was left by the
// original for the name.
func (cr *creator) may(what, name string, tags map[string]*string) error {
	uid := tagOf(tags, tagUID)
	if uid == cr.ref.UID || uid == "" && cr.ours.has(tags) {
		return nil
	}
	return cr.ours.taken(what, name, tags)
}

// whole reports whether an interface is this machine's, and matches the spec. A failed one is created
// again.
func (cr *creator) whole(n *network.Interface) bool {
	if tagOf(n.Tags, tagUID) != cr.ref.UID || n.Properties == nil || deref(n.Properties.ProvisioningState) == network.ProvisioningStateFailed || len(n.Properties.IPConfigurations) == 0 {
		return false
	}
	first := n.Properties.IPConfigurations[0].Properties
	public := first != nil && first.PublicIPAddress != nil
	fast := deref(n.Properties.EnableAcceleratedNetworking) == deref(cr.plan.network.accelerated)
	return first != nil && first.Subnet != nil && strings.EqualFold(deref(first.Subnet.ID), cr.subnetID()) && public == cr.plan.network.public && fast
}

func (cr *creator) subnetID() string {
	n := cr.plan.network
	return formatID(cr.subscription, n.group, "Microsoft.Network", "virtualNetworks", n.vnet) + "/subnets/" + n.subnet
}

// networkID is the ID of a network resource in the machine's own resource group: all except the virtual
// network.
func (cr *creator) networkID(kind, name string) *string {
	return to.Ptr(formatID(cr.subscription, cr.group, "Microsoft.Network", kind, name))
}

// interfaceFor is the interface to create.
func (cr *creator) interfaceFor(ctx context.Context, name string) (*network.Interface, error) {
	n := cr.plan.network
	first := &network.InterfaceIPConfigurationPropertiesFormat{
		Subnet: &network.Subnet{ID: to.Ptr(cr.subnetID())}, PrivateIPAllocationMethod: to.Ptr(network.IPAllocationMethodDynamic),
	}
	for _, group := range n.appGroups {
		first.ApplicationSecurityGroups = append(first.ApplicationSecurityGroups, &network.ApplicationSecurityGroup{ID: cr.networkID("applicationSecurityGroups", group)})
	}
	// A resource in the request must exist now: a rule deleted meanwhile would be reported as an invalid
	// spec, which is final.
	cr.balancers.Forget(cr.plan.balancerKey(n.publicBalancer))
	cr.balancers.Forget(cr.plan.balancerKey(n.internalBalancer))
	seat, err := cr.balance(ctx)
	if err != nil {
		return nil, err
	}
	first.LoadBalancerBackendAddressPools, first.LoadBalancerInboundNatRules = seat.four.LoadBalancerBackendAddressPools, seat.four.LoadBalancerInboundNatRules
	if n.public {
		id, err := cr.public(ctx)
		if err != nil {
			return nil, err
		}
		first.PublicIPAddress = &network.PublicIPAddress{ID: to.Ptr(id), Properties: &network.PublicIPAddressPropertiesFormat{DeleteOption: to.Ptr(network.DeleteOptionsDelete)}}
	}
	configuration := n.configuration
	if configuration == "" {
		configuration = name
	}
	out := &network.Interface{Location: to.Ptr(cr.plan.location), Tags: cr.tags, Properties: &network.InterfacePropertiesFormat{
		EnableAcceleratedNetworking: n.accelerated, EnableIPForwarding: n.forwarding,
		IPConfigurations: []*network.InterfaceIPConfiguration{{Name: to.Ptr(configuration), Properties: first}},
	}}
	if n.configuration == "" {
		out.Properties.NicType = to.Ptr(network.NetworkInterfaceNicTypeStandard)
	}
	if n.securityGroup != "" {
		out.Properties.NetworkSecurityGroup = &network.SecurityGroup{ID: cr.networkID("networkSecurityGroups", n.securityGroup)}
	}
	six, err := cr.needsIPv6(ctx)
	if six {
		out.Properties.IPConfigurations = append(out.Properties.IPConfigurations, &network.InterfaceIPConfiguration{
			Name: to.Ptr(configuration + "-v6"),
			Properties: &network.InterfaceIPConfigurationPropertiesFormat{
				Subnet: first.Subnet, PrivateIPAllocationMethod: first.PrivateIPAllocationMethod, PrivateIPAddressVersion: to.Ptr(network.IPVersionIPv6), Primary: to.Ptr(false),
				LoadBalancerBackendAddressPools: seat.six.LoadBalancerBackendAddressPools, LoadBalancerInboundNatRules: seat.six.LoadBalancerInboundNatRules,
			},
		})
	}
	return out, err
}

// needsIPv6 reports whether the subnet has IPv6 addresses.
func (cr *creator) needsIPv6(ctx context.Context) (bool, error) {
	n := cr.plan.network
	if n.configuration == "" {
		return false, nil
	}
	got, err := cr.network.NewSubnetsClient().Get(ctx, n.group, n.vnet, n.subnet, nil)
	if isMissing(err) {
		return false, provider.InvalidField(cr.plan.fields[fieldSubnet], "there is no subnet %s in %s of resource group %s", n.subnet, n.vnet, n.group)
	}
	if err != nil {
		return false, cr.observe(err, "read subnet %s", n.subnet)
	}
	if got.Properties == nil {
		return false, nil
	}
	prefixes := []string{deref(got.Properties.AddressPrefix)}
	for _, p := range got.Properties.AddressPrefixes {
		prefixes = append(prefixes, deref(p))
	}
	for _, text := range prefixes {
		if p, err := netip.ParsePrefix(text); err == nil && p.Addr().Is6() {
			return true, nil
		}
	}
	return false, nil
}

// poolMembership has the load balancer settings of an interface: those of its IPv4 and of its IPv6 address.
type poolMembership struct {
	four, six network.InterfaceIPConfigurationPropertiesFormat
}

// ipv6PoolSuffix is the suffix of the names of pools with IPv6 addresses. Azure does not report it, and the
// original uses it.
const ipv6PoolSuffix = "-v6"

// balance returns all pools of the load balancers that the spec names.
func (s call) balance(ctx context.Context) (out poolMembership, err error) {
	n := s.plan.network
	for _, b := range []struct {
		name, field string
		rule        *int64
	}{{n.publicBalancer, "publicLoadBalancer", n.natRule}, {n.internalBalancer, "internalLoadBalancer", nil}} {
		if b.name == "" {
			continue
		}
		got, err := s.balancer(ctx, b.name)
		if isMissing(err) {
			return out, provider.InvalidField(b.field, "there is no load balancer %s in resource group %s", b.name, s.group)
		}
		if err != nil {
			return out, s.observe(err, "read load balancer %s", b.name)
		}
		p := got.Properties
		if p == nil || len(p.BackendAddressPools) == 0 { // as in the original: it may get its pools later, when the machine is added to them
			s.balancers.Forget(s.plan.balancerKey(b.name))
		}
		if p == nil {
			continue
		}
		out.join(p.BackendAddressPools)
		if b.rule == nil {
			continue
		}
		if k := *b.rule; k < 0 || k >= int64(len(p.InboundNatRules)) {
			s.balancers.Forget(s.plan.balancerKey(b.name))
			return out, provider.InvalidField("natRule", "load balancer %s has %d rules: there is no number %d", b.name, len(p.InboundNatRules), k)
		}
		out.translate(p.FrontendIPConfigurations, p.InboundNatRules[*b.rule].ID)
	}
	return out, nil
}

// join adds the pools of a load balancer.
func (o *poolMembership) join(pools []*network.BackendAddressPool) {
	for _, pool := range pools {
		if pool == nil || pool.ID == nil {
			continue
		}
		to := &o.four
		if strings.HasSuffix(deref(pool.Name), ipv6PoolSuffix) {
			to = &o.six
		}
		to.LoadBalancerBackendAddressPools = append(to.LoadBalancerBackendAddressPools, &network.BackendAddressPool{ID: pool.ID})
	}
}

// translate adds a rule once for each version of the load balancer's frontend addresses.
func (o *poolMembership) translate(fronts []*network.FrontendIPConfiguration, rule *string) {
	for _, front := range fronts {
		to := &o.four
		if front.Properties != nil && deref(front.Properties.PrivateIPAddressVersion) == network.IPVersionIPv6 {
			to = &o.six
		}
		if len(to.LoadBalancerInboundNatRules) == 0 {
			to.LoadBalancerInboundNatRules = []*network.InboundNatRule{{ID: rule}}
		}
	}
}

// balancer is a load balancer, cached for a minute. If it lacks what the spec names, users may be creating
// that: it is not cached.
func (s call) balancer(ctx context.Context, name string) (*network.LoadBalancer, error) {
	return s.balancers.Get(ctx, s.plan.balancerKey(name), func(ctx context.Context) (*network.LoadBalancer, error) {
		got, err := s.network.NewLoadBalancersClient().Get(ctx, s.group, name, nil)
		return &got.LoadBalancer, err
	})
}

// balancerKey identifies a load balancer. It is in the resource group of the machine, whatever group the
// virtual network is in.
func (d *plan) balancerKey(name string) string { return strings.ToLower(d.group + "/" + name) }

// addressName is the original's name, in OpenShift, for a machine's public address.
func addressName(cluster, machine string) string { return cluster + "-" + machine }

// public creates the machine's public address, or reuses the existing one.
func (cr *creator) public(ctx context.Context) (string, error) {
	name, ips := addressName(cr.class.Cluster, cr.ref.Name), cr.network.NewPublicIPAddressesClient()
	if len(name) > mostAddressName {
		return "", provider.InvalidField("publicIP", "the name %q has more than the %d characters that a public address may have", name, mostAddressName)
	}
	has, err := ips.Get(ctx, cr.group, name, nil)
	if err == nil {
		if err := cr.may("public address", name, has.Tags); err != nil {
			return "", err
		}
		if has.Properties != nil && tagOf(has.Tags, tagUID) == cr.ref.UID && deref(has.Properties.ProvisioningState) != network.ProvisioningStateFailed {
			return deref(has.ID), unfinished("public address", name, deref(has.Properties.ProvisioningState))
		}
	} else if !isMissing(err) {
		return "", cr.observe(err, "read public address %s", name)
	}
	made, err := begin[network.PublicIPAddress](ctx, func(ctx context.Context) (*runtime.Poller[network.PublicIPAddressesClientCreateOrUpdateResponse], error) {
		return ips.BeginCreateOrUpdate(ctx, cr.group, name, network.PublicIPAddress{
			Location: to.Ptr(cr.plan.location), Tags: cr.tags, SKU: &network.PublicIPAddressSKU{Name: to.Ptr(network.PublicIPAddressSKUNameStandard)},
			Properties: &network.PublicIPAddressPropertiesFormat{
				PublicIPAddressVersion: to.Ptr(network.IPVersionIPv4), PublicIPAllocationMethod: to.Ptr(network.IPAllocationMethodStatic),
				DNSSettings: &network.PublicIPAddressDNSSettings{DomainNameLabel: to.Ptr(strings.ToLower(name))}, DeleteOption: to.Ptr(network.DeleteOptionsDelete),
			},
		}, nil)
	})
	if err != nil {
		return "", cr.observe(err, "make public address %s", name)
	}
	if made.Properties == nil {
		return "", provider.Errorf(provider.Transient, "public address %s: the answer has no properties", name)
	}
	return deref(made.ID), unfinished("public address", name, deref(made.Properties.ProvisioningState))
}
