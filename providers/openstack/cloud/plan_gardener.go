package cloud

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/api/machine/v1alpha1"

	"github.com/millwright-dev/millwright/providers/openstack/spec"
)

// gardenerPaths are the fields of machine.sapcloud.io that services may refuse.
var gardenerPaths = map[string]string{
	"flavor": "spec.flavorName", "image": "spec.imageName", "zone": "spec.availabilityZone", "key": "spec.keyName", "group": "spec.serverGroupID",
	"groups": "spec.securityGroups", "metadata": "spec.tags", "tags": "spec.tags", "networks": "spec.networks", "disks": "spec.rootDiskSize",
	"volumeType": "spec.rootDiskType",
}

// ofGardener returns the plan for a spec of machine.sapcloud.io.
func ofGardener(s spec.GardenerSpec) plan {
	p := plan{
		region: s.Region, flavor: s.FlavorName, image: image{id: s.ImageID, name: s.ImageName}, key: s.KeyName, zone: s.AvailabilityZone,
		metadata: s.Tags, configDrive: s.UseConfigDrive, owning: s.Owning(), paths: gardenerPaths,
	}
	slices.Sort(p.owning)
	if s.ServerGroupID != nil {
		p.groupID = *s.ServerGroupID
	}
	if s.ImageID != "" {
		p.paths = maps.Clone(gardenerPaths)
		p.paths["image"] = "spec.imageID"
	}
	for n, name := range s.SecurityGroups {
		p.groups = append(p.groups, groupQuery{path: fmt.Sprintf("spec.securityGroups[%d]", n), query: query{name: name}, either: true})
	}
	p.ports = gardenerPorts(s)
	if s.RootDiskSize > 0 {
		// Nova creates volumes of its default type only.
		p.root = &rootPlan{size: s.RootDiskSize, byNova: s.RootDiskType == nil}
		if !p.root.byNova {
			p.root.kind, p.root.zone, p.root.metadata = *s.RootDiskType, s.AvailabilityZone, s.Tags
		}
	}
	return p
}

// gardenerPorts returns one port for each network. The first has the machine's name, as the original's only
// port has.
func gardenerPorts(s spec.GardenerSpec) (out []portPlan) {
	var pods []v1alpha1.AddressPair
	for _, cidr := range sorted(append([]string{s.PodNetworkCidr}, s.PodNetworkCIDRs...)) {
		pods = append(pods, v1alpha1.AddressPair{IPAddress: cidr})
	}
	if s.NetworkID != "" {
		return []portPlan{{path: "spec.networkID", network: query{id: s.NetworkID}, pairs: pods, fixed: gardenerAddresses(s)}}
	}
	for n, net := range s.Networks {
		port := portPlan{path: fmt.Sprintf("spec.networks[%d]", n), network: query{id: net.ID, name: net.Name}}
		if n > 0 {
			port.suffix = "-" + strconv.Itoa(n)
		}
		if net.PodNetwork {
			port.pairs = pods
		}
		out = append(out, port)
	}
	return out
}

// gardenerAddresses returns one address of each subnet, in the order of the subnets' IDs, as in the
// original: the first address is the node's.
func gardenerAddresses(s spec.GardenerSpec) (out []addressPlan) {
	paths := map[string]string{}
	for n, id := range s.SubnetIDs {
		paths[id] = fmt.Sprintf("spec.subnetIDs[%d]", n)
	}
	if s.SubnetID != nil {
		paths[*s.SubnetID] = "spec.subnetID"
	}
	for _, id := range sorted(slices.Collect(maps.Keys(paths))) {
		out = append(out, addressPlan{path: paths[id], subnet: subnetQuery{query: query{id: id}}})
	}
	return out
}

// sorted returns texts in order, without duplicates and blank ones.
func sorted(all []string) []string {
	all = slices.DeleteFunc(slices.Clone(all), func(s string) bool { return strings.TrimSpace(s) == "" })
	slices.Sort(all)
	return slices.Compact(all)
}
