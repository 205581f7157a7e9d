// Package spec reads specs for Yandex Cloud. Only machine.sapcloud.io has one.
package spec

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

// The prefixes of labels that name the owner of an instance: a cluster, and a role of nodes in it.
const (
	ClusterLabelPrefix = "kubernetes-io-cluster-"
	RoleLabelPrefix    = "kubernetes-io-role-"
)

// SoftwareAccelerated is the network type with a software-accelerated network.
const SoftwareAccelerated = "SOFTWARE_ACCELERATED"

// ProviderSpec is the spec of a MachineClass of machine.sapcloud.io for Yandex Cloud. It has the fields of
// both originals: machine-controller-manager-provider-yandex, and the kind YandexMachineClass of a fork of
// machine-controller-manager, which has networkType.
type ProviderSpec struct {
	APIVersion string `json:"apiVersion,omitempty"`

	// Labels are written on the instance. Those that contain kubernetes-io-cluster- and kubernetes-io-role-
	// select the instances of a listing.
	Labels map[string]string `json:"labels,omitempty"`
	// Metadata is the metadata of the instance, such as ssh-keys. The user data replaces the key user-data.
	Metadata map[string]string `json:"metadata,omitempty"`
	// RegionID is the region of the zone; the default is the zone without its last part. No request has it.
	RegionID string `json:"regionID,omitempty"`
	// ZoneID is the availability zone, such as ru-central1-a. Required.
	ZoneID string `json:"zoneID,omitempty"`
	// PlatformID is the hardware platform, such as standard-v3. Required.
	PlatformID string `json:"platformID,omitempty"`
	// NetworkType is SOFTWARE_ACCELERATED; any other value is the standard network, the default.
	NetworkType string `json:"networkType,omitempty"`
	// ResourcesSpec is the size of the instance.
	ResourcesSpec ResourcesSpec `json:"resourcesSpec,omitempty"`
	// BootDiskSpec is the disk of the operating system.
	BootDiskSpec BootDiskSpec `json:"bootDiskSpec,omitempty"`
	// NetworkInterfaceSpecs are the network interfaces, at least one.
	NetworkInterfaceSpecs []NetworkInterfaceSpec `json:"networkInterfaceSpecs,omitempty"`
	// SchedulingPolicy selects preemptible instances.
	SchedulingPolicy SchedulingPolicy `json:"schedulingPolicy,omitempty"`
	// SecretRef and CredentialsSecretRef are ignored: those of the MachineClass count.
	SecretRef            *SecretRef `json:"secretRef,omitempty"`
	CredentialsSecretRef *SecretRef `json:"credentialsSecretRef,omitempty"`
}

// SecretRef names a secret.
type SecretRef struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// ResourcesSpec is the size of an instance.
type ResourcesSpec struct {
	// Cores is the number of vCPUs. Required.
	Cores int64 `json:"cores,omitempty"`
	// CoreFraction is the guaranteed share of each vCPU in percent; the default is 100.
	CoreFraction int64 `json:"coreFraction,omitempty"`
	// Memory is in bytes. Required.
	Memory int64 `json:"memory,omitempty"`
	// GPUs is the number of GPUs.
	GPUs int64 `json:"gpus,omitempty"`
}

// BootDiskSpec is the disk of the operating system.
type BootDiskSpec struct {
	// AutoDelete: Compute Cloud deletes the disk with the instance. The default is false.
	AutoDelete bool `json:"autoDelete,omitempty"`
	// TypeID is the type of the disk, such as network-ssd; the default is network-hdd.
	TypeID string `json:"typeID,omitempty"`
	// Size is in bytes; the default is the least size for the image.
	Size int64 `json:"size,omitempty"`
	// ImageID is the ID of the image. Required.
	ImageID string `json:"imageID,omitempty"`
}

// NetworkInterfaceSpec is a network interface.
type NetworkInterfaceSpec struct {
	// SubnetID is the subnet, in the zone of the instance. Required.
	SubnetID string `json:"subnetID,omitempty"`
	// AssignPublicIPAddress: the interface has a public IPv4 address.
	AssignPublicIPAddress bool `json:"assignPublicIPAddress,omitempty"`
	// PublicIPAddresses are reserved addresses of the folder, of which the interface gets an unused one. If it
	// is empty, Yandex Cloud selects an address.
	PublicIPAddresses []string `json:"publicIPAddresses,omitempty"`
}

// SchedulingPolicy selects preemptible instances, which Compute Cloud may stop, and stops after 24 hours.
type SchedulingPolicy struct {
	Preemptible bool `json:"preemptible,omitempty"`
}

// DecodeProviderSpec reads the providerSpec of a class as the original does, which checks nothing. It
// refuses values with which Compute Cloud creates no instance.
func DecodeProviderSpec(raw []byte) (*ProviderSpec, error) {
	s, _, err := lenient.Decode[ProviderSpec](raw)
	if err != nil {
		return nil, err
	}
	return s, lenient.Error(s.check())
}

// check returns the faults of the spec. The original lists no instances of a class without the labels of the
// owner; here the name of the cluster replaces missing labels.
func (s *ProviderSpec) check() (faults field.ErrorList) {
	for _, required := range []struct{ value, name, why string }{
		{s.ZoneID, "zoneID", "an instance is created in a zone, such as ru-central1-a"},
		{s.PlatformID, "platformID", "an instance has a platform, such as standard-v3"},
		{s.BootDiskSpec.ImageID, "bootDiskSpec.imageID", "it is the image of the boot disk"},
	} {
		if required.value == "" {
			faults = append(faults, field.Required(field.NewPath(required.name), required.why))
		}
	}
	faults = append(faults, s.checkSizes()...)
	faults = append(faults, s.checkInterfaces()...)
	return append(faults, s.checkLabels()...)
}

func (s *ProviderSpec) checkSizes() (faults field.ErrorList) {
	r := s.ResourcesSpec
	for _, size := range []struct {
		name        string
		value, from int64
		what        string
	}{
		{"resourcesSpec.cores", r.Cores, 1, "give the number of vCPUs"},
		{"resourcesSpec.memory", r.Memory, 1, "give the memory in bytes"},
		{"resourcesSpec.coreFraction", r.CoreFraction, 0, "give 0 to 100 percent"},
		{"resourcesSpec.gpus", r.GPUs, 0, "give the number of GPUs"},
		{"bootDiskSpec.size", s.BootDiskSpec.Size, 0, "give the size in bytes"},
	} {
		if size.value < size.from || size.name == "resourcesSpec.coreFraction" && size.value > 100 {
			faults = append(faults, field.Invalid(field.NewPath(size.name), size.value, size.what))
		}
	}
	return faults
}

func (s *ProviderSpec) checkInterfaces() (faults field.ErrorList) {
	at := field.NewPath("networkInterfaceSpecs")
	if len(s.NetworkInterfaceSpecs) == 0 {
		return field.ErrorList{field.Required(at, "an instance has at least one network interface")}
	}
	for i, n := range s.NetworkInterfaceSpecs {
		if n.SubnetID == "" {
			faults = append(faults, field.Required(at.Index(i).Child("subnetID"), "a network interface is connected to a subnet"))
		}
		for k, address := range n.PublicIPAddresses {
			if _, err := netip.ParseAddr(address); err != nil {
				faults = append(faults, field.Invalid(at.Index(i).Child("publicIPAddresses").Index(k), lenient.Shown(address), "give an IP address, such as 84.201.0.7"))
			}
		}
	}
	return faults
}

// The forms of labels of Yandex Cloud.
var (
	labelKey   = regexp.MustCompile(`^[a-z][-_./\\@0-9a-z]{0,62}$`)
	labelValue = regexp.MustCompile(`^[-_./\\@0-9a-z]{0,63}$`)
)

// ValidLabel reports whether Yandex Cloud allows a label.
func ValidLabel(key, value string) bool {
	return labelKey.MatchString(key) && labelValue.MatchString(value)
}

func (s *ProviderSpec) checkLabels() (faults field.ErrorList) {
	at := field.NewPath("labels")
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		if !ValidLabel(key, s.Labels[key]) {
			faults = append(faults, field.Invalid(at.Key(lenient.Shown(key)), lenient.Shown(s.Labels[key]),
				fmt.Sprintf(`give at most 63 characters: a key of the form %s, a value of the form %s`, `[a-z][-_./\@0-9a-z]*`, `[-_./\@0-9a-z]*`)))
		}
	}
	return faults
}

// OwnershipLabels are those of the labels that name the owner of an instance.
func (s *ProviderSpec) OwnershipLabels() map[string]string {
	owner := map[string]string{}
	for key, value := range s.Labels {
		if strings.Contains(key, ClusterLabelPrefix) || strings.Contains(key, RoleLabelPrefix) {
			owner[key] = value
		}
	}
	return owner
}

// Region is the region of the spec; empty if the zone names none.
func (s *ProviderSpec) Region() string {
	if s.RegionID != "" {
		return s.RegionID
	}
	return RegionOfZone(s.ZoneID)
}

// RegionOfZone is the region of a zone: ru-central1 of ru-central1-a.
func RegionOfZone(zone string) string {
	if at := strings.LastIndexByte(zone, '-'); at > 0 {
		return zone[:at]
	}
	return ""
}

// RegionOf is the region of a spec, also of a refused spec; empty if it names none.
func RegionOf(raw []byte) string {
	s, _, err := lenient.Decode[struct {
		RegionID string `json:"regionID,omitempty"`
		ZoneID   string `json:"zoneID,omitempty"`
	}](raw)
	if err != nil {
		return ""
	}
	return (&ProviderSpec{RegionID: s.RegionID, ZoneID: s.ZoneID}).Region()
}
