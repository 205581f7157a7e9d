package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Gardener is the providerSpec of a MachineClass of provider Azure: section 8.1 of what is known of the original.
type Gardener struct {
	// Location is the region: "westeurope".
	Location string `json:"location,omitempty"`
	// Tags are on all that is made. A key that begins with kubernetes.io-cluster- and one with kubernetes.io-role- say whose it is.
	Tags map[string]string `json:"tags,omitempty"`
	// Properties are those of the virtual machine.
	Properties GardenerProperties `json:"properties,omitempty"`
	// ResourceGroup is where everything is made.
	ResourceGroup string `json:"resourceGroup,omitempty"`
	// SubnetInfo is where the interface is.
	SubnetInfo GardenerSubnet `json:"subnetInfo,omitempty"`
	// CloudConfiguration says which Azure; nil: the public one.
	CloudConfiguration *GardenerCloud `json:"cloudConfiguration,omitempty"`
	// Choices are what a machine may be made of, best first, in place of properties.zone and the size. They are ours.
	Choices []Choice `json:"choices,omitempty"`
}

// The clouds that [GardenerCloud] names.
const (
	CloudPublic     = "AzurePublic"
	CloudChina      = "AzureChina"
	CloudGovernment = "AzureGovernment"
)

// GardenerCloud is one of several Azures.
type GardenerCloud struct {
	Name string `json:"name,omitempty"`
}

// GardenerSubnet is a subnet of a virtual network.
type GardenerSubnet struct {
	VnetName string `json:"vnetName,omitempty"`
	// VnetResourceGroup is where the network is, if not in the group of the machines.
	VnetResourceGroup *string `json:"vnetResourceGroup,omitempty"`
	SubnetName        string  `json:"subnetName,omitempty"`
}

// GardenerProperties are those of a virtual machine. Exactly one of zone, availabilitySet and virtualMachineScaleSet is set.
type GardenerProperties struct {
	HardwareProfile GardenerHardware `json:"hardwareProfile,omitempty"`
	StorageProfile  GardenerStorage  `json:"storageProfile,omitempty"`
	OSProfile       GardenerOS       `json:"osProfile,omitempty"`
	NetworkProfile  GardenerNetwork  `json:"networkProfile,omitempty"`
	AvailabilitySet *GardenerRef     `json:"availabilitySet,omitempty"`
	// IdentityID is the resource ID of an identity that is assigned to the machine.
	IdentityID             *string              `json:"identityID,omitempty"`
	Zone                   *int                 `json:"zone,omitempty"`
	VirtualMachineScaleSet *GardenerRef         `json:"virtualMachineScaleSet,omitempty"`
	DiagnosticsProfile     *GardenerDiagnostics `json:"diagnosticsProfile,omitempty"`
	// MachineSet is the older way to name an availability set or a scale set.
	MachineSet          *GardenerSet         `json:"machineSet,omitempty"`
	SecurityProfile     *GardenerSecurity    `json:"securityProfile,omitempty"`
	CapacityReservation *GardenerReservation `json:"capacityReservation,omitempty"`
}

// GardenerHardware is the size.
type GardenerHardware struct {
	VMSize string `json:"vmSize,omitempty"`
}

// GardenerStorage is the image and the disks.
type GardenerStorage struct {
	ImageReference GardenerImage  `json:"imageReference,omitempty"`
	OSDisk         GardenerOSDisk `json:"osDisk,omitempty"`
	DataDisks      []GardenerDisk `json:"dataDisks,omitempty"`
	// DiskControllerType is SCSI or NVMe; nil: what the size has.
	DiskControllerType *string `json:"diskControllerType,omitempty"`
}

// GardenerImage names an image in exactly one of four ways.
type GardenerImage struct {
	ID string `json:"id,omitempty"`
	// URN is publisher:offer:sku:version.
	URN                     *string `json:"urn,omitempty"`
	CommunityGalleryImageID *string `json:"communityGalleryImageID,omitempty"`
	SharedGalleryImageID    *string `json:"sharedGalleryImageID,omitempty"`
	// SkipMarketplaceAgreement: terms and plan of the image are not looked at.
	SkipMarketplaceAgreement bool `json:"skipMarketplaceAgreement,omitempty"`
}

// GardenerOSDisk is the disk that the machine boots from.
type GardenerOSDisk struct {
	// Name is ignored: the disk is called after the machine.
	Name         string              `json:"name,omitempty"`
	Caching      string              `json:"caching,omitempty"`
	ManagedDisk  GardenerManagedDisk `json:"managedDisk,omitempty"`
	DiskSizeGB   int32               `json:"diskSizeGB,omitempty"`
	CreateOption string              `json:"createOption,omitempty"`
}

// GardenerManagedDisk says how a disk is kept.
type GardenerManagedDisk struct {
	// ID is ignored: the disk is made with the machine.
	ID                 string                `json:"id,omitempty"`
	StorageAccountType string                `json:"storageAccountType,omitempty"`
	SecurityProfile    *GardenerDiskSecurity `json:"securityProfile,omitempty"`
}

// GardenerDiskSecurity is about disks of confidential machines.
type GardenerDiskSecurity struct {
	SecurityEncryptionType *string `json:"securityEncryptionType,omitempty"`
}

// GardenerDisk is a further disk.
type GardenerDisk struct {
	Name               string         `json:"name,omitempty"`
	Lun                int32          `json:"lun,omitempty"`
	Caching            string         `json:"caching,omitempty"`
	StorageAccountType string         `json:"storageAccountType,omitempty"`
	DiskSizeGB         int32          `json:"diskSizeGB,omitempty"`
	ImageRef           *GardenerImage `json:"imageRef,omitempty"`
}

// GardenerOS is about the operating system. Names, passwords and data of it are ignored but for the administrator's name: the machine's
// name and its user data take their place.
type GardenerOS struct {
	ComputerName       string        `json:"computerName,omitempty"`
	AdminUsername      string        `json:"adminUsername,omitempty"`
	AdminPassword      string        `json:"adminPassword,omitempty"`
	CustomData         string        `json:"customData,omitempty"`
	LinuxConfiguration GardenerLinux `json:"linuxConfiguration,omitempty"`
}

// GardenerLinux says who may log in.
type GardenerLinux struct {
	DisablePasswordAuthentication bool        `json:"disablePasswordAuthentication,omitempty"`
	SSH                           GardenerSSH `json:"ssh,omitempty"`
}

// GardenerSSH has one public key, in spite of its name.
type GardenerSSH struct {
	PublicKeys GardenerKey `json:"publicKeys,omitempty"`
}

// GardenerKey is a public key and its path. Without a key the provider generates one, and discards its
// private key.
type GardenerKey struct {
	Path    string `json:"path,omitempty"`
	KeyData string `json:"keyData,omitempty"`
}

// GardenerNetwork is about the interface.
type GardenerNetwork struct {
	// NetworkInterfaces is ignored.
	NetworkInterfaces     GardenerInterface `json:"networkInterfaces,omitempty"`
	AcceleratedNetworking *bool             `json:"acceleratedNetworking,omitempty"`
}

// GardenerInterface is ignored, as in the original.
type GardenerInterface struct {
	ID         string                       `json:"id,omitempty"`
	Properties *GardenerInterfaceProperties `json:"properties,omitempty"`
}

// GardenerInterfaceProperties are ignored, as in the original.
type GardenerInterfaceProperties struct {
	Primary bool `json:"primary,omitempty"`
}

// GardenerRef is the resource ID of something.
type GardenerRef struct {
	ID string `json:"id,omitempty"`
}

// GardenerDiagnostics is about the log of the console.
type GardenerDiagnostics struct {
	Enabled    bool    `json:"enabled,omitempty"`
	StorageURI *string `json:"storageURI,omitempty"`
}

// The kinds of [GardenerSet].
const (
	SetAvailability = "availabilityset"
	SetScale        = "vmo"
)

// GardenerSet names an availability set or a scale set.
type GardenerSet struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
}

// GardenerSecurity is about trusted and confidential machines.
type GardenerSecurity struct {
	SecurityType *string       `json:"securityType,omitempty"`
	UEFISettings *GardenerUEFI `json:"uefiSettings,omitempty"`
}

// GardenerUEFI says what the firmware checks.
type GardenerUEFI struct {
	VTpmEnabled       *bool `json:"vtpmEnabled,omitempty"`
	SecureBootEnabled *bool `json:"secureBootEnabled,omitempty"`
}

// GardenerReservation is capacity that is kept.
type GardenerReservation struct {
	CapacityReservationGroupID *string `json:"capacityReservationGroupID,omitempty"`
}

// The prefixes of the tags that record the owner of a resource.
const (
	GardenerClusterPrefix = "kubernetes.io-cluster-"
	GardenerRolePrefix    = "kubernetes.io-role-"
)

// DecodeGardener reads a spec, and copies the older machineSet into the fields that replaced it.
func DecodeGardener(raw []byte) (*Gardener, error) {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	s, _, err := lenient.Decode[Gardener](raw)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, new(Gardener)); err != nil {
		return nil, mistyped(err)
	}
	root := field.NewPath("spec")
	if faults := s.adoptSet(root); len(faults) > 0 {
		return nil, refused(faults, root)
	}
	var faults field.ErrorList
	for _, check := range []func(*Gardener, *field.Path) field.ErrorList{
		(*Gardener).checkPlace, (*Gardener).checkTags, (*Gardener).checkImages, (*Gardener).checkDisks, (*Gardener).checkSecurity, (*Gardener).checkReservation,
	} {
		faults = append(faults, check(s, root)...)
	}
	faults = append(faults, choiceFaults(s.Choices, root.Child("choices"))...)
	return s, refused(faults, root)
}

// mistyped is the error for a number or a boolean in place of a text. The original reads specs as JSON: it
// accepts none as a text.
func mistyped(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return provider.InvalidField(e.Field, "is a %s", e.Value)
	}
	return provider.Errorf(provider.Invalid, "decode the provider spec: %w", err)
}

func (s *Gardener) adoptSet(root *field.Path) field.ErrorList {
	p := &s.Properties
	switch {
	case p.MachineSet == nil:
	case p.MachineSet.Kind == SetAvailability && p.AvailabilitySet == nil:
		p.AvailabilitySet = &GardenerRef{ID: p.MachineSet.ID}
	case p.MachineSet.Kind == SetScale && p.VirtualMachineScaleSet == nil:
		p.VirtualMachineScaleSet = &GardenerRef{ID: p.MachineSet.ID}
	case p.MachineSet.Kind != SetAvailability && p.MachineSet.Kind != SetScale:
		return field.ErrorList{field.NotSupported(root.Child("properties", "machineSet", "kind"), lenient.Shown(p.MachineSet.Kind), []string{SetAvailability, SetScale})}
	}
	return nil
}

func (s *Gardener) checkPlace(root *field.Path) (faults field.ErrorList) {
	p, properties := s.Properties, root.Child("properties")
	for _, required := range []struct {
		path  *field.Path
		value string
	}{
		{root.Child("location"), s.Location},
		{root.Child("resourceGroup"), s.ResourceGroup},
		{root.Child("subnetInfo", "vnetName"), s.SubnetInfo.VnetName},
		{root.Child("subnetInfo", "subnetName"), s.SubnetInfo.SubnetName},
		{properties.Child("hardwareProfile", "vmSize"), p.HardwareProfile.VMSize},
		{properties.Child("osProfile", "adminUsername"), p.OSProfile.AdminUsername},
		{properties.Child("storageProfile", "osDisk", "createOption"), p.StorageProfile.OSDisk.CreateOption},
	} {
		if Blank(required.value) {
			faults = append(faults, field.Required(required.path, "give a value"))
		}
	}
	if c := s.CloudConfiguration; c != nil && !slices.Contains([]string{CloudPublic, CloudChina, CloudGovernment}, c.Name) {
		faults = append(faults, field.NotSupported(root.Child("cloudConfiguration", "name"), lenient.Shown(c.Name), []string{CloudPublic, CloudChina, CloudGovernment}))
	}
	set, scale := p.AvailabilitySet != nil && !Blank(p.AvailabilitySet.ID), p.VirtualMachineScaleSet != nil && !Blank(p.VirtualMachineScaleSet.ID)
	if n := count(p.Zone != nil, set, scale); n != 1 {
		faults = append(faults, field.Forbidden(properties.Child("zone"), fmt.Sprintf("set one of zone, availabilitySet and virtualMachineScaleSet: %d are set", n)))
	}
	return faults
}

// Blank reports whether a text is empty or has only spaces. The original treats such a text as absent.
func Blank(text string) bool { return strings.TrimSpace(text) == "" }

func count(all ...bool) (n int) {
	for _, is := range all {
		if is {
			n++
		}
	}
	return n
}

func (s *Gardener) checkTags(root *field.Path) (faults field.ErrorList) {
	for _, prefix := range []string{GardenerClusterPrefix, GardenerRolePrefix} {
		if len(s.Owners(prefix)) == 0 {
			faults = append(faults, field.Required(root.Child("tags"), "give a tag whose key begins with "+prefix))
		}
	}
	return faults
}

// Owners are the keys of tags that begin with the prefix, in order.
func (s *Gardener) Owners(prefix string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.Tags)), func(key string) bool { return !strings.HasPrefix(key, prefix) })
}

func (s *Gardener) checkImages(root *field.Path) field.ErrorList {
	storage := root.Child("properties", "storageProfile")
	faults := imageFaults(s.Properties.StorageProfile.ImageReference, storage.Child("imageReference"))
	for i, d := range s.Properties.StorageProfile.DataDisks {
		if d.ImageRef != nil {
			faults = append(faults, imageFaults(*d.ImageRef, storage.Child("dataDisks").Index(i).Child("imageRef"))...)
		}
	}
	return faults
}

func imageFaults(i GardenerImage, path *field.Path) field.ErrorList {
	given := func(s *string) bool { return s != nil && !Blank(*s) }
	if n := count(!Blank(i.ID), given(i.URN), given(i.CommunityGalleryImageID), given(i.SharedGalleryImageID)); n != 1 {
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf("name the image by one of id, urn, communityGalleryImageID and sharedGalleryImageID: %d are given", n))}
	}
	if !given(i.URN) {
		return nil
	}
	parts := strings.Split(*i.URN, ":")
	if len(parts) != 4 || slices.ContainsFunc(parts, Blank) {
		return field.ErrorList{field.Invalid(path.Child("urn"), lenient.Shown(*i.URN), "has to be publisher:offer:sku:version")}
	}
	return nil
}

func (s *Gardener) checkDisks(root *field.Path) (faults field.ErrorList) {
	storage := root.Child("properties", "storageProfile")
	if s.Properties.StorageProfile.OSDisk.DiskSizeGB <= 0 {
		faults = append(faults, field.Invalid(storage.Child("osDisk", "diskSizeGB"), s.Properties.StorageProfile.OSDisk.DiskSizeGB, "has to be more than 0"))
	}
	luns := map[int32]bool{}
	for i, d := range s.Properties.StorageProfile.DataDisks {
		path := storage.Child("dataDisks").Index(i)
		if len(faults) > lenient.MostFaults {
			break
		}
		if d.Lun < 0 || luns[d.Lun] {
			faults = append(faults, field.Invalid(path.Child("lun"), d.Lun, "has to be 0 or more, and no other disk's"))
		}
		luns[d.Lun] = true
		if d.DiskSizeGB <= 0 {
			faults = append(faults, field.Invalid(path.Child("diskSizeGB"), d.DiskSizeGB, "has to be more than 0"))
		}
		if Blank(d.StorageAccountType) {
			faults = append(faults, field.Required(path.Child("storageAccountType"), "say how the disk is kept"))
		}
	}
	return faults
}

// Values that Azure accepts, as in the original.
var (
	encryptionTypes = []string{"DiskWithVMGuestState", "NonPersistedTPM", "VMGuestStateOnly"}
	securityTypes   = []string{"ConfidentialVM", "TrustedLaunch"}
	controllerTypes = []string{"NVMe", "SCSI"}
)

func (s *Gardener) checkSecurity(root *field.Path) (faults field.ErrorList) {
	p, properties := s.Properties, root.Child("properties")
	oneOf := func(path *field.Path, value *string, values []string) {
		if value != nil && !Blank(*value) && !slices.Contains(values, *value) {
			faults = append(faults, field.NotSupported(path, lenient.Shown(*value), values))
		}
	}
	if p.SecurityProfile != nil {
		oneOf(properties.Child("securityProfile", "securityType"), p.SecurityProfile.SecurityType, securityTypes)
	}
	if d := p.StorageProfile.OSDisk.ManagedDisk.SecurityProfile; d != nil {
		oneOf(properties.Child("storageProfile", "osDisk", "managedDisk", "securityProfile", "securityEncryptionType"), d.SecurityEncryptionType, encryptionTypes)
	}
	oneOf(properties.Child("storageProfile", "diskControllerType"), p.StorageProfile.DiskControllerType, controllerTypes)
	return faults
}

func (s *Gardener) checkReservation(root *field.Path) field.ErrorList {
	r := s.Properties.CapacityReservation
	if r == nil || r.CapacityReservationGroupID == nil {
		return nil
	}
	id := *r.CapacityReservationGroupID
	if isResourceID(id) && strings.EqualFold(typeOf(id), "capacityReservationGroups") {
		return nil
	}
	return field.ErrorList{field.Invalid(root.Child("properties", "capacityReservation", "capacityReservationGroupID"), lenient.Shown(id), "is no resource ID of a capacity reservation group")}
}
