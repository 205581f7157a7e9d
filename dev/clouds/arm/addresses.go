package arm

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	network "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	nfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6/fake"
)

// address is a public IP address. A stored address is never changed; a change stores a new one.
type address struct {
	target
	model   network.PublicIPAddress
	user    string // the IP configuration that uses it
	created time.Time
	ready   time.Time
}

// goes reports whether the address is deleted with the machine: by its own setting, or by the setting of the interface that
// refers to it.
func (a *address) goes(ref *network.PublicIPAddress) bool {
	if ref.Properties != nil && ref.Properties.DeleteOption != nil {
		return *ref.Properties.DeleteOption == network.DeleteOptionsDelete
	}
	return false
}

func (a *address) view(now time.Time) network.PublicIPAddress {
	out := a.model
	out.Properties = shallow(out.Properties)
	out.Properties.ProvisioningState = to.Ptr(network.ProvisioningStateSucceeded)
	if now.Before(a.ready) {
		out.Properties.ProvisioningState = to.Ptr(network.ProvisioningStateUpdating)
	}
	if a.user != "" {
		out.Properties.IPConfiguration = &network.IPConfiguration{ID: to.Ptr(a.user)}
	}
	return out
}

// addressCalls are the calls about public addresses.
type addressCalls struct{ *call }

func (c addressCalls) server() *nfake.PublicIPAddressesServer {
	return &nfake.PublicIPAddressesServer{
		BeginCreateOrUpdate: func(_ context.Context, _, _ string, p network.PublicIPAddress, _ *network.PublicIPAddressesClientBeginCreateOrUpdateOptions) (azfake.PollerResponder[network.PublicIPAddressesClientCreateOrUpdateResponse], azfake.ErrorResponder) {
			a, status, err := c.putAddress(p)
			if err != nil {
				return begun(0, network.PublicIPAddressesClientCreateOrUpdateResponse{}, err)
			}
			return begun(status, network.PublicIPAddressesClientCreateOrUpdateResponse{PublicIPAddress: a.view(c.clock.Now())}, nil)
		},
		BeginDelete: func(context.Context, string, string, *network.PublicIPAddressesClientBeginDeleteOptions) (azfake.PollerResponder[network.PublicIPAddressesClientDeleteResponse], azfake.ErrorResponder) {
			a, ok := c.addresses.Get(c.key())
			if !ok {
				return begun(http.StatusNoContent, network.PublicIPAddressesClientDeleteResponse{}, nil)
			}
			if a.user != "" {
				return begun(0, network.PublicIPAddressesClientDeleteResponse{}, refuse(http.StatusBadRequest, "PublicIPAddressCannotBeDeleted",
					"Public IP address %s can not be deleted since it is still allocated to resource %s. In order to delete the public IP, disassociate/detach the Public IP address from the resource.", a.id(), a.user))
			}
			c.addresses.Delete(a.key())
			c.begin("address", 0)
			return begun(http.StatusAccepted, network.PublicIPAddressesClientDeleteResponse{}, nil)
		},
		UpdateTags: func(_ context.Context, _, _ string, t network.TagsObject, _ *network.PublicIPAddressesClientUpdateTagsOptions) (azfake.Responder[network.PublicIPAddressesClientUpdateTagsResponse], azfake.ErrorResponder) {
			a, ok := c.addresses.Get(c.key())
			if !ok {
				return done(network.PublicIPAddressesClientUpdateTagsResponse{}, c.missing())
			}
			if err := tagFault(t.Tags); err != nil {
				return done(network.PublicIPAddressesClientUpdateTagsResponse{}, err)
			}
			next := *a
			next.model.Tags = t.Tags
			c.addresses.Put(a.key(), &next)
			return done(network.PublicIPAddressesClientUpdateTagsResponse{PublicIPAddress: next.view(c.clock.Now())}, nil)
		},
		Get: func(context.Context, string, string, *network.PublicIPAddressesClientGetOptions) (azfake.Responder[network.PublicIPAddressesClientGetResponse], azfake.ErrorResponder) {
			a, ok := c.addresses.Get(c.key())
			if !ok {
				return done(network.PublicIPAddressesClientGetResponse{}, c.missing())
			}
			return done(network.PublicIPAddressesClientGetResponse{PublicIPAddress: a.view(c.clock.Now())}, nil)
		},
		NewListPager: func(string, *network.PublicIPAddressesClientListOptions) azfake.PagerResponder[network.PublicIPAddressesClientListResponse] {
			page, next := paged(c.call, c.listAddresses())
			return onePage(network.PublicIPAddressesClientListResponse{PublicIPAddressListResult: network.PublicIPAddressListResult{Value: page, NextLink: next}})
		},
		NewListAllPager: func(*network.PublicIPAddressesClientListAllOptions) azfake.PagerResponder[network.PublicIPAddressesClientListAllResponse] {
			page, next := paged(c.call, c.listAddresses())
			return onePage(network.PublicIPAddressesClientListAllResponse{PublicIPAddressListResult: network.PublicIPAddressListResult{Value: page, NextLink: next}})
		},
	}
}

func (c addressCalls) listAddresses() (all []*network.PublicIPAddress) {
	then := c.clock.Now().Add(-c.Lag())
	for _, a := range c.addresses.AllBehind(c.Lag()) {
		if c.here(a.target) {
			all = append(all, to.Ptr(a.view(then)))
		}
	}
	return all
}

func (c addressCalls) putAddress(p network.PublicIPAddress) (*address, int, *apiError) {
	if err := tagFault(p.Tags); err != nil {
		return nil, 0, err
	}
	now, status := c.clock.Now(), http.StatusCreated
	a := &address{target: c.target, model: clone(p), created: now, ready: now.Add(c.Network)}
	if a.model.Properties == nil {
		a.model.Properties = &network.PublicIPAddressPropertiesFormat{}
	}
	was, ok := c.addresses.Get(c.key())
	if ok {
		a.user, a.created, status = was.user, was.created, http.StatusOK
		a.model.Properties.IPAddress = was.model.Properties.IPAddress
	} else if most := c.Inventory.Quotas.Addresses; most > 0 && len(c.addresses.All()) >= most {
		return nil, 0, refuse(http.StatusBadRequest, "PublicIPCountLimitReached", "Cannot create more than %d public IP addresses for this subscription in this region.", most)
	} else {
		k := c.number()
		a.model.Properties.IPAddress = to.Ptr(fmt.Sprintf("203.0.%d.%d", 112+k/250, 1+k%250))
	}
	a.model.ID, a.model.Name, a.model.Type = to.Ptr(c.id()), to.Ptr(c.name), to.Ptr("Microsoft.Network/publicIPAddresses")
	if dns := a.model.Properties.DNSSettings; dns != nil && dns.DomainNameLabel != nil {
		dns.Fqdn = to.Ptr(*dns.DomainNameLabel + "." + deref(p.Location) + ".cloudapp.azure.com")
	}
	c.addresses.Put(a.key(), a)
	c.begin("address", c.Network)
	return a, status, nil
}

// check refuses a public address that an interface cannot use.
func (c addressCalls) check(n *nic, p *network.InterfaceIPConfiguration, ref *network.PublicIPAddress) *apiError {
	a, ok := c.addresses.Get(strings.ToLower(deref(ref.ID)))
	switch {
	case !ok:
		return invalidReference(deref(ref.ID), n.id())
	case a.user != "" && !strings.EqualFold(a.user, deref(p.ID)):
		return refuse(http.StatusBadRequest, "PublicIPAddressInUse", "Resource %s is referencing public IP address %s that is already allocated to resource %s.", deref(p.ID), a.id(), a.user)
	case c.clock.Now().Before(a.ready):
		return notProvisioned(a.id(), n.id())
	}
	return c.account.join("Microsoft.Network/publicIPAddresses/join/action", c.account.ClientID, a.id())
}

// use attaches public addresses to an interface.
func (c addressCalls) use(n *nic) {
	for _, p := range n.model.Properties.IPConfigurations {
		if p.Properties.PublicIPAddress == nil {
			continue
		}
		if a, ok := c.addresses.Get(strings.ToLower(deref(p.Properties.PublicIPAddress.ID))); ok {
			taken := *a
			taken.user = deref(p.ID)
			c.addresses.Put(a.key(), &taken)
		}
	}
}
