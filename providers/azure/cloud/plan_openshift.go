package cloud

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

var openshiftFields = fields{
	fieldSize: "vmSize", fieldZone: "zone", fieldImage: "image", fieldSubnet: "subnet", fieldGroup: "resourceGroup", fieldLocation: "location", fieldTags: "tags",
	fieldSecurityGroup: "securityGroup", fieldAppGroup: "applicationSecurityGroups", fieldLoadBalancer: "publicLoadBalancer", fieldIdentity: "managedIdentity", fieldReservation: "capacityReservationGroupID",
	fieldPlace: "availabilitySet", fieldDisk: "osDisk", fieldKey: "sshPublicKey", fieldEncryption: "osDisk.managedDisk.diskEncryptionSet",
}

// administrator is the name of the user that the original creates.
const administrator = "capi"

// openshift creates machines from an AzureMachineProviderSpec.
type openshift struct {
	*spec.OpenShift
	subscription, group, key string
	password                 func() string
}

func planOpenShift(s *session) error {
	o, err := s.provider.openshift.Get(s.class.API, s.class.Spec)
	if err != nil {
		return err
	}
	group, location := o.ResourceGroup, o.Location
	if group == "" {
		group = s.group
	}
	if location == "" {
		location = s.creds.region
	}
	switch {
	case group == "":
		return provider.InvalidField("resourceGroup", "name the resource group: neither the credentials (azure_resourcegroup) nor the Infrastructure do")
	case location == "":
		return provider.InvalidField("location", "name the location: the credentials do not (azure_region)")
	}
	key, err := base64.StdEncoding.DecodeString(o.SSHPublicKey)
	if err != nil {
		return provider.InvalidField("sshPublicKey", "is no base64: %v", err)
	}
	tags := map[string]string{}
	for k, v := range merged(s.where.tags, o.Tags) {
		tags[k] = *v
	}
	if _, _, twice := twins(o.Tags); twice {
		tags = o.Tags // the check reports them
	}
	if err := checkTags("tags", tags); err != nil {
		return err
	}
	tags[openshiftCluster+s.class.Cluster] = "owned"
	m := &openshift{OpenShift: o, subscription: s.creds.subscription, group: group, key: given(string(key)), password: randomPassword}
	s.group = group
	s.plan = &plan{
		location: location, group: group, tags: tags, names: openshiftNames, fields: openshiftFields, network: m.networking(s), disks: m.dataDisks(),
		choices: choicesOf(o.Zone, o.VMSize, o.Choices), spot: o.SpotVMOptions != nil, machine: m.machine, check: m.check,
	}
	if o.AvailabilitySet == "" && o.SpotVMOptions == nil {
		s.plan.setFor = func(machine string) string {
			set := setOf(machine)
			if set == "" {
				return ""
			}
			return availabilitySetName(s.class.Cluster, set)
		}
	}
	return checkKept(s.plan.disks)
}

func (o *openshift) networking(s *session) networking {
	group := o.NetworkResourceGroup
	if group == "" {
		group = s.creds.group
	}
	if group == "" {
		group = s.where.group
	}
	if group == "" {
		group = o.group
	}
	n := networking{
		group: group, vnet: o.Vnet, subnet: o.Subnet, configuration: "pipConfig", public: o.PublicIP, securityGroup: o.SecurityGroup,
		appGroups: o.ApplicationSecurityGroups, publicBalancer: o.PublicLoadBalancer, internalBalancer: o.InternalLoadBalancer,
	}
	if o.AcceleratedNetworking {
		n.accelerated = to.Ptr(true)
	}
	if o.PublicLoadBalancer != "" {
		n.natRule = o.NatRule
	}
	return n
}

func (o *openshift) dataDisks() (all []dataDisk) {
	for _, d := range o.DataDisks {
		disk := dataDisk{
			name: d.NameSuffix, lun: d.Lun, size: d.DiskSizeGB, kind: string(d.ManagedDisk.StorageAccountType), caching: string(d.CachingType),
			keep: d.DeletionPolicy == machinev1beta1.DiskDeletionPolicyTypeDetach,
		}
		if d.ManagedDisk.DiskEncryptionSet != nil {
			disk.encryption = d.ManagedDisk.DiskEncryptionSet.ID
		}
		all = append(all, disk)
	}
	return all
}

// Bounds of names, in characters.
const (
	mostComputerName = 64
	mostWindowsName  = 15
	mostDiskName     = 80
	mostAddressName  = 63
)

func (o *openshift) windows() bool {
	return strings.EqualFold(o.OSDisk.OSType, string(compute.OperatingSystemTypesWindows))
}

func (o *openshift) check(machine string) error {
	switch {
	case o.windows() && len(machine) > mostWindowsName:
		return provider.InvalidField("osDisk.osType", "the name %q has more than the %d characters that Windows lets a computer have", machine, mostWindowsName)
	case len(machine) > mostComputerName:
		return provider.Errorf(provider.Invalid, "the name %q has more than the %d characters that Azure lets a computer have", machine, mostComputerName)
	}
	for i, d := range o.DataDisks {
		if name := openshiftNames.disk(machine, d.NameSuffix, 0); len(name) > mostDiskName {
			return provider.InvalidField(fmt.Sprintf("dataDisks[%d].nameSuffix", i), "the name %q has more than %d characters", name, mostDiskName)
		}
	}
	return nil
}

// machine is the original's virtual machine, without the password of Linux machines, which is not needed.
func (o *openshift) machine(b vmInput) *compute.VirtualMachine {
	vm := &compute.VirtualMachine{
		Tags: b.tags, Zones: zones(b.choice.zone), Plan: o.purchasePlan(),
		Properties: &compute.VirtualMachineProperties{
			HardwareProfile: &compute.HardwareProfile{VMSize: to.Ptr(compute.VirtualMachineSizeTypes(b.choice.size))},
			StorageProfile: &compute.StorageProfile{
				ImageReference: o.image(), OSDisk: o.osDisk(b), DataDisks: dataDisks(o.dataDisks(), openshiftNames, b),
			},
			OSProfile:              o.os(b),
			NetworkProfile:         networkProfile(b),
			SecurityProfile:        o.security(),
			DiagnosticsProfile:     o.diagnostics(),
			AdditionalCapabilities: o.capabilities(),
			AvailabilitySet:        reference(b.set),
		},
	}
	if o.AvailabilitySet != "" {
		vm.Properties.AvailabilitySet = reference(formatID(o.subscription, o.group, "Microsoft.Compute", "availabilitySets", o.AvailabilitySet))
	}
	if o.ManagedIdentity != "" {
		id := o.ManagedIdentity
		if !strings.HasPrefix(strings.ToLower(id), "/subscriptions/") {
			id = formatID(o.subscription, o.group, "Microsoft.ManagedIdentity", "userAssignedIdentities", id)
		}
		vm.Identity = &compute.VirtualMachineIdentity{Type: to.Ptr(compute.ResourceIdentityTypeUserAssigned), UserAssignedIdentities: map[string]*compute.UserAssignedIdentitiesValue{id: {}}}
	}
	if id := strings.TrimPrefix(o.CapacityReservationGroupID, "azure://"); id != "" {
		vm.Properties.CapacityReservation = &compute.CapacityReservationProfile{CapacityReservationGroup: reference(id)}
	}
	if s := o.SpotVMOptions; s != nil {
		vm.Properties.Priority, vm.Properties.EvictionPolicy = to.Ptr(compute.VirtualMachinePriorityTypesSpot), to.Ptr(compute.VirtualMachineEvictionPolicyTypesDelete)
		if s.MaxPrice != nil {
			vm.Properties.BillingProfile = &compute.BillingProfile{MaxPrice: to.Ptr(s.MaxPrice.AsApproximateFloat64())}
		}
	}
	return vm
}

func (o *openshift) image() *compute.ImageReference {
	if id := o.Image.ResourceID; id != "" {
		if !strings.HasPrefix(strings.ToLower(id), "/subscriptions/") {
			id = "/subscriptions/" + o.subscription + id
		}
		return &compute.ImageReference{ID: to.Ptr(id)}
	}
	return &compute.ImageReference{Publisher: to.Ptr(o.Image.Publisher), Offer: to.Ptr(o.Image.Offer), SKU: to.Ptr(o.Image.SKU), Version: to.Ptr(o.Image.Version)}
}

func (o *openshift) purchasePlan() *compute.Plan {
	i := o.Image
	if i.Type == "" || i.Type == machinev1beta1.AzureImageTypeMarketplaceNoPlan || i.Publisher == "" || i.Offer == "" || i.SKU == "" {
		return nil
	}
	return &compute.Plan{Publisher: to.Ptr(i.Publisher), Product: to.Ptr(i.Offer), Name: to.Ptr(i.SKU)}
}

func (o *openshift) osDisk(b vmInput) *compute.OSDisk {
	managed := &compute.ManagedDiskParameters{StorageAccountType: optional[compute.StorageAccountTypes](o.OSDisk.ManagedDisk.StorageAccountType)}
	if e := o.OSDisk.ManagedDisk.DiskEncryptionSet; e != nil && e.ID != "" {
		managed.DiskEncryptionSet = &compute.DiskEncryptionSetParameters{ID: to.Ptr(e.ID)}
	}
	if s := o.OSDisk.ManagedDisk.SecurityProfile; s.SecurityEncryptionType != "" {
		managed.SecurityProfile = &compute.VMDiskSecurityProfile{SecurityEncryptionType: to.Ptr(compute.SecurityEncryptionTypes(s.SecurityEncryptionType))}
		if s.DiskEncryptionSet.ID != "" {
			managed.SecurityProfile.DiskEncryptionSet = &compute.DiskEncryptionSetParameters{ID: to.Ptr(s.DiskEncryptionSet.ID)}
		}
	}
	disk := &compute.OSDisk{
		Name: to.Ptr(b.name + openshiftNames.osDisk), CreateOption: to.Ptr(compute.DiskCreateOptionTypesFromImage), DeleteOption: to.Ptr(compute.DiskDeleteOptionTypesDelete),
		OSType: optional[compute.OperatingSystemTypes](o.OSDisk.OSType), Caching: optional[compute.CachingTypes](o.OSDisk.CachingType), ManagedDisk: managed,
	}
	if o.OSDisk.DiskSizeGB > 0 {
		disk.DiskSizeGB = to.Ptr(o.OSDisk.DiskSizeGB)
	}
	if o.OSDisk.DiskSettings.EphemeralStorageLocation == string(compute.DiffDiskOptionsLocal) {
		disk.DiffDiskSettings = &compute.DiffDiskSettings{Option: to.Ptr(compute.DiffDiskOptionsLocal)}
	}
	return disk
}

func (o *openshift) os(b vmInput) *compute.OSProfile {
	os := &compute.OSProfile{ComputerName: to.Ptr(b.name), AdminUsername: to.Ptr(administrator), CustomData: encoded(b.userData)}
	if o.windows() {
		password := o.password()
		os.AdminPassword = to.Ptr(password)
		os.WindowsConfiguration = windowsSetup(password)
		return os
	}
	os.LinuxConfiguration = &compute.LinuxConfiguration{
		DisablePasswordAuthentication: to.Ptr(true),
		SSH:                           &compute.SSHConfiguration{PublicKeys: []*compute.SSHPublicKey{{Path: to.Ptr(authorizedKeys(administrator)), KeyData: to.Ptr(cmp.Or(o.key, b.key))}}},
	}
	return os
}

// windowsSetup logs the administrator in once, to run the user data: https://learn.microsoft.com/windows-hardware/customize/desktop/unattend
func windowsSetup(password string) *compute.WindowsConfiguration {
	part := func(setting compute.SettingNames, content string) *compute.AdditionalUnattendContent {
		return &compute.AdditionalUnattendContent{
			PassName: to.Ptr("OobeSystem"), ComponentName: to.Ptr("Microsoft-Windows-Shell-Setup"), SettingName: to.Ptr(setting), Content: to.Ptr(content),
		}
	}
	command := func(order int, what, line string) string {
		return fmt.Sprintf("<SynchronousCommand><Order>%d</Order><Description>%s</Description><CommandLine>%s</CommandLine></SynchronousCommand>", order, what, line)
	}
	return &compute.WindowsConfiguration{EnableAutomaticUpdates: to.Ptr(false), AdditionalUnattendContent: []*compute.AdditionalUnattendContent{
		part(compute.SettingNamesAutoLogon, "<AutoLogon><Enabled>true</Enabled><LogonCount>1</LogonCount><Username>"+administrator+"</Username><Password><Value>"+password+"</Value></Password></AutoLogon>"),
		part(compute.SettingNamesFirstLogonCommands, "<FirstLogonCommands>"+
			command(11, "Keep the user data as a script", `cmd /c "copy C:\AzureData\CustomData.bin C:\init.ps1"`)+
			command(12, "Run it", `powershell.exe -NonInteractive -ExecutionPolicy Bypass -File C:\init.ps1`)+"</FirstLogonCommands>"),
	}}
}

// randomPassword has capitals, small letters and digits for sure, as Azure demands.
func randomPassword() string { return "aA1-" + rand.Text() }

// security is the original's security profile: a machine is confidential if its OS disk is encrypted as
// one, and trusted if that enables a setting, and neither otherwise.
func (o *openshift) security() *compute.SecurityProfile {
	p := o.SecurityProfile
	if p == nil {
		return nil
	}
	out := &compute.SecurityProfile{EncryptionAtHost: p.EncryptionAtHost}
	uefi := func(kind compute.SecurityTypes, s machinev1beta1.UEFISettings) {
		out.SecurityType = to.Ptr(kind)
		out.UefiSettings = &compute.UefiSettings{
			SecureBootEnabled: to.Ptr(s.SecureBoot == machinev1beta1.SecureBootPolicyEnabled),
			VTpmEnabled:       to.Ptr(s.VirtualizedTrustedPlatformModule == machinev1beta1.VirtualizedTrustedPlatformModulePolicyEnabled),
		}
	}
	switch {
	case o.OSDisk.ManagedDisk.SecurityProfile.SecurityEncryptionType != "" && p.Settings.ConfidentialVM != nil:
		uefi(compute.SecurityTypesConfidentialVM, p.Settings.ConfidentialVM.UEFISettings)
	case o.LaunchesTrusted():
		uefi(compute.SecurityTypesTrustedLaunch, p.Settings.TrustedLaunch.UEFISettings)
	}
	return out
}

func (o *openshift) diagnostics() *compute.DiagnosticsProfile {
	boot := o.Diagnostics.Boot
	if boot == nil {
		return nil
	}
	out := &compute.BootDiagnostics{Enabled: to.Ptr(true)}
	if boot.CustomerManaged != nil && boot.StorageAccountType == machinev1beta1.CustomerManagedAzureDiagnosticsStorage {
		out.StorageURI = to.Ptr(boot.CustomerManaged.StorageAccountURI)
	}
	return &compute.DiagnosticsProfile{BootDiagnostics: out}
}

// capabilities enable ultra disks if a data disk is one, unless the spec says otherwise.
func (o *openshift) capabilities() *compute.AdditionalCapabilities {
	switch o.UltraSSDCapability {
	case machinev1beta1.AzureUltraSSDCapabilityEnabled:
		return &compute.AdditionalCapabilities{UltraSSDEnabled: to.Ptr(true)}
	case machinev1beta1.AzureUltraSSDCapabilityDisabled:
		return &compute.AdditionalCapabilities{UltraSSDEnabled: to.Ptr(false)}
	}
	for _, d := range o.DataDisks {
		if d.ManagedDisk.StorageAccountType == machinev1beta1.StorageAccountUltraSSDLRS {
			return &compute.AdditionalCapabilities{UltraSSDEnabled: to.Ptr(true)}
		}
	}
	return nil
}
