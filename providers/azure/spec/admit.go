package spec

import (
	"fmt"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

func checkSize(s *machineSpec, a admit.Request) field.ErrorList {
	if s.VMSize == "" {
		return field.ErrorList{field.Required(a.Path.Child("vmSize"), "name a size of virtual machines, such as "+sizeAMD64)}
	}
	return nil
}

func checkNetwork(s *machineSpec, a admit.Request) (faults field.ErrorList) {
	if s.PublicIP && a.Platform.NoPublicZone {
		faults = append(faults, field.Forbidden(a.Path.Child("publicIP"), "the cluster has no public DNS zone: its machines have no public addresses"))
	}
	if s.Vnet != "" && s.Subnet == "" {
		faults = append(faults, field.Required(a.Path.Child("subnet"), "a vnet is given: name the subnet in it"))
	}
	if s.Subnet != "" && s.Vnet == "" {
		faults = append(faults, field.Required(a.Path.Child("vnet"), "a subnet is given: name the vnet that it is in"))
	}
	return faults
}

func checkImage(s *machineSpec, a admit.Request) (faults field.ErrorList) {
	path, image := a.Path.Child("image"), s.Image
	switch image {
	case machinev1beta1.Image{}:
		return field.ErrorList{field.Required(path, "name an image by resourceID, or by publisher, offer, sku and version")}
	case machinev1beta1.Image{ResourceID: image.ResourceID}:
		return nil
	}
	if image.ResourceID != "" {
		return field.ErrorList{field.Required(path.Child("resourceID"), "give it alone, or leave it out for publisher, offer, sku, version and type")}
	}
	for _, part := range []struct{ name, value string }{
		{"offer", image.Offer}, {"publisher", image.Publisher}, {"sku", image.SKU}, {"version", image.Version},
	} {
		if part.value == "" {
			faults = append(faults, field.Required(path.Child(part.name), "an image without resourceID has a publisher, an offer, a sku and a version"))
		}
	}
	return faults
}

func checkSecrets(s *machineSpec, a admit.Request) (faults field.ErrorList) {
	if path := a.Path.Child("userDataSecret"); s.UserDataSecret == nil {
		faults = append(faults, field.Required(path, "name the secret with the user data"))
	} else if s.UserDataSecret.Name == "" {
		faults = append(faults, field.Required(path.Child("name"), "name the secret with the user data"))
	}
	path := a.Path.Child("credentialsSecret")
	if s.CredentialsSecret == nil {
		return append(faults, field.Required(path, "name the secret with the credentials, and its namespace"))
	}
	if s.CredentialsSecret.Namespace == "" {
		faults = append(faults, field.Required(path.Child("namespace"), "name the namespace of the secret with the credentials"))
	}
	if s.CredentialsSecret.Name == "" {
		faults = append(faults, field.Required(path.Child("name"), "name the secret with the credentials"))
	}
	return faults
}

// Of the OS disk: its largest size in GB, and the place that makes it ephemeral.
const (
	mostDiskGB = 32767
	local      = "Local"
)

func checkOSDisk(s *machineSpec, a admit.Request) (faults field.ErrorList) {
	path, disk := a.Path.Child("osDisk"), s.OSDisk
	if disk.DiskSizeGB < 1 || disk.DiskSizeGB > mostDiskGB {
		faults = append(faults, field.Invalid(path.Child("diskSizeGB"), disk.DiskSizeGB, fmt.Sprintf("has to be from 1 to %d", mostDiskGB)))
	}
	location := disk.DiskSettings.EphemeralStorageLocation
	if location != "" && location != local {
		faults = append(faults, field.Invalid(path.Child("diskSettings", "ephemeralStorageLocation"), lenient.Shown(location), "has to be "+local+", or left out"))
	}
	caching := machinev1beta1.CachingTypeOption(disk.CachingType)
	switch caching {
	case "", machinev1beta1.CachingTypeNone, machinev1beta1.CachingTypeReadOnly, machinev1beta1.CachingTypeReadWrite:
	default:
		faults = append(faults, field.Invalid(path.Child("cachingType"), lenient.Shown(caching), "has to be None, ReadOnly or ReadWrite, or left out"))
	}
	if location == local && caching != machinev1beta1.CachingTypeReadOnly {
		faults = append(faults, field.Invalid(path.Child("cachingType"), lenient.Shown(caching), "has to be ReadOnly for an ephemeral disk"))
	}
	return faults
}

func checkUltraSSD(s *machineSpec, a admit.Request) field.ErrorList {
	switch s.UltraSSDCapability {
	case "", machinev1beta1.AzureUltraSSDCapabilityEnabled, machinev1beta1.AzureUltraSSDCapabilityDisabled:
		return nil
	}
	return field.ErrorList{field.Invalid(a.Path.Child("ultraSSDCapability"), lenient.Shown(s.UltraSSDCapability), "has to be Enabled or Disabled, or left out")}
}

func checkBootDiagnostics(s *machineSpec, a admit.Request) field.ErrorList {
	boot, path := s.Diagnostics.Boot, a.Path.Child("diagnostics", "boot")
	if boot == nil {
		return nil
	}
	customer := path.Child("customerManaged")
	switch boot.StorageAccountType {
	case machinev1beta1.CustomerManagedAzureDiagnosticsStorage:
		if boot.CustomerManaged == nil {
			return field.ErrorList{field.Required(customer, "name the storage account, which is CustomerManaged")}
		}
		if boot.CustomerManaged.StorageAccountURI == "" {
			return field.ErrorList{field.Required(customer.Child("storageAccountURI"), "give the URI of the storage account")}
		}
	case machinev1beta1.AzureManagedAzureDiagnosticsStorage:
		if boot.CustomerManaged != nil {
			return field.ErrorList{field.Invalid(customer, lenient.Shown(boot.CustomerManaged.StorageAccountURI), "has to be left out where the storage account is AzureManaged")}
		}
	default:
		return field.ErrorList{field.Invalid(path.Child("storageAccountType"), lenient.Shown(boot.StorageAccountType), "has to be AzureManaged or CustomerManaged")}
	}
	return nil
}
