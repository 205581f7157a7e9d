package arm

import (
	"context"
	"strconv"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	network "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	nfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6/fake"
)

// networkCalls are the calls about load balancers and subnets.
type networkCalls struct{ *call }

func (c networkCalls) balancerServer() *nfake.LoadBalancersServer {
	return &nfake.LoadBalancersServer{
		Get: func(context.Context, string, string, *network.LoadBalancersClientGetOptions) (azfake.Responder[network.LoadBalancersClientGetResponse], azfake.ErrorResponder) {
			b, ok := c.Inventory.balancer(c.group, c.name)
			if !ok && !c.AcceptAny {
				return done(network.LoadBalancersClientGetResponse{}, c.missing())
			}
			if !ok {
				b = LoadBalancer{ResourceGroup: c.group, Name: c.name, Pools: []string{c.name}}
			}
			return done(network.LoadBalancersClientGetResponse{LoadBalancer: c.balancer(b)}, nil)
		},
	}
}

// balancer is a load balancer as the API shows it, with the backends that refer to it.
func (c networkCalls) balancer(b LoadBalancer) network.LoadBalancer {
	p := &network.LoadBalancerPropertiesFormat{ProvisioningState: to.Ptr(network.ProvisioningStateSucceeded)}
	fronts := b.Fronts
	if len(fronts) == 0 {
		fronts = []string{string(network.IPVersionIPv4)}
	}
	for n, version := range fronts {
		front := &network.FrontendIPConfigurationPropertiesFormat{PrivateIPAddressVersion: to.Ptr(network.IPVersion(version))}
		if b.Internal {
			front.PrivateIPAddress = to.Ptr("10.0.0.4")
		}
		p.FrontendIPConfigurations = append(p.FrontendIPConfigurations, &network.FrontendIPConfiguration{Name: to.Ptr("front" + strconv.Itoa(n)), Properties: front})
	}
	for _, pool := range b.Pools {
		p.BackendAddressPools = append(p.BackendAddressPools, &network.BackendAddressPool{ID: to.Ptr(c.id() + "/backendAddressPools/" + pool), Name: to.Ptr(pool)})
	}
	for _, rule := range b.NatRules {
		p.InboundNatRules = append(p.InboundNatRules, &network.InboundNatRule{ID: to.Ptr(c.id() + "/inboundNatRules/" + rule), Name: to.Ptr(rule)})
	}
	return network.LoadBalancer{ID: to.Ptr(c.id()), Name: to.Ptr(b.Name), Type: to.Ptr("Microsoft.Network/loadBalancers"), Properties: p}
}

func (c networkCalls) subnetServer() *nfake.SubnetsServer {
	return &nfake.SubnetsServer{
		Get: func(context.Context, string, string, string, *network.SubnetsClientGetOptions) (azfake.Responder[network.SubnetsClientGetResponse], azfake.ErrorResponder) {
			s, ok := c.Inventory.subnet(c.group, c.parent, c.name)
			if !ok && !c.AcceptAny {
				return done(network.SubnetsClientGetResponse{}, c.missing())
			}
			if !ok {
				s = anySubnet(c.name)
			}
			id := "/subscriptions/" + c.subscription + "/resourceGroups/" + c.group + "/providers/Microsoft.Network/virtualNetworks/" + c.parent + "/subnets/" + c.name
			p := &network.SubnetPropertiesFormat{ProvisioningState: to.Ptr(network.ProvisioningStateSucceeded)}
			if len(s.Prefixes) == 1 {
				p.AddressPrefix = to.Ptr(s.Prefixes[0])
			} else {
				p.AddressPrefixes = to.SliceOfPtrs(s.Prefixes...)
			}
			return done(network.SubnetsClientGetResponse{Subnet: network.Subnet{ID: to.Ptr(id), Name: to.Ptr(c.name), Properties: p}}, nil)
		},
	}
}
