package spec

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

// The prefixes of tags that name the owner of an instance: a cluster, and a role of nodes in it.
const (
	ClusterTagPrefix = "kubernetes.io/cluster/"
	RoleTagPrefix    = "kubernetes.io/role/"
)

// ProviderSpec is the spec of a MachineClass of machine.sapcloud.io for Alibaba Cloud. Its names are those
// of the original, which is provider Alicloud in version mcm.gardener.cloud/v1alpha1.
type ProviderSpec struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`

	// ImageID is the ID of the image, such as m-0123456789abcdefghij. Required.
	ImageID string `json:"imageID,omitempty"`
	// InstanceType is the type of instance, such as ecs.g7.large. Required.
	InstanceType string `json:"instanceType,omitempty"`
	// Region is the region of the instance. Required.
	Region string `json:"region,omitempty"`
	// ZoneID is the zone of the instance; the default is the zone of the vSwitch.
	ZoneID string `json:"zoneID,omitempty"`
	// SecurityGroupID is the security group of the instance. Required.
	SecurityGroupID string `json:"securityGroupID,omitempty"`
	// VSwitchID is the vSwitch that the instance is connected to. Required.
	VSwitchID string `json:"vSwitchID,omitempty"`
	// PrivateIPAddress is the instance's address in the vSwitch; ECS selects one by default. Only one
	// machine of the class can have it.
	PrivateIPAddress string `json:"privateIPAddress,omitempty"`
	// SystemDisk is the disk of the operating system.
	SystemDisk *SystemDisk `json:"systemDisk,omitempty"`
	// DataDisks are further disks, at most 16.
	DataDisks []DataDisk `json:"dataDisks,omitempty"`
	// InstanceChargeType is PostPaid, the default, or PrePaid. ECS does not release a PrePaid instance
	// before its subscription ends.
	InstanceChargeType string `json:"instanceChargeType,omitempty"`
	// InternetChargeType is PayByTraffic, the default, or PayByBandwidth.
	InternetChargeType string `json:"internetChargeType,omitempty"`
	// InternetMaxBandwidthIn and InternetMaxBandwidthOut are limits in Mbit/s. With a positive
	// InternetMaxBandwidthOut, the instance has a public address.
	InternetMaxBandwidthIn  *int `json:"internetMaxBandwidthIn,omitempty"`
	InternetMaxBandwidthOut *int `json:"internetMaxBandwidthOut,omitempty"`
	// SpotStrategy is NoSpot, the default, SpotAsPriceGo for a spot instance at the market price, or
	// SpotWithPriceLimit.
	SpotStrategy string `json:"spotStrategy,omitempty"`
	// IoOptimized is optimized or none; the default depends on the instance type.
	IoOptimized string `json:"IoOptimized,omitempty"`
	// Tags are written on the instance, its disks and its network interface. Those that contain
	// kubernetes.io/cluster/ and kubernetes.io/role/ are the filters of the listing of instances.
	Tags map[string]string `json:"tags,omitempty"`
	// KeyPairName is a key pair for SSH.
	KeyPairName string `json:"keyPairName,omitempty"`
}

// SystemDisk is the disk of the operating system.
type SystemDisk struct {
	// Category is the type of the disk, such as cloud_essd. ECS has a default for each instance type.
	Category string `json:"category,omitempty"`
	// Size is in GiB; the default is the larger of 40 and the size of the image.
	Size int `json:"size,omitempty"`
}

// DataDisk is a further disk of an instance.
type DataDisk struct {
	// Name is a part of the disk's name, which is <machine>-<name>-data-disk.
	Name        string `json:"name,omitempty"`
	Category    string `json:"category,omitempty"`
	Description string `json:"description,omitempty"`
	Encrypted   bool   `json:"encrypted,omitempty"`
	// DeleteWithInstance: ECS deletes the disk with the instance, unless this is false.
	DeleteWithInstance *bool `json:"deleteWithInstance,omitempty"`
	// Size is in GiB.
	Size int `json:"size,omitempty"`
}

// EphemeralSSD is the category of disks without the setting DeleteWithInstance.
const EphemeralSSD = "DiskEphemeralSSD"

// The spot strategies.
const (
	NoSpot             = "NoSpot"
	SpotAsPriceGo      = "SpotAsPriceGo"
	SpotWithPriceLimit = "SpotWithPriceLimit"
)

// DecodeProviderSpec reads the providerSpec of a class as the original does, which checks nothing. It
// refuses values with which ECS creates no instance.
func DecodeProviderSpec(raw []byte) (*ProviderSpec, error) {
	s, _, err := lenient.Decode[ProviderSpec](raw)
	if err != nil {
		return nil, err
	}
	return s, lenient.Error(s.check())
}

// check returns the faults of the spec. The original requires tags with both prefixes; here the name of the
// cluster replaces missing tags.
func (s *ProviderSpec) check() (faults field.ErrorList) {
	for _, required := range []struct{ value, name, why string }{
		{s.ImageID, "imageID", "it is the image of the instance"},
		{s.InstanceType, "instanceType", "an instance has a type, such as ecs.g7.large"},
		{s.Region, "region", "an instance is created in a region"},
		{s.SecurityGroupID, "securityGroupID", "an instance has a security group"},
		{s.VSwitchID, "vSwitchID", "an instance is connected to a vSwitch"},
	} {
		if required.value == "" {
			faults = append(faults, field.Required(field.NewPath(required.name), required.why))
		}
	}
	for _, c := range []struct {
		name, value string
		allowed     []string
	}{
		{"instanceChargeType", s.InstanceChargeType, []string{"PostPaid", "PrePaid"}},
		{"internetChargeType", s.InternetChargeType, []string{"PayByTraffic", "PayByBandwidth"}},
		{"spotStrategy", s.SpotStrategy, []string{NoSpot, SpotAsPriceGo, SpotWithPriceLimit}},
		{"IoOptimized", s.IoOptimized, []string{"none", "optimized"}},
	} {
		faults = append(faults, oneOf(field.NewPath(c.name), c.value, c.allowed)...)
	}
	if _, err := netip.ParseAddr(s.PrivateIPAddress); s.PrivateIPAddress != "" && err != nil {
		faults = append(faults, field.Invalid(field.NewPath("privateIPAddress"), lenient.Shown(s.PrivateIPAddress), "give an IP address, such as 10.0.0.7"))
	}
	faults = append(faults, s.checkBandwidth()...)
	return append(faults, s.checkDisks()...)
}

// oneOf returns a fault unless the value is empty or allowed.
func oneOf(at *field.Path, value string, allowed []string) field.ErrorList {
	for _, word := range append([]string{""}, allowed...) {
		if word == value {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(at, lenient.Shown(value), allowed)}
}

// mostBandwidth is the limit of ECS in Mbit/s.
const mostBandwidth = 100

func (s *ProviderSpec) checkBandwidth() (faults field.ErrorList) {
	for _, b := range []struct {
		name  string
		value *int
	}{{"internetMaxBandwidthIn", s.InternetMaxBandwidthIn}, {"internetMaxBandwidthOut", s.InternetMaxBandwidthOut}} {
		if b.value != nil && (*b.value < 0 || *b.value > mostBandwidth) {
			faults = append(faults, field.Invalid(field.NewPath(b.name), *b.value, fmt.Sprintf("give 0 to %d Mbit/s", mostBandwidth)))
		}
	}
	return faults
}

// mostGiB is the size of the largest disk of ECS.
const mostGiB = 64 << 10

func (s *ProviderSpec) checkDisks() (faults field.ErrorList) {
	size := func(value int, at *field.Path) {
		if value < 0 || value > mostGiB {
			faults = append(faults, field.Invalid(at.Child("size"), value, fmt.Sprintf("give the size in GiB, at most %d", mostGiB)))
		}
	}
	if s.SystemDisk != nil {
		size(s.SystemDisk.Size, field.NewPath("systemDisk"))
	}
	at := field.NewPath("dataDisks")
	if len(s.DataDisks) > mostDataDisks {
		return append(faults, field.TooMany(at, len(s.DataDisks), mostDataDisks))
	}
	for i, d := range s.DataDisks {
		size(d.Size, at.Index(i))
	}
	return faults
}

// Spot reports whether the instances are spot instances, which ECS may reclaim.
func (s *ProviderSpec) Spot() bool {
	return s.SpotStrategy == SpotAsPriceGo || s.SpotStrategy == SpotWithPriceLimit
}

// OwnershipTags are those of the tags that name the owner of an instance.
func (s *ProviderSpec) OwnershipTags() map[string]string {
	owner := map[string]string{}
	for key, value := range s.Tags {
		if strings.Contains(key, ClusterTagPrefix) || strings.Contains(key, RoleTagPrefix) {
			owner[key] = value
		}
	}
	return owner
}
