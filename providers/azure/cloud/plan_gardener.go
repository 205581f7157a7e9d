package cloud

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

var gardenerFields = fields{
	fieldSize: "properties.hardwareProfile.vmSize", fieldZone: "properties.zone", fieldImage: "properties.storageProfile.imageReference", fieldSubnet: "subnetInfo",
	fieldGroup: "resourceGroup", fieldLocation: "location", fieldTags: "tags", fieldIdentity: "properties.identityID", fieldPlace: "properties.availabilitySet",
	fieldReservation: "properties.capacityReservation", fieldDisk: "properties.storageProfile", fieldKey: "properties.osProfile.linuxConfiguration.ssh.publicKeys.keyData",
}

// gardener creates machines from an AzureProviderSpec.
type gardener struct {
	*spec.Gardener
	key string
}

func planGardener(s *session) error {
	g, err := s.provider.gardener.Get(s.class.API, s.class.Spec)
	if err != nil {
		return err
	}
	if err := checkTags("tags", g.Tags); err != nil {
		return err
	}
	if g.CloudConfiguration != nil {
		s.where.cloud = g.CloudConfiguration.Name
	}
	zone := ""
	if g.Properties.Zone != nil {
		zone = strconv.Itoa(*g.Properties.Zone)
	}
	m := &gardener{Gardener: g, key: given(g.Properties.OSProfile.LinuxConfiguration.SSH.PublicKeys.KeyData)}
	tags := map[string]string{}
	for k, v := range g.Tags {
		tags[k] = v
	}
	s.group = g.ResourceGroup
	s.plan = &plan{
		location: g.Location, group: g.ResourceGroup, tags: tags, names: gardenerNames, fields: gardenerFields, network: m.networking(), disks: m.dataDisks(),
		choices: choicesOf(zone, g.Properties.HardwareProfile.VMSize, g.Choices), machine: m.machine, check: m.check,
	}
	if i := g.Properties.StorageProfile.ImageReference; !spec.Blank(deref(i.URN)) && !i.SkipMarketplaceAgreement {
		s.plan.urn = *i.URN
	}
	s.ours.keys = append(g.Owners(spec.GardenerClusterPrefix), g.Owners(spec.GardenerRolePrefix)...)
	for _, key := range g.Owners(spec.GardenerClusterPrefix) {
		s.ours.clusters = append(s.ours.clusters, strings.TrimPrefix(key, spec.GardenerClusterPrefix))
	}
	return nil
}

func (g *gardener) networking() networking {
	group := g.ResourceGroup
	if other := deref(g.SubnetInfo.VnetResourceGroup); !spec.Blank(other) {
		group = other
	}
	return networking{
		group: group, vnet: g.SubnetInfo.VnetName, subnet: g.SubnetInfo.SubnetName, accelerated: g.Properties.NetworkProfile.AcceleratedNetworking,
		forwarding: to.Ptr(true),
	}
}

func (g *gardener) dataDisks() (all []dataDisk) {
	for _, d := range g.Properties.StorageProfile.DataDisks {
		caching := d.Caching
		if spec.Blank(caching) {
			caching = string(compute.CachingTypesNone)
		}
		all = append(all, dataDisk{name: d.Name, lun: d.Lun, size: d.DiskSizeGB, kind: d.StorageAccountType, caching: caching, image: d.ImageRef})
	}
	return all
}

func (*gardener) check(machine string) error {
	if len(machine) > mostComputerName {
		return provider.Errorf(provider.Invalid, "the name %q has more than the %d characters that Azure lets a computer have", machine, mostComputerName)
	}
	return nil
}

func (g *gardener) machine(b vmInput) *compute.VirtualMachine {
	p := g.Properties
	vm := &compute.VirtualMachine{
		Tags: b.tags, Zones: zones(b.choice.zone), Plan: b.plan,
		Properties: &compute.VirtualMachineProperties{
			HardwareProfile: &compute.HardwareProfile{VMSize: to.Ptr(compute.VirtualMachineSizeTypes(b.choice.size))},
			StorageProfile: &compute.StorageProfile{
				ImageReference: imageReference(p.StorageProfile.ImageReference), OSDisk: g.osDisk(b), DataDisks: dataDisks(g.dataDisks(), gardenerNames, b),
				DiskControllerType: optional[compute.DiskControllerTypes](deref(p.StorageProfile.DiskControllerType)),
			},
			OSProfile: &compute.OSProfile{
				ComputerName: to.Ptr(b.name), AdminUsername: to.Ptr(p.OSProfile.AdminUsername), CustomData: encoded(b.userData),
				LinuxConfiguration: &compute.LinuxConfiguration{
					DisablePasswordAuthentication: to.Ptr(p.OSProfile.LinuxConfiguration.DisablePasswordAuthentication),
					SSH: &compute.SSHConfiguration{PublicKeys: []*compute.SSHPublicKey{{
						Path: to.Ptr(cmp.Or(p.OSProfile.LinuxConfiguration.SSH.PublicKeys.Path, authorizedKeys(p.OSProfile.AdminUsername))), KeyData: to.Ptr(cmp.Or(g.key, b.key)),
					}}},
				},
			},
			NetworkProfile:  networkProfile(b),
			SecurityProfile: g.security(),
		},
	}
	if p.AvailabilitySet != nil {
		vm.Properties.AvailabilitySet = reference(p.AvailabilitySet.ID)
	}
	if p.VirtualMachineScaleSet != nil {
		vm.Properties.VirtualMachineScaleSet = reference(p.VirtualMachineScaleSet.ID)
	}
	if id := deref(p.IdentityID); id != "" {
		vm.Identity = &compute.VirtualMachineIdentity{Type: to.Ptr(compute.ResourceIdentityTypeUserAssigned), UserAssignedIdentities: map[string]*compute.UserAssignedIdentitiesValue{id: {}}}
	}
	if d := p.DiagnosticsProfile; d != nil {
		vm.Properties.DiagnosticsProfile = &compute.DiagnosticsProfile{BootDiagnostics: &compute.BootDiagnostics{Enabled: to.Ptr(d.Enabled), StorageURI: d.StorageURI}}
	}
	if r := p.CapacityReservation; r != nil && deref(r.CapacityReservationGroupID) != "" {
		vm.Properties.CapacityReservation = &compute.CapacityReservationProfile{CapacityReservationGroup: reference(*r.CapacityReservationGroupID)}
	}
	return vm
}

// authorizedKeys is the only path at which Azure accepts keys.
func authorizedKeys(user string) string { return "/home/" + user + "/.ssh/authorized_keys" }

func (g *gardener) osDisk(b vmInput) *compute.OSDisk {
	d := g.Properties.StorageProfile.OSDisk
	managed := &compute.ManagedDiskParameters{StorageAccountType: optional[compute.StorageAccountTypes](d.ManagedDisk.StorageAccountType)}
	if s := d.ManagedDisk.SecurityProfile; s != nil && deref(s.SecurityEncryptionType) != "" {
		managed.SecurityProfile = &compute.VMDiskSecurityProfile{SecurityEncryptionType: to.Ptr(compute.SecurityEncryptionTypes(*s.SecurityEncryptionType))}
	}
	return &compute.OSDisk{
		Name: to.Ptr(b.name + gardenerNames.osDisk), CreateOption: to.Ptr(compute.DiskCreateOptionTypes(d.CreateOption)), DeleteOption: to.Ptr(compute.DiskDeleteOptionTypesDelete),
		Caching: optional[compute.CachingTypes](d.Caching), DiskSizeGB: to.Ptr(d.DiskSizeGB), ManagedDisk: managed,
	}
}

func (g *gardener) security() *compute.SecurityProfile {
	s := g.Properties.SecurityProfile
	if s == nil {
		return nil
	}
	out := &compute.SecurityProfile{SecurityType: optional[compute.SecurityTypes](deref(s.SecurityType))}
	if s.UEFISettings != nil {
		out.UefiSettings = &compute.UefiSettings{SecureBootEnabled: s.UEFISettings.SecureBootEnabled, VTpmEnabled: s.UEFISettings.VTpmEnabled}
	}
	return out
}

// imageReference names an image to boot from.
func imageReference(i spec.GardenerImage) *compute.ImageReference {
	switch {
	case !spec.Blank(i.ID):
		return &compute.ImageReference{ID: to.Ptr(i.ID)}
	case !spec.Blank(deref(i.CommunityGalleryImageID)):
		return &compute.ImageReference{CommunityGalleryImageID: i.CommunityGalleryImageID}
	case !spec.Blank(deref(i.SharedGalleryImageID)):
		return &compute.ImageReference{SharedGalleryImageID: i.SharedGalleryImageID}
	}
	u := strings.Split(deref(i.URN), ":") // four parts, or the spec was refused
	return &compute.ImageReference{Publisher: to.Ptr(u[0]), Offer: to.Ptr(u[1]), SKU: to.Ptr(u[2]), Version: to.Ptr(u[3])}
}
