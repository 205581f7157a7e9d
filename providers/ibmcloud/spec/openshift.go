// Package spec has the provider spec of IBM Cloud VPC for machine.openshift.io, and checks it. No spec for
// machine.sapcloud.io exists.
package spec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

// ProviderSpec is a spec of machine.openshift.io. Its names are those of the original's
// IBMCloudMachineProviderSpec (machine-api-provider-ibmcloud, July 2026).
type ProviderSpec struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// VPC is the name of the VPC of the instance. Required.
	VPC string `json:"vpc,omitempty"`
	// BootVolume is the boot volume of the instance.
	BootVolume BootVolume `json:"bootVolume,omitempty"`
	// Tags are user tags, which are attached to the instance as name:value.
	Tags []Tag `json:"tags,omitempty"`
	// Image is the name of a custom image in the resource group. Required.
	Image string `json:"image,omitempty"`
	// Profile is the instance profile, such as bx2-4x16. Required.
	Profile string `json:"profile,omitempty"`
	// DedicatedHost is the name of a dedicated host in the zone, on which the instance runs.
	DedicatedHost string `json:"dedicatedHost,omitempty"`
	// Region is the region of the VPC, such as us-south. Required.
	Region string `json:"region,omitempty"`
	// Zone is a zone of the region, such as us-south-1. Required.
	Zone string `json:"zone,omitempty"`
	// ResourceGroup is the name of the resource group of the instance, the image, the security groups and
	// the dedicated host. Required.
	ResourceGroup string `json:"resourceGroup,omitempty"`
	// NetworkResourceGroup is the name of the resource group of VPC and subnet; the default is
	// ResourceGroup.
	NetworkResourceGroup string `json:"networkResourceGroup,omitempty"`
	// PrimaryNetworkInterface is the network interface of the instance.
	PrimaryNetworkInterface NetworkInterface `json:"primaryNetworkInterface,omitempty"`
	// UserDataSecret names the Secret with the key userData, in the machine's namespace.
	UserDataSecret *corev1.LocalObjectReference `json:"userDataSecret,omitempty"`
	// CredentialsSecret names the Secret with the key ibmcloud_api_key, in the machine's namespace.
	CredentialsSecret *corev1.LocalObjectReference `json:"credentialsSecret,omitempty"`
}

// BootVolume is the boot volume of an instance.
type BootVolume struct {
	// EncryptionKey is the CRN of a root key; by default, IBM Cloud manages the key.
	EncryptionKey string `json:"encryptionKey,omitempty"`
	// Profile is the volume profile; the default is general-purpose.
	Profile string `json:"profile,omitempty"`
	// SizeGiB is the capacity in GB, as IBM Cloud counts it; the default is that of the image.
	SizeGiB int64 `json:"sizeGiB,omitempty"`
	// Iops is the limit of operations per second, for the profiles custom and sdp.
	Iops int64 `json:"iops,omitempty"`
	// Bandwidth is the limit in Mbit/s, for the profile sdp.
	Bandwidth int64 `json:"bandwidth,omitempty"`
}

// NetworkInterface is the network interface of an instance.
type NetworkInterface struct {
	// Subnet is the name of a subnet of the VPC, in the zone. Required.
	Subnet string `json:"subnet,omitempty"`
	// SecurityGroups are names of security groups of the VPC; by default, IBM Cloud uses that of the VPC.
	SecurityGroups []string `json:"securityGroups,omitempty"`
}

// Tag is a user tag.
type Tag struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

// String is the tag as IBM Cloud writes it.
func (t Tag) String() string {
	if t.Value == "" {
		return t.Name
	}
	return t.Name + ":" + t.Value
}

// Decode reads a spec to create instances from it. It refuses specs from which the original creates no
// instance. If the spec is nil, the error is a decoding error; otherwise it has the invalid fields.
func Decode(raw []byte) (*ProviderSpec, error) {
	s, _, err := lenient.Decode[ProviderSpec](raw)
	if err != nil {
		return nil, err
	}
	return s, lenient.Error(s.check())
}

func (s *ProviderSpec) check() (faults field.ErrorList) {
	for _, required := range []struct{ value, name, why string }{
		{s.VPC, "vpc", "an instance is created in a VPC"},
		{s.Image, "image", "it is the image of the instance"},
		{s.Profile, "profile", "an instance has a profile, such as bx2-4x16"},
		{s.Region, "region", "an instance is created in a region, such as us-south"},
		{s.Zone, "zone", "an instance is created in a zone, such as us-south-1"},
		{s.ResourceGroup, "resourceGroup", "the image is searched in a resource group"},
	} {
		if required.value == "" {
			faults = append(faults, field.Required(field.NewPath(required.name), required.why))
		}
	}
	if s.PrimaryNetworkInterface.Subnet == "" {
		faults = append(faults, field.Required(field.NewPath("primaryNetworkInterface", "subnet"), "an instance is connected to a subnet"))
	}
	faults = append(faults, s.BootVolume.check(field.NewPath("bootVolume"))...)
	return append(faults, checkTags(s.Tags)...)
}

// crnPrefix is the begin of a cloud resource name.
const crnPrefix = "crn:"

func (v BootVolume) check(at *field.Path) (faults field.ErrorList) {
	for _, n := range []struct {
		name  string
		value int64
	}{{"sizeGiB", v.SizeGiB}, {"iops", v.Iops}, {"bandwidth", v.Bandwidth}} {
		if n.value < 0 {
			faults = append(faults, field.Invalid(at.Child(n.name), n.value, "give a positive number"))
		}
	}
	if v.EncryptionKey != "" && !strings.HasPrefix(v.EncryptionKey, crnPrefix) {
		faults = append(faults, field.Invalid(at.Child("encryptionKey"), lenient.Shown(v.EncryptionKey), "give the CRN of a root key, which begins with "+crnPrefix))
	}
	return faults
}

// mostTag is the length of the longest user tag.
const mostTag = 128

func checkTags(tags []Tag) (faults field.ErrorList) {
	for i, t := range tags {
		if len(faults) >= lenient.MostFaults {
			return faults
		}
		at := field.NewPath("tags").Index(i)
		switch {
		case t.Name == "":
			faults = append(faults, field.Required(at.Child("name"), "a tag has a name"))
		case len(t.String()) > mostTag:
			faults = append(faults, field.Invalid(at, lenient.Shown(t.String()), fmt.Sprintf("a tag has at most %d characters", mostTag)))
		}
	}
	return faults
}

// RegionOf is the region that a spec names, also a refused spec; empty if it names none.
func RegionOf(raw []byte) string {
	s, _, err := lenient.Decode[struct {
		Region string `json:"region,omitempty"`
	}](raw)
	if err != nil {
		return ""
	}
	return s.Region
}
