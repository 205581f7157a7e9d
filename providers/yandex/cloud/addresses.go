package cloud

import (
	"context"
	"slices"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	"github.com/yandex-cloud/go-genproto/yandex/cloud/vpc/v1"

	"github.com/millwright-dev/millwright/provider"
)

// assignAddresses sets the public addresses of network interfaces whose spec has a list of reserved
// addresses: for each the first unused address of its list.
func (s creator) assignAddresses(ctx context.Context, c *client, ref provider.Ref, in *compute.CreateInstanceRequest) error {
	var unused []string
	for n, of := range s.plan.NetworkInterfaceSpecs {
		if !of.AssignPublicIPAddress || len(of.PublicIPAddresses) == 0 {
			continue
		}
		if unused == nil {
			var err error
			if unused, err = s.unusedAddresses(ctx, c); err != nil {
				return err
			}
		}
		address := s.promise(c, ref, of.PublicIPAddresses, unused)
		if address == "" {
			return provider.ExhaustedIn(provider.ScopeType, "networkInterfaceSpecs[%d].publicIPAddresses: the folder has none of these addresses unused", n)
		}
		unused = slices.DeleteFunc(unused, func(a string) bool { return a == address })
		in.NetworkInterfaceSpecs[n].PrimaryV4AddressSpec.OneToOneNatSpec.Address = address
	}
	return nil
}

// promise is an unused one of the wanted addresses that no other machine was promised a moment ago; empty if
// all are used or promised.
func (s creator) promise(c *client, ref provider.Ref, wanted, unused []string) string {
	token := s.machineToken(ref)
	for _, address := range wanted {
		if holder, promised := c.taken.Recall(address); slices.Contains(unused, address) && (!promised || holder == token) {
			c.taken.Put(address, token)
			return address
		}
	}
	return ""
}

// unusedAddresses are the reserved public addresses of the folder that nothing uses.
func (s creator) unusedAddresses(ctx context.Context, c *client) (all []string, err error) {
	in := &vpc.ListAddressesRequest{FolderId: c.folder, PageSize: mostOnPage}
	for {
		page, err := c.addresses.List(ctx, in)
		if err != nil {
			return nil, s.observe("list the addresses of folder "+c.folder, err)
		}
		for _, a := range page.GetAddresses() {
			if address := a.GetExternalIpv4Address().GetAddress(); address != "" && !a.GetUsed() {
				all = append(all, address)
			}
		}
		if in.PageToken = page.GetNextPageToken(); in.PageToken == "" {
			return all, nil
		}
	}
}
