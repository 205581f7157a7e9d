package arm

import (
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	network "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
)

// Seed is a machine that another client has created.
type Seed struct {
	Subscription, Group, Name string
	Location, Zone, Size      string
	// NIC and Disk are the names of its interface and of its disk, Address the name of its public address; empty: it has
	// none.
	NIC, Disk, Address string
	Tags               map[string]string
	// Bare: only the machine has the tags; its parts have none.
	Bare bool
	// Cascade: interface and disk are deleted with the machine.
	Cascade bool
}

func (s Seed) target(provider, kind, name string) target {
	return target{subscription: s.Subscription, group: s.Group, provider: provider, kind: kind, name: name}
}

// Plant creates a running machine, with an interface and a disk, without a request. Even reads that lag see it at
// once.
func (c *Cloud) Plant(s Seed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	machineTags := pointers(s.Tags)
	if s.Bare {
		s.Tags = nil
	}
	n := seedNIC(c, s)
	goes, drops := compute.DeleteOptionsDetach, compute.DiskDeleteOptionTypesDetach
	if s.Cascade {
		goes, drops = compute.DeleteOptionsDelete, compute.DiskDeleteOptionTypesDelete
	}
	t := s.target("Microsoft.Compute", "virtualMachines", s.Name)
	vm := compute.VirtualMachine{
		Location: to.Ptr(s.Location), Tags: pointers(s.Tags),
		Properties: &compute.VirtualMachineProperties{
			HardwareProfile: &compute.HardwareProfile{VMSize: to.Ptr(compute.VirtualMachineSizeTypes(s.Size))},
			OSProfile:       &compute.OSProfile{ComputerName: to.Ptr(s.Name), AdminUsername: to.Ptr("capi")},
			NetworkProfile: &compute.NetworkProfile{NetworkInterfaces: []*compute.NetworkInterfaceReference{{
				ID: to.Ptr(n.id()), Properties: &compute.NetworkInterfaceReferenceProperties{DeleteOption: to.Ptr(goes), Primary: to.Ptr(true)},
			}}},
			StorageProfile: &compute.StorageProfile{OSDisk: &compute.OSDisk{
				Name: to.Ptr(s.Disk), CreateOption: to.Ptr(compute.DiskCreateOptionTypesFromImage), DeleteOption: to.Ptr(drops), DiskSizeGB: to.Ptr[int32](30),
			}},
		},
	}
	if s.Zone != "" {
		vm.Zones = []*string{to.Ptr(s.Zone)}
	}
	now := c.clock.Now()
	m := &machine{target: t, model: vm, created: now.Add(-c.Boot - c.Lag()), ready: now, power: "running", boots: 1}
	call := machineCalls{&call{Cloud: c, target: t}}
	call.complete(m)
	call.attach(m)
	m.model.Tags = machineTags
	c.vms.Put(m.key(), m)
}

// Leave creates an interface without a machine, without a request.
func (c *Cloud) Leave(s Seed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seedNIC(c, s)
}

func seedNIC(c *Cloud, s Seed) *nic {
	t := s.target("Microsoft.Network", "networkInterfaces", s.NIC)
	address := free(anySubnet(""), false, c.number())
	subnet := "/subscriptions/" + s.Subscription + "/resourceGroups/" + s.Group + "/providers/Microsoft.Network/virtualNetworks/planted/subnets/planted"
	n := &nic{target: t, created: c.clock.Now(), model: network.Interface{
		ID: to.Ptr(t.id()), Name: to.Ptr(s.NIC), Location: to.Ptr(s.Location), Tags: pointers(s.Tags),
		Properties: &network.InterfacePropertiesFormat{IPConfigurations: []*network.InterfaceIPConfiguration{{
			ID: to.Ptr(t.id() + "/ipConfigurations/first"), Name: to.Ptr("first"),
			Properties: &network.InterfaceIPConfigurationPropertiesFormat{PrivateIPAddress: to.Ptr(address), Primary: to.Ptr(true), Subnet: &network.Subnet{ID: to.Ptr(subnet)}},
		}}},
	}}
	if s.Address != "" {
		seedAddress(c, s, n)
	}
	c.nics.Put(n.key(), n)
	return n
}

// seedAddress creates a public address for an interface. The address is not deleted with the interface.
func seedAddress(c *Cloud, s Seed, n *nic) {
	t, first := s.target("Microsoft.Network", "publicIPAddresses", s.Address), n.model.Properties.IPConfigurations[0]
	a := &address{target: t, user: deref(first.ID), created: c.clock.Now(), model: network.PublicIPAddress{
		ID: to.Ptr(t.id()), Name: to.Ptr(s.Address), Location: to.Ptr(s.Location), Tags: pointers(s.Tags),
		Properties: &network.PublicIPAddressPropertiesFormat{IPAddress: to.Ptr("203.0.113.250")},
	}}
	first.Properties.PublicIPAddress = &network.PublicIPAddress{ID: to.Ptr(t.id())}
	c.addresses.Put(a.key(), a)
}

func pointers(tags map[string]string) map[string]*string {
	out := make(map[string]*string, len(tags))
	for key, value := range tags {
		out[key] = to.Ptr(value)
	}
	return out
}

// Read returns the request for the resource with an ID as JSON in the API's words, with write-only fields;
// nil if there is no such resource.
func (c *Cloud) Read(id string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	key := strings.ToLower(id)
	if m, ok := c.vms.Get(key); ok {
		return m.model
	}
	if n, ok := c.nics.Get(key); ok {
		return n.model
	}
	if d, ok := c.disks.Get(key); ok {
		return d.model
	}
	if a, ok := c.addresses.Get(key); ok {
		return a.model
	}
	if s, ok := c.sets.Get(key); ok {
		return s.model
	}
	return nil
}
