package cloud

import (
	"context"
	"iter"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	network "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// pages yields all items of a listing, which is read once for all concurrent callers: Azure filters no
// listing, so that a search for one machine reads all. A resource group that does not exist is empty.
func pages[P, T any](ctx context.Context, s call, what string, pager *runtime.Pager[P], of func(P) []*T) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		all, err := kit.Share(ctx, &s.lists, what+" "+strings.ToLower(s.group), func(ctx context.Context) (all []*T, err error) {
			for pager.More() {
				page, err := pager.NextPage(ctx)
				if missingGroup(err) {
					return all, nil
				}
				if err != nil {
					return nil, err
				}
				all = append(all, of(page)...)
			}
			return all, nil
		})
		if err != nil {
			yield(nil, s.observe(err, "list %s", what))
			return
		}
		for _, one := range all {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// machines lists the virtual machines in the resource group, or in the subscription, of any owner.
func (s call) machines(ctx context.Context) iter.Seq2[*compute.VirtualMachine, error] {
	const what = "virtual machines"
	vms := s.compute.NewVirtualMachinesClient()
	if s.group == "" {
		return pages(ctx, s, what, vms.NewListAllPager(nil), func(p compute.VirtualMachinesClientListAllResponse) []*compute.VirtualMachine { return p.Value })
	}
	return pages(ctx, s, what, vms.NewListPager(s.group, nil), func(p compute.VirtualMachinesClientListResponse) []*compute.VirtualMachine { return p.Value })
}

func (s call) interfaces(ctx context.Context) iter.Seq2[*network.Interface, error] {
	const what = "network interfaces"
	nics := s.network.NewInterfacesClient()
	if s.group == "" {
		return pages(ctx, s, what, nics.NewListAllPager(nil), func(p network.InterfacesClientListAllResponse) []*network.Interface { return p.Value })
	}
	return pages(ctx, s, what, nics.NewListPager(s.group, nil), func(p network.InterfacesClientListResponse) []*network.Interface { return p.Value })
}

func (s call) publicAddresses(ctx context.Context) iter.Seq2[*network.PublicIPAddress, error] {
	const what = "public addresses"
	ips := s.network.NewPublicIPAddressesClient()
	if s.group == "" {
		return pages(ctx, s, what, ips.NewListAllPager(nil), func(p network.PublicIPAddressesClientListAllResponse) []*network.PublicIPAddress { return p.Value })
	}
	return pages(ctx, s, what, ips.NewListPager(s.group, nil), func(p network.PublicIPAddressesClientListResponse) []*network.PublicIPAddress { return p.Value })
}

func (s call) allDisks(ctx context.Context) iter.Seq2[*compute.Disk, error] {
	const what = "disks"
	disks := s.compute.NewDisksClient()
	if s.group == "" {
		return pages(ctx, s, what, disks.NewListPager(nil), func(p compute.DisksClientListResponse) []*compute.Disk { return p.Value })
	}
	return pages(ctx, s, what, disks.NewListByResourceGroupPager(s.group, nil), func(p compute.DisksClientListByResourceGroupResponse) []*compute.Disk { return p.Value })
}

// machine reads one virtual machine and its state; nil: it does not exist.
func (s call) machine(ctx context.Context, group, name string) (*compute.VirtualMachine, error) {
	got, err := s.compute.NewVirtualMachinesClient().Get(ctx, group, name, &compute.VirtualMachinesClientGetOptions{Expand: to.Ptr(compute.InstanceViewTypesInstanceView)})
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, s.observe(err, "read virtual machine %s", name)
	}
	return &got.VirtualMachine, nil
}

// mine reports whether a virtual machine may be ref's.
func (o ownership) mine(vm *compute.VirtualMachine, ref provider.Ref) bool {
	at, ok := parseID(deref(vm.ID))
	if !ok || !o.has(vm.Tags) {
		return false
	}
	uid := tagOf(vm.Tags, tagUID)
	return uid != "" && uid == ref.UID || uid == "" && strings.EqualFold(at.name, ref.Name) || identifies(ref.ProviderID, at, deref(vm.Location))
}

// identifies reports whether a provider ID, of either API, is that of a machine.
func identifies(providerID string, at resourceID, location string) bool {
	rest, ok := cutFold(providerID, "azure://")
	if !ok || rest == "" {
		return false
	}
	if other, ok := parseID(rest); ok {
		return strings.EqualFold(machineID(other.subscription, other.group, other.name), machineID(at.subscription, at.group, at.name))
	}
	return strings.EqualFold(strings.Trim(rest, "/"), location+"/"+at.name)
}

func cutFold(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// Find implements [provider.Session]. Listings show machines under any name; a machine that they show, or
// might not show yet, is read by its own name.
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	c, err := s.newCall(ctx)
	if err != nil {
		return nil, err
	}
	found, _, err := c.find(ctx, ref)
	return found, err
}

// find also returns the virtual machine that has ref's name in the group, of any owner; nil: it does not exist.
func (s call) find(ctx context.Context, ref provider.Ref) (found []provider.Instance, namesake *compute.VirtualMachine, err error) {
	seen := map[string]bool{}
	look := func(at resourceID) error {
		id := resourceID{s.subscription, at.group, at.name}.key()
		if at.name == "" || at.group == "" || seen[id] {
			return nil
		}
		seen[id] = true
		vm, err := s.machine(ctx, at.group, at.name)
		if err != nil || vm == nil {
			return err
		}
		if strings.EqualFold(at.group, s.group) && strings.EqualFold(at.name, ref.Name) {
			namesake = vm
		}
		if !s.ours.mine(vm, ref) {
			return nil
		}
		i, err := s.detail(ctx, vm)
		found = append(found, i)
		return err
	}
	for vm, err := range s.machines(ctx) {
		if err != nil {
			return nil, nil, err
		}
		if at, ok := parseID(deref(vm.ID)); ok && s.ours.mine(vm, ref) {
			if err := look(at); err != nil {
				return nil, nil, err
			}
		}
	}
	recorded, _ := parseID(ref.ProviderID)
	if !strings.EqualFold(recorded.subscription, s.subscription) {
		recorded = resourceID{}
	}
	for _, at := range []resourceID{{group: s.group, name: ref.Name}, recorded} {
		if err := look(at); err != nil {
			return nil, nil, err
		}
	}
	return found, namesake, nil
}

// detail reads the data of a virtual machine that was read with its instance view.
func (s call) detail(ctx context.Context, vm *compute.VirtualMachine) (provider.Instance, error) {
	saw := observed{addresses: map[string]*network.PublicIPAddress{}}
	if vm.Properties != nil {
		saw.power, saw.cause = readInstanceView(vm.Properties.InstanceView)
	}
	for _, id := range nicsOf(vm) {
		at, ok := parseID(id)
		if !ok {
			continue
		}
		got, err := s.network.NewInterfacesClient().Get(ctx, at.group, at.name, nil)
		if isMissing(err) {
			continue
		}
		if err != nil {
			return provider.Instance{}, s.observe(err, "read network interface %s", at.name)
		}
		saw.nics = append(saw.nics, &got.Interface)
		for _, id := range publicOf(&got.Interface) {
			at, _ := parseID(id)
			got, err := s.network.NewPublicIPAddressesClient().Get(ctx, at.group, at.name, nil)
			if isMissing(err) {
				continue
			}
			if err != nil {
				return provider.Instance{}, s.observe(err, "read public address %s", at.name)
			}
			saw.addresses[strings.ToLower(id)] = &got.PublicIPAddress
		}
	}
	return s.toInstance(vm, saw), nil
}

func nicsOf(vm *compute.VirtualMachine) (ids []string) {
	if vm.Properties == nil || vm.Properties.NetworkProfile == nil {
		return nil
	}
	for _, ref := range vm.Properties.NetworkProfile.NetworkInterfaces {
		ids = append(ids, deref(ref.ID))
	}
	return ids
}

func publicOf(n *network.Interface) (ids []string) {
	if n.Properties == nil {
		return nil
	}
	for _, p := range n.Properties.IPConfigurations {
		if p.Properties != nil && p.Properties.PublicIPAddress != nil && deref(p.Properties.PublicIPAddress.ID) != "" {
			ids = append(ids, *p.Properties.PublicIPAddress.ID)
		}
	}
	return ids
}
