package arm

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// judge validates requests as Azure does.
type judge struct{ *call }

// all refuses what Azure refuses before it accepts a machine. vm is the request.
func (c judge) all(m *machine, vm *compute.VirtualMachine) *apiError {
	for _, check := range []func(*machine, *compute.VirtualMachine) *apiError{
		c.tags, c.place, c.os, c.image, c.references, c.interfaces, c.diskFaults, c.quota,
	} {
		if err := check(m, vm); err != nil {
			return err
		}
	}
	return nil
}

func (c judge) tags(_ *machine, vm *compute.VirtualMachine) *apiError { return tagFault(vm.Tags) }

// Limits of tags:
// https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations
const (
	mostTags  = 50
	mostKey   = 512
	mostValue = 256
)

func tagFault(tags map[string]*string) *apiError {
	if len(tags) > mostTags {
		return refuse(http.StatusBadRequest, "TagCountLimitExceeded", "The resource has %d tags. The maximum number of tags allowed is %d.", len(tags), mostTags)
	}
	seen := map[string]bool{}
	for key, value := range tags {
		switch folded := strings.ToLower(key); {
		case key == "" || len(key) > mostKey || strings.ContainsAny(key, `<>%&\?/`):
			return refuse(http.StatusBadRequest, "InvalidTagNameCharacters", "The tag name '%s' has reserved characters '<,>,%%,&,\\,?,/' or control characters.", key)
		case seen[folded]:
			return refuse(http.StatusBadRequest, "InvalidTagNames", "The tag names '%s' are not unique: they are of either case.", key)
		case len(deref(value)) > mostValue:
			return refuse(http.StatusBadRequest, "InvalidTagValueLength", "Tag value too large. Following tag value '%s' exceeded the maximum length.", deref(value))
		default:
			seen[folded] = true
		}
	}
	return nil
}

func (c judge) place(_ *machine, vm *compute.VirtualMachine) *apiError {
	location, ok := c.Inventory.location(deref(vm.Location))
	if !ok && !c.AcceptAny || deref(vm.Location) == "" {
		return refuse(http.StatusBadRequest, "LocationNotAvailableForResourceType", "The provided location '%s' is not available for resource type 'Microsoft.Compute/virtualMachines'.", deref(vm.Location))
	}
	name := sizeName(vm)
	size, known := c.sizeNamed(name)
	if !known {
		return refuse(http.StatusBadRequest, "InvalidParameter", "The value %s provided for the VM size is not valid. The valid sizes in the current region are: %s.", name, c.sizeNames()).about("vmSize")
	}
	if len(vm.Zones) > 1 {
		return refuse(http.StatusBadRequest, "InvalidParameter", "A virtual machine is in one zone.").about("zones")
	}
	if len(vm.Zones) == 1 && ok && !c.AcceptAny && !slices.Contains(location.Zones, *vm.Zones[0]) {
		return refuse(http.StatusBadRequest, "InvalidAvailabilityZone", "The zone(s) '%s' for resource 'Microsoft.Compute/virtualMachines/%s' is not supported. The supported zones for location '%s' are '%s'",
			*vm.Zones[0], c.name, location.Name, strings.Join(location.Zones, ","))
	}
	if len(vm.Zones) == 1 && len(size.Zones) > 0 && !c.AcceptAny && !slices.Contains(size.Zones, *vm.Zones[0]) {
		return refuse(http.StatusConflict, "SkuNotAvailable", "The requested size for resource '%s' is currently not available in location '%s' zones '%s' for subscription '%s'. "+
			"Please try another size or deploy to a different location or zones. See https://aka.ms/azureskunotavailable for details.", c.id(), location.Name, *vm.Zones[0], c.subscription)
	}
	if len(vm.Zones) == 1 && vm.Properties.AvailabilitySet != nil {
		return refuse(http.StatusBadRequest, "InvalidParameter", "A virtual machine cannot be in an availability set and in a zone.").about("availabilitySet")
	}
	return nil
}

func sizeName(vm *compute.VirtualMachine) string {
	if vm.Properties == nil || vm.Properties.HardwareProfile == nil {
		return ""
	}
	return string(deref(vm.Properties.HardwareProfile.VMSize))
}

func (c judge) sizeNames() string {
	var all []string
	for _, s := range c.Inventory.Sizes {
		all = append(all, s.Name)
	}
	return strings.Join(all, ",")
}

// mostCustomData is the maximum length in base64: 64 KiB of data.
const mostCustomData = 87380

func (c judge) os(m *machine, _ *compute.VirtualMachine) *apiError {
	invalid := func(target, text string) *apiError {
		return refuse(http.StatusBadRequest, "InvalidParameter", "%s", text).about(target)
	}
	profile := m.model.Properties.OSProfile
	if profile == nil {
		return invalid("osProfile", "Required parameter 'osProfile' is missing (null).")
	}
	windows := deref(m.model.Properties.StorageProfile.OSDisk.OSType) == compute.OperatingSystemTypesWindows
	name := deref(profile.ComputerName)
	switch {
	case windows && len(name) > 15:
		return invalid("computerName", "Windows computer name cannot be more than 15 characters long, be entirely numeric, or contain the following characters: ` ~ ! @ # $ % ^ & * ( ) = + _ [ ] { } \\ | ; : . ' \" , < > / ?.")
	case name == "" || len(name) > 64:
		return invalid("computerName", "Linux host name cannot exceed 64 characters in length or contain the following characters: ` ~ ! @ # $ % ^ & * ( ) = + _ [ ] { } \\ | ; : ' \" , < > / ?.")
	case deref(profile.AdminUsername) == "":
		return invalid("adminUsername", "Required parameter 'osProfile.adminUsername' is missing (null).")
	case len(deref(profile.CustomData)) > mostCustomData:
		return invalid("customData", "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 characters.")
	}
	if _, err := base64.StdEncoding.DecodeString(deref(profile.CustomData)); err != nil {
		return invalid("customData", "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 characters.")
	}
	keys := profile.LinuxConfiguration != nil && profile.LinuxConfiguration.SSH != nil && len(profile.LinuxConfiguration.SSH.PublicKeys) > 0
	if keys {
		if key := deref(profile.LinuxConfiguration.SSH.PublicKeys[0].KeyData); !strings.HasPrefix(key, "ssh-") {
			return invalid("linuxConfiguration.ssh.publicKeys.keyData", "The value of parameter linuxConfiguration.ssh.publicKeys.keyData is invalid.")
		}
	}
	if !windows && !keys && deref(profile.AdminPassword) == "" {
		return invalid("linuxConfiguration", "Authentication using either SSH or by user name and password must be enabled in Linux profile.")
	}
	if n := len(deref(profile.AdminPassword)); profile.AdminPassword != nil && (n < 12 || n > 72) {
		return invalid("adminPassword", "The supplied password must be between 12-72 characters long and must satisfy at least 3 of password complexity requirements.")
	}
	return nil
}

func (c judge) image(m *machine, vm *compute.VirtualMachine) *apiError {
	ref := m.model.Properties.StorageProfile.ImageReference
	if ref == nil || c.AcceptAny {
		return nil
	}
	name, id := imageName(ref)
	n := c.Inventory.image(name)
	switch {
	case n < 0 && id:
		return refuse(http.StatusNotFound, "GalleryImageNotFound", "The gallery image %s is not available in %s region. Please contact image owner to replicate to this region, or change your requested region.", name, deref(vm.Location)).about("imageReference")
	case n < 0:
		return refuse(http.StatusNotFound, "PlatformImageNotFound", "The platform image '%s' is not available. Verify that all fields in the storage profile are correct. For more details about storage profile information, please refer to https://aka.ms/storageprofile.", name).about("imageReference")
	case !c.Inventory.Images[n].Plan:
		return nil
	case vm.Plan == nil || deref(vm.Plan.Name) == "":
		return refuse(http.StatusBadRequest, "VMMarketplaceInvalidInput", "Creating a virtual machine from Marketplace image or a custom image sourced from a Marketplace image requires Plan information in the request. VM: '%s'.", m.id())
	case !c.Inventory.Images[n].Accepted && !c.terms[strings.ToLower(planOf(name))]:
		return refuse(http.StatusBadRequest, "ResourcePurchaseValidationFailed", "User failed validation to purchase resources. Error message: 'You have not accepted the legal terms on this subscription: '%s' for this plan. "+
			"Before the subscription can be used, you need to accept the legal terms of the image.'", c.subscription)
	}
	return nil
}

// imageName is the name of an image in the inventory, and whether it is an ID.
func imageName(ref *compute.ImageReference) (name string, id bool) {
	for _, given := range []*string{ref.ID, ref.CommunityGalleryImageID, ref.SharedGalleryImageID} {
		if deref(given) != "" {
			return *given, true
		}
	}
	return strings.Join([]string{deref(ref.Publisher), deref(ref.Offer), deref(ref.SKU), deref(ref.Version)}, ":"), false
}

// references refuses references to missing resources.
func (c judge) references(m *machine, vm *compute.VirtualMachine) *apiError {
	p := m.model.Properties
	var ids []string
	for _, ref := range []*compute.SubResource{p.AvailabilitySet, p.VirtualMachineScaleSet} {
		if ref != nil {
			ids = append(ids, deref(ref.ID))
		}
	}
	if p.CapacityReservation != nil && p.CapacityReservation.CapacityReservationGroup != nil {
		group := deref(p.CapacityReservation.CapacityReservationGroup.ID)
		if err := c.account.join("Microsoft.Compute/capacityReservationGroups/deploy/action", c.account.ClientID, group); err != nil {
			return err
		}
		ids = append(ids, group)
	}
	if vm.Identity != nil {
		for id := range vm.Identity.UserAssignedIdentities {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if !c.there(id) {
			return refuse(http.StatusNotFound, "ResourceNotFound", "The Resource '%s' was not found.", withoutSubscription(id))
		}
	}
	return nil
}

// there reports whether the inventory has the ID, or an availability set with it was created.
func (c judge) there(id string) bool {
	if _, ok := c.sets.Get(strings.ToLower(id)); ok || c.AcceptAny {
		return true
	}
	return slices.ContainsFunc(c.Inventory.Others, func(o string) bool { return strings.EqualFold(withoutSubscription(o), withoutSubscription(id)) })
}

func (c judge) interfaces(m *machine, _ *compute.VirtualMachine) *apiError {
	if len(m.nics()) == 0 {
		return refuse(http.StatusBadRequest, "InvalidParameter", "Virtual Machine must have at least one network interface.").about("networkProfile")
	}
	size, _ := c.sizeNamed(sizeName(&m.model))
	for _, ref := range m.nics() {
		n, ok := c.nics.Get(strings.ToLower(deref(ref.ID)))
		switch {
		case !ok:
			return refuse(http.StatusNotFound, "NotFound", "Resource %s referenced by resource %s was not found.", deref(ref.ID), m.id())
		case n.vm != "" && !strings.EqualFold(n.vm, m.id()):
			return refuse(http.StatusBadRequest, "NicInUse", "Network Interface %s is used by existing resource %s. In order to delete the network interface, it must be dissociated from the resource.", n.id(), n.vm)
		case n.updating(c.clock.Now()):
			return notProvisioned(n.id(), m.id())
		case size.Plain && n.model.Properties != nil && deref(n.model.Properties.EnableAcceleratedNetworking):
			return refuse(http.StatusBadRequest, "VMSizeIsNotPermittedToEnableAcceleratedNetworking", "The VM size %s is not allowed for AcceleratedNetworking on VM %s.", size.Name, m.id())
		}
		if err := c.account.join("Microsoft.Network/networkInterfaces/join/action", c.account.ClientID, n.id()); err != nil {
			return err
		}
	}
	return nil
}

// notProvisioned is the error about a reference to a resource that is still being created.
func notProvisioned(id, user string) *apiError {
	e := refuse(http.StatusTooManyRequests, "RetryableError", "A retryable error occurred.")
	e.details = []apiError{*refuse(0, "ReferencedResourceNotProvisioned", "Cannot proceed with operation because resource %s used by resource %s is not in Succeeded state. "+
		"Resource is in Updating state and the last operation that updated/is updating the resource is PutNicOperation.", id, user)}
	return e
}

func (c judge) diskFaults(m *machine, _ *compute.VirtualMachine) *apiError {
	for _, a := range m.attached() {
		d, ok := c.disks.Get(m.diskKey(a.name))
		switch {
		case a.existing && !ok:
			return refuse(http.StatusNotFound, "NotFound", "Disk %s is not found.", a.name)
		case a.existing && c.clock.Now().Before(d.ready):
			return refuse(http.StatusConflict, "Conflict", "Disk %s is being created: it cannot be attached yet.", a.name)
		case a.existing && d.vm != "":
			return refuse(http.StatusConflict, "AttachDiskWhileBeingDetached", "Cannot attach data disk '%s' to VM '%s' because the disk is attached to VM '%s'.", a.name, m.name, d.vm)
		case !a.existing && ok:
			return refuse(http.StatusConflict, "ConflictingUserInput", "Disk %s already exists in resource group %s. Only CreateOption.Attach is supported.", strings.ToUpper(a.name), strings.ToUpper(m.group)).about("/subscriptions/" + m.subscription + "/disks")
		case a.existing && len(m.model.Zones) > 0 && (len(d.model.Zones) == 0 || deref(d.model.Zones[0]) != deref(m.model.Zones[0])):
			return refuse(http.StatusBadRequest, "BadRequest", "Disk %s cannot be attached to the VM because it is not in the same zone as the VM.", a.name)
		}
	}
	return nil
}

func (c judge) quota(m *machine, _ *compute.VirtualMachine) *apiError {
	size, _ := c.sizeNamed(sizeName(&m.model))
	var cores, family int64
	for _, o := range c.vms.All() {
		s, _ := c.sizeNamed(sizeName(&o.model))
		if o.subscription != m.subscription || deref(o.model.Location) != deref(m.model.Location) {
			continue
		}
		cores += s.VCPUs
		if s.Family == size.Family {
			family += s.VCPUs
		}
	}
	q := c.Inventory.Quotas
	if q.Cores > 0 && cores+size.VCPUs > q.Cores {
		return quotaExceeded("Total Regional Cores", deref(m.model.Location), q.Cores, cores, size.VCPUs)
	}
	if most := q.FamilyCores[size.Family]; most > 0 && family+size.VCPUs > most {
		return quotaExceeded(size.Family+" Cores", deref(m.model.Location), most, family, size.VCPUs)
	}
	return nil
}

// soldOut is the reason for which an accepted machine fails: Azure checks the capacity after it accepts the request.
func (c judge) soldOut(m *machine) *apiError {
	place, zonal := deref(m.model.Location), len(m.model.Zones) > 0
	if zonal {
		place = deref(m.model.Zones[0])
	}
	if !c.Lacks(place, place+"/"+sizeName(&m.model)) {
		return nil
	}
	if zonal {
		return refuse(http.StatusConflict, "ZonalAllocationFailed", "Allocation failed. We do not have sufficient capacity for the requested VM size in this zone. Read more about improving likelihood of allocation success at http://aka.ms/allocation-guidance")
	}
	return noCapacity()
}

func noCapacity() *apiError {
	return refuse(http.StatusConflict, "AllocationFailed", "Allocation failed. We do not have sufficient capacity for the requested VM size in this region. Read more about improving likelihood of allocation success at http://aka.ms/allocation-guidance")
}
