package arm

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	network "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	nfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6/fake"
)

// nic is a network interface. A stored interface is never changed; a change stores a new one.
type nic struct {
	target
	model   network.Interface
	vm      string // the machine that has it
	created time.Time
	ready   time.Time
}

func (n *nic) updating(now time.Time) bool { return now.Before(n.ready) }

func (n *nic) view(now time.Time) network.Interface {
	out := n.model
	out.Properties = shallow(out.Properties)
	out.Properties.ProvisioningState = to.Ptr(network.ProvisioningStateSucceeded)
	if n.updating(now) {
		out.Properties.ProvisioningState = to.Ptr(network.ProvisioningStateUpdating)
	}
	if n.vm != "" {
		out.Properties.VirtualMachine = &network.SubResource{ID: to.Ptr(n.vm)}
		out.Properties.Primary = to.Ptr(true)
	}
	return out
}

// dropNIC deletes an interface and the addresses that are deleted with it.
func dropNIC(c *Cloud, n *nic) {
	c.nics.Delete(n.key())
	for _, p := range n.model.Properties.IPConfigurations {
		if p.Properties == nil || p.Properties.PublicIPAddress == nil {
			continue
		}
		a, ok := c.addresses.Get(strings.ToLower(deref(p.Properties.PublicIPAddress.ID)))
		if !ok {
			continue
		}
		if a.goes(p.Properties.PublicIPAddress) {
			c.addresses.Delete(a.key())
			continue
		}
		free := *a
		free.user = ""
		c.addresses.Put(a.key(), &free)
	}
}

// nicCalls are the calls about network interfaces.
type nicCalls struct{ *call }

func (c nicCalls) server() *nfake.InterfacesServer {
	return &nfake.InterfacesServer{
		BeginCreateOrUpdate: func(_ context.Context, _, _ string, i network.Interface, _ *network.InterfacesClientBeginCreateOrUpdateOptions) (azfake.PollerResponder[network.InterfacesClientCreateOrUpdateResponse], azfake.ErrorResponder) {
			n, status, err := c.putNIC(i)
			if err != nil {
				return begun(0, network.InterfacesClientCreateOrUpdateResponse{}, err)
			}
			return begun(status, network.InterfacesClientCreateOrUpdateResponse{Interface: n.view(c.clock.Now())}, nil)
		},
		BeginDelete: func(context.Context, string, string, *network.InterfacesClientBeginDeleteOptions) (azfake.PollerResponder[network.InterfacesClientDeleteResponse], azfake.ErrorResponder) {
			status, err := c.deleteNIC()
			if err != nil {
				return begun(0, network.InterfacesClientDeleteResponse{}, err)
			}
			return begun(status, network.InterfacesClientDeleteResponse{}, nil)
		},
		UpdateTags: func(_ context.Context, _, _ string, t network.TagsObject, _ *network.InterfacesClientUpdateTagsOptions) (azfake.Responder[network.InterfacesClientUpdateTagsResponse], azfake.ErrorResponder) {
			n, ok := c.nics.Get(c.key())
			if !ok {
				return done(network.InterfacesClientUpdateTagsResponse{}, c.missing())
			}
			if err := tagFault(t.Tags); err != nil {
				return done(network.InterfacesClientUpdateTagsResponse{}, err)
			}
			next := *n
			next.model.Tags = t.Tags
			c.nics.Put(n.key(), &next)
			return done(network.InterfacesClientUpdateTagsResponse{Interface: next.view(c.clock.Now())}, nil)
		},
		Get: func(context.Context, string, string, *network.InterfacesClientGetOptions) (azfake.Responder[network.InterfacesClientGetResponse], azfake.ErrorResponder) {
			n, ok := c.nics.Get(c.key())
			if !ok {
				return done(network.InterfacesClientGetResponse{}, c.missing())
			}
			return done(network.InterfacesClientGetResponse{Interface: n.view(c.clock.Now())}, nil)
		},
		NewListPager: func(string, *network.InterfacesClientListOptions) azfake.PagerResponder[network.InterfacesClientListResponse] {
			page, next := paged(c.call, c.listNICs())
			return onePage(network.InterfacesClientListResponse{InterfaceListResult: network.InterfaceListResult{Value: page, NextLink: next}})
		},
		NewListAllPager: func(*network.InterfacesClientListAllOptions) azfake.PagerResponder[network.InterfacesClientListAllResponse] {
			page, next := paged(c.call, c.listNICs())
			return onePage(network.InterfacesClientListAllResponse{InterfaceListResult: network.InterfaceListResult{Value: page, NextLink: next}})
		},
	}
}

func (c nicCalls) listNICs() (all []*network.Interface) {
	then := c.clock.Now().Add(-c.Lag())
	for _, n := range c.nics.AllBehind(c.Lag()) {
		if c.here(n.target) {
			all = append(all, to.Ptr(n.view(then)))
		}
	}
	return all
}

func (c nicCalls) putNIC(i network.Interface) (*nic, int, *apiError) {
	if i.Properties == nil || len(i.Properties.IPConfigurations) == 0 {
		return nil, 0, refuse(http.StatusBadRequest, "NetworkInterfaceMustHaveIpConfiguration", "Network Interface %s must have one or more IP configurations.", c.id())
	}
	if err := tagFault(i.Tags); err != nil {
		return nil, 0, err
	}
	now, status := c.clock.Now(), http.StatusCreated
	n := &nic{target: c.target, model: clone(i), created: now, ready: now.Add(c.Network)}
	if was, ok := c.nics.Get(c.key()); ok {
		n.vm, n.created, status = was.vm, was.created, http.StatusOK
	}
	n.model.ID, n.model.Name, n.model.Type, n.model.Etag = to.Ptr(c.id()), to.Ptr(c.name), to.Ptr("Microsoft.Network/networkInterfaces"), to.Ptr(`W/"1"`)
	n.model.Properties.DNSSettings = &network.InterfaceDNSSettings{InternalDomainNameSuffix: to.Ptr("double.bx.internal.cloudapp.net")}
	for k, p := range n.model.Properties.IPConfigurations {
		if err := c.configure(n, p, k == 0); err != nil {
			return nil, 0, err
		}
	}
	if err := c.judgeGroups(n); err != nil {
		return nil, 0, err
	}
	c.publicAddresses().use(n)
	c.nics.Put(n.key(), n)
	c.begin("nic", c.Network)
	return n, status, nil
}

// configure gives an interface an address.
func (c nicCalls) configure(n *nic, p *network.InterfaceIPConfiguration, primary bool) *apiError {
	if p.Properties == nil || p.Properties.Subnet == nil {
		return refuse(http.StatusBadRequest, "InvalidRequestFormat", "Cannot parse the request.").about("subnet")
	}
	p.ID, p.Properties.Primary = to.Ptr(n.id()+"/ipConfigurations/"+deref(p.Name)), to.Ptr(primary)
	p.Properties.ProvisioningState = to.Ptr(network.ProvisioningStateSucceeded)
	subnet, err := c.subnetOf(deref(p.Properties.Subnet.ID), n.id())
	if err != nil {
		return err
	}
	if err := c.room(subnet, deref(p.Properties.Subnet.ID)); err != nil {
		return err
	}
	six := deref(p.Properties.PrivateIPAddressVersion) == network.IPVersionIPv6
	if deref(p.Properties.PrivateIPAddress) == "" {
		p.Properties.PrivateIPAddress = to.Ptr(free(subnet, six, c.number()))
	}
	if a := p.Properties.PublicIPAddress; a != nil {
		if err := c.publicAddresses().check(n, p, a); err != nil {
			return err
		}
	}
	return c.judgePools(n, p.Properties)
}

// invalidReference is the error about an ID of a missing resource.
func invalidReference(id, user string) *apiError {
	return refuse(http.StatusBadRequest, "InvalidResourceReference", "Resource %s referenced by resource %s was not found. Please make sure that the referenced resource exists, and that both resources are in the same region.", id, user)
}

func (c nicCalls) subnetOf(id, user string) (Subnet, *apiError) {
	s := strings.Split(withoutSubscription(id), "/") // "", resourceGroups, g, providers, p, virtualNetworks, v, subnets, s
	if len(s) != 9 {
		return Subnet{}, invalidReference(id, user)
	}
	subnet, ok := c.Inventory.subnet(s[2], s[6], s[8])
	if !ok && !c.AcceptAny {
		return Subnet{}, invalidReference(id, user)
	}
	if !ok {
		subnet = anySubnet(s[8])
	}
	return subnet, c.account.join("Microsoft.Network/virtualNetworks/subnets/join/action", c.account.ClientID, id)
}

// anySubnet is a subnet that is accepted although it is not in the inventory.
func anySubnet(name string) Subnet { return Subnet{Name: name, Prefixes: []string{"10.0.0.0/8"}} }

// room refuses an address of a full subnet.
func (c nicCalls) room(s Subnet, id string) *apiError {
	used := 0
	for _, n := range c.nics.All() {
		for _, p := range n.model.Properties.IPConfigurations {
			if n.key() != c.key() && strings.EqualFold(deref(p.Properties.Subnet.ID), id) {
				used++
			}
		}
	}
	if s.Most == 0 || used < s.Most {
		return nil
	}
	return refuse(http.StatusBadRequest, "SubnetIsFull", "Subnet %s with address prefix %s does not have enough capacity for 1 IP addresses.", s.Name, strings.Join(s.Prefixes, ","))
}

// free is an unused address of a subnet.
func free(s Subnet, six bool, number int) string {
	for _, text := range s.Prefixes {
		prefix, err := netip.ParsePrefix(text)
		if err != nil || prefix.Addr().Is6() != six {
			continue
		}
		bytes := prefix.Addr().AsSlice()
		number += 3 // Azure reserves the first ones
		for k := len(bytes) - 1; number > 0 && k >= 0; k-- {
			number += int(bytes[k])
			bytes[k], number = byte(number%256), number/256
		}
		addr, _ := netip.AddrFromSlice(bytes)
		return addr.String()
	}
	return fmt.Sprintf("192.0.2.%d", number%250)
}

// judgePools refuses missing pools and rules of load balancers.
func (c nicCalls) judgePools(n *nic, p *network.InterfaceIPConfigurationPropertiesFormat) *apiError {
	var ids []string
	for _, pool := range p.LoadBalancerBackendAddressPools {
		ids = append(ids, deref(pool.ID))
	}
	for _, rule := range p.LoadBalancerInboundNatRules {
		ids = append(ids, deref(rule.ID))
	}
	for _, id := range ids {
		s := strings.Split(withoutSubscription(id), "/") // "", resourceGroups, g, providers, p, loadBalancers, b, backendAddressPools, a
		if len(s) != 9 {
			return invalidReference(id, n.id())
		}
		b, ok := c.Inventory.balancer(s[2], s[6])
		names := append(append([]string{}, b.Pools...), b.NatRules...)
		if !c.AcceptAny && (!ok || !containsFold(names, s[8])) {
			return invalidReference(id, n.id())
		}
		if err := c.account.join("Microsoft.Network/loadBalancers/backendAddressPools/join/action", c.account.ClientID, id); err != nil {
			return err
		}
	}
	return nil
}

func containsFold(all []string, one string) bool {
	for _, s := range all {
		if strings.EqualFold(s, one) {
			return true
		}
	}
	return false
}

// judgeGroups refuses missing security groups.
func (c nicCalls) judgeGroups(n *nic) *apiError {
	var ids []string
	if g := n.model.Properties.NetworkSecurityGroup; g != nil {
		ids = append(ids, deref(g.ID))
	}
	for _, p := range n.model.Properties.IPConfigurations {
		for _, g := range p.Properties.ApplicationSecurityGroups {
			ids = append(ids, deref(g.ID))
		}
	}
	for _, id := range ids {
		if !c.judge().there(id) {
			return invalidReference(id, n.id())
		}
	}
	return nil
}

func (c nicCalls) deleteNIC() (int, *apiError) {
	n, ok := c.nics.Get(c.key())
	if !ok {
		return http.StatusNoContent, nil
	}
	if n.vm != "" {
		return 0, refuse(http.StatusBadRequest, "NicInUse", "Network Interface %s is used by existing resource %s. In order to delete the network interface, it must be dissociated from the resource. To learn more, see aka.ms/deletenic.", n.id(), n.vm)
	}
	keep := *n
	keep.model = clone(n.model)
	for _, p := range keep.model.Properties.IPConfigurations {
		if p.Properties.PublicIPAddress != nil {
			p.Properties.PublicIPAddress.Properties = nil // addresses are deleted with machines, not with interfaces
		}
	}
	dropNIC(c.Cloud, &keep)
	c.begin("nic", 0)
	return http.StatusAccepted, nil
}
