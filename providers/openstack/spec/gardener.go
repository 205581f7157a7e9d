package spec

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// GardenerVersion and GardenerKind are the API version and kind of a spec of machine.sapcloud.io.
const (
	GardenerVersion = "openstack.machine.gardener.cloud/v1alpha1"
	GardenerKind    = "MachineProviderConfig"
)

// Gardener is the providerSpec of a MachineClass of machine.sapcloud.io.
type Gardener struct {
	APIVersion string       `json:"apiVersion,omitempty"`
	Kind       string       `json:"kind,omitempty"`
	Spec       GardenerSpec `json:"spec"`
}

// GardenerSpec is what servers are made of.
type GardenerSpec struct {
	// ImageID is the ID of an image of Glance, ImageName its name: the ID counts if both are given.
	ImageID   string `json:"imageID"`
	ImageName string `json:"imageName"`
	// Region is the one of the catalog.
	Region           string `json:"region"`
	AvailabilityZone string `json:"availabilityZone"`
	FlavorName       string `json:"flavorName"`
	// KeyName is a key pair of Nova.
	KeyName string `json:"keyName"`
	// SecurityGroups are names, or IDs.
	SecurityGroups []string `json:"securityGroups"`
	// Tags are metadata of the server; those with kubernetes.io-cluster- and kubernetes.io-role- in them say whose it is.
	Tags map[string]string `json:"tags,omitempty"`
	// NetworkID is the one network, unless Networks has several.
	NetworkID string `json:"networkID"`
	// SubnetID is one subnet of the network that the port has an address of, SubnetIDs are several.
	SubnetID  *string  `json:"subnetID,omitempty"`
	SubnetIDs []string `json:"subnetIDs,omitempty"`
	// PodNetworkCidr is the range of pods, PodNetworkCIDRs are several: ports let their addresses through.
	PodNetworkCidr  string   `json:"podNetworkCidr,omitempty"`
	PodNetworkCIDRs []string `json:"podNetworkCIDRs,omitempty"`
	// RootDiskSize is in GiB: more than 0 boots from a volume, of the type RootDiskType.
	RootDiskSize   int               `json:"rootDiskSize,omitempty"`
	RootDiskType   *string           `json:"rootDiskType,omitempty"`
	UseConfigDrive *bool             `json:"useConfigDrive,omitempty"`
	ServerGroupID  *string           `json:"serverGroupID,omitempty"`
	Networks       []GardenerNetwork `json:"networks,omitempty"`
}

// GardenerNetwork is one of several networks of a server.
type GardenerNetwork struct {
	// ID or Name say which; both at once are refused.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// PodNetwork lets the addresses of pods through.
	PodNetwork bool `json:"podNetwork,omitempty"`
}

// Prefixes of the tags that record a server's owner.
const (
	ClusterTag = "kubernetes.io-cluster-"
	RoleTag    = "kubernetes.io-role-"
)

// DecodeGardener decodes and checks a spec of machine.sapcloud.io. As the original does, it refuses unknown
// fields.
func DecodeGardener(raw []byte) (*Gardener, error) {
	s, err := lenient.DecodeKnown[Gardener](raw)
	if err != nil {
		return nil, err
	}
	return s, errors.Join(validateKind(*s), validateGardener(s.Spec))
}

// RegionOf is the region that a spec of machine.sapcloud.io names, also a refused spec; empty if it names
// none.
func RegionOf(raw []byte) string {
	s, _, err := lenient.Decode[struct {
		Spec struct {
			Region string `json:"region"`
		} `json:"spec"`
	}](raw)
	if err != nil {
		return ""
	}
	return s.Spec.Region
}

// validateKind refuses a spec that has, or may have, other fields.
func validateKind(s Gardener) error {
	switch {
	case s.APIVersion != GardenerVersion:
		return provider.InvalidField("apiVersion", "must be %s", GardenerVersion)
	case s.Kind != GardenerKind && s.Kind != "":
		return provider.InvalidField("kind", "must be %s", GardenerKind)
	}
	return nil
}

func validateGardener(s GardenerSpec) error {
	var errs []error
	bad := func(path, format string, args ...any) {
		errs = append(errs, provider.InvalidField("spec."+path, format, args...))
	}
	for path, value := range map[string]string{"region": s.Region, "availabilityZone": s.AvailabilityZone, "flavorName": s.FlavorName, "keyName": s.KeyName} {
		if value == "" {
			bad(path, "must be given")
		}
	}
	if s.ImageID == "" && s.ImageName == "" {
		bad("imageName", "imageID or imageName must be given")
	}
	switch {
	case s.NetworkID == "" && len(s.Networks) == 0:
		bad("networkID", "networkID or networks must be given")
	case s.NetworkID != "" && len(s.Networks) > 0:
		bad("networks", "cannot be together with networkID")
	}
	podless := s.PodNetworkCidr == "" && len(s.PodNetworkCIDRs) == 0
	for n, net := range s.Networks {
		if (net.ID == "") == (net.Name == "") {
			bad(fmt.Sprintf("networks[%d]", n), "one of id and name must be given")
		}
		if podless && net.PodNetwork {
			bad(fmt.Sprintf("networks[%d].podNetwork", n), "podNetworkCIDRs must be given for it")
		}
	}
	if podless {
		bad("podNetworkCIDRs", "must be given")
	}
	for n, cidr := range s.PodNetworkCIDRs {
		if !isRange(cidr) {
			bad(fmt.Sprintf("podNetworkCIDRs[%d]", n), "%q is no range of addresses", cidr)
		}
	}
	if s.PodNetworkCidr != "" && !isRange(s.PodNetworkCidr) {
		bad("podNetworkCidr", "%q is no range of addresses", s.PodNetworkCidr)
	}
	for n, name := range s.SecurityGroups {
		if name == "" {
			bad(fmt.Sprintf("securityGroups[%d]", n), "names no security group")
		}
	}
	if s.RootDiskSize < 0 {
		bad("rootDiskSize", "%d GiB is no size", s.RootDiskSize)
	}
	return errors.Join(append(errs, validateTags(s.Tags)...)...)
}

// isRange reports whether Neutron accepts a text as addresses: a range, or a single one.
func isRange(s string) bool {
	_, asRange := netip.ParsePrefix(s)
	_, asOne := netip.ParseAddr(s)
	return asRange == nil || asOne == nil
}

// validateTags requires both owner tags of a server, or neither: then the cluster of the class replaces
// them.
func validateTags(tags map[string]string) (errs []error) {
	var cluster, role bool
	for key := range tags {
		cluster = cluster || strings.Contains(key, ClusterTag)
		role = role || strings.Contains(key, RoleTag)
	}
	if role && !cluster {
		errs = append(errs, provider.InvalidField("spec.tags", "a tag %s<name> must say whose the servers are", ClusterTag))
	}
	return errs
}

// Owning are the tags that record the owner of servers: none if the spec leaves that to the class.
func (s GardenerSpec) Owning() (keys []string) {
	for key := range s.Tags {
		if strings.Contains(key, ClusterTag) || strings.Contains(key, RoleTag) {
			keys = append(keys, key)
		}
	}
	return keys
}
