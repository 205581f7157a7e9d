package spec

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/openshift/api/machine/v1alpha1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// DecodeOpenShift decodes and checks a spec of machine.openshift.io. If it returns no spec, the error says
// why the spec cannot be read; if it returns one, the error has the fields that cannot work.
func DecodeOpenShift(raw []byte) (*OpenShift, error) {
	s, _, err := lenient.Decode[OpenShift](raw)
	if err != nil {
		return nil, err
	}
	return s, validateOpenShift(s)
}

func validateOpenShift(s *OpenShift) error {
	var errs []error
	bad := func(path, format string, args ...any) {
		errs = append(errs, provider.InvalidField(path, format, args...))
	}
	if s.Flavor == "" {
		bad("flavor", "a flavor must be named")
	}
	if s.Image == "" && (s.RootVolume == nil || s.RootVolume.SourceUUID == "") {
		bad("image", "an image must be named")
	}
	if s.RootVolume != nil && s.RootVolume.Size < 0 {
		bad("rootVolume.diskSize", "%d GiB is no size", s.RootVolume.Size)
	}
	for n, p := range s.Ports {
		errs = append(errs, validatePort(fmt.Sprintf("ports[%d]", n), p)...)
	}
	if len(s.Ports) == 0 && len(s.Networks) > 0 && !slices.ContainsFunc(s.Networks, func(n v1alpha1.NetworkParam) bool { return !isEmptyNetwork(n) }) {
		bad("networks[0]", "names no network: uuid, filter or subnets must say which")
	}
	return errors.Join(append(errs, validateDisks(s.AdditionalBlockDevices)...)...)
}

func isEmptyNetwork(n v1alpha1.NetworkParam) bool {
	f := n.Filter
	return n.UUID == "" && len(n.Subnets) == 0 && f.ID == "" && f.Name == "" && f.Description == "" && f.TenantID == "" && f.ProjectID == "" && //nolint:staticcheck // Specs still have it.
		f.Tags == "" && f.TagsAny == "" && f.NotTags == "" && f.NotTagsAny == ""
}

func validatePort(path string, p v1alpha1.PortOpts) (errs []error) {
	bad := func(at, format string, args ...any) {
		errs = append(errs, provider.InvalidField(path+at, format, args...))
	}
	if p.NetworkID == "" {
		bad(".networkID", "a port must name its network")
	}
	if p.MACAddress != "" {
		if _, err := net.ParseMAC(p.MACAddress); err != nil {
			bad(".macAddress", "%q is no MAC address", p.MACAddress)
		}
	}
	for n, f := range p.FixedIPs {
		if f.IPAddress != "" {
			if _, err := netip.ParseAddr(f.IPAddress); err != nil {
				bad(fmt.Sprintf(".fixedIPs[%d].ipAddress", n), "%q is no IP address", f.IPAddress)
			}
		}
	}
	if p.PortSecurity != nil && !*p.PortSecurity {
		if p.SecurityGroups != nil && len(*p.SecurityGroups) > 0 {
			bad(".securityGroups", "cannot be together with portSecurity: false")
		}
		if len(p.AllowedAddressPairs) > 0 {
			bad(".allowedAddressPairs", "cannot be together with portSecurity: false")
		}
	}
	return errs
}

func validateDisks(disks []v1alpha1.AdditionalBlockDevice) (errs []error) {
	seen := map[string]bool{}
	for n, d := range disks {
		at := fmt.Sprintf("additionalBlockDevices[%d]", n)
		switch {
		case d.Name == "" || d.Name == "root" && d.Storage.Type == v1alpha1.VolumeBlockDevice:
			errs = append(errs, provider.InvalidField(at+".name", "%q is no name for a disk", d.Name))
		case seen[d.Name]:
			errs = append(errs, provider.InvalidField(at+".name", "%q is there twice", d.Name))
		}
		seen[d.Name] = true
		if d.SizeGiB < 1 {
			errs = append(errs, provider.InvalidField(at+".sizeGiB", "%d is less than 1", d.SizeGiB))
		}
		if t := d.Storage.Type; t != v1alpha1.VolumeBlockDevice && t != v1alpha1.LocalBlockDevice {
			errs = append(errs, provider.InvalidField(at+".storage.type", "%q is neither Volume nor Local", t))
		}
	}
	return errs
}

// note is a field that has no effect.
type note struct{ path, instead string }

// ignored are the fields of a spec that the original reads and ignores.
func ignored(s *OpenShift) (all []note) {
	add := func(given bool, path, instead string) {
		if given {
			all = append(all, note{path, instead})
		}
	}
	add(s.SshUserName != "", "sshUserName", "users are made by the user data")
	add(s.PrimarySubnet != "", "primarySubnet", "name the subnets of the networks")
	if s.RootVolume != nil {
		add(s.RootVolume.DeprecatedSourceType != "", "rootVolume.sourceType", "a root volume is made of an image") //nolint:staticcheck // Specs still have it.
		add(s.RootVolume.DeprecatedDeviceType != "", "rootVolume.deviceType", "there is no replacement")           //nolint:staticcheck // Specs still have it.
		add(s.RootVolume.SourceUUID != "" && s.Image != "", "image", "rootVolume.sourceUUID says which image it is")
	}
	for n, net := range s.Networks {
		at := fmt.Sprintf("networks[%d]", n)
		add(net.FixedIp != "", at+".fixedIp", "use ports with fixedIPs")
		add(isEmptyNetwork(net), at, "uuid, filter or subnets say which network it is")
		add(hasOther(net.Profile), at+".profile", otherProfile)
		for m, sub := range net.Subnets {
			add(sub.PortSecurity != nil, fmt.Sprintf("%s.subnets[%d].portSecurity", at, m), "set that of the network")
			add(sub.Filter.NetworkID != "", fmt.Sprintf("%s.subnets[%d].filter.networkId", at, m), "name the network around it") //nolint:staticcheck // Specs still have it.
			add(sub.Filter.SubnetPoolID != "", fmt.Sprintf("%s.subnets[%d].filter.subnetpoolId", at, m), "there is no replacement")
		}
	}
	for n, p := range s.Ports {
		at := fmt.Sprintf("ports[%d]", n)
		add(p.TenantID != "", at+".tenantID", "ports are made in the project of the credentials")
		add(p.ProjectID != "", at+".projectID", "ports are made in the project of the credentials")
		add(p.DeprecatedHostID != "", at+".hostID", "there is no replacement")
		add(hasOther(p.Profile), at+".profile", otherProfile)
	}
	return all
}

const otherProfile = "only capabilities with switchdev, and trusted: \"true\", have an effect"

// hasOther reports whether a port's profile has an entry without effect.
func hasOther(profile map[string]string) bool {
	for key, value := range profile {
		known := key == "capabilities" && strings.Contains(value, "switchdev") || key == "trusted" && (value == "true" || value == "false")
		if !known {
			return true
		}
	}
	return false
}
