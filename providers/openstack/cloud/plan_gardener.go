package cloud

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/openshift/api/machine/v1alpha1"

	"github.com/millwright-dev/millwright/providers/openstack/spec"
)

// gardenerPaths are the fields of machine.sapcloud.io that services may refuse.
var gardenerPaths = map[string]string{
	"flavor": "spec.flavorName", "image": "spec.imageName", "zone": "spec.availabilityZone", "key": "spec.keyName", "group": "spec.serverGroupID",
	"groups": "spec.securityGroups", "metadata": "spec.tags", "tags": "spec.tags", "networks": "spec.networks", "disks": "spec.rootDiskSize",
	"volumeType": "spec.rootDiskType",
}

// ofGardener is the plan of a spec of machine.sapcloud.io.
func ofGardener(s spec.GardenerSpec) plan {
	p := plan{
		region: s.Region, flavor: s.FlavorName, image: image{id: s.ImageID, name: s.ImageName}, key: s.KeyName, zone: s.AvailabilityZone,
		metadata: s.Tags, configDrive: s.UseConfigDrive, owning: s.Owning(), paths: gardenerPaths,
	}
	slices.Sort(p.owning)
	if s.ServerGroupID != nil {
		p.groupID = *s.ServerGroupID
	}
	if s.ImageID == "" {
		p.image = image{name: s.ImageName}
	}
	for n, name := range s.SecurityGroups {
		p.groups = append(p.groups, groupQuery{path: fmt.Sprintf("spec.securityGroups[%d]", n), query: query{name: name}, either: true})
	}
	p.ports = gardenerPorts(s)
	if s.RootDiskSize > 0 {
		// Nova makes volumes of its default type only.
		p.root = &rootPlan{size: s.RootDiskSize, byNova: s.RootDiskType == nil || *s.RootDiskType == ""}
		if !p.root.byNova {
			p.root.kind, p.root.zone = *s.RootDiskType, s.AvailabilityZone
		}
	}
	return p
}

// gardenerPorts are one port for each network. The first has the machine's name, as the original names its only one.
func gardenerPorts(s spec.GardenerSpec) (out []portPlan) {
	var pods []v1alpha1.AddressPair
	for _, cidr := range append([]string{s.PodNetworkCidr}, s.PodNetworkCIDRs...) {
		if pair := (v1alpha1.AddressPair{IPAddress: cidr}); cidr != "" && !slices.Contains(pods, pair) {
			pods = append(pods, pair)
		}
	}
	if s.NetworkID != "" {
		port := portPlan{path: "spec.networkID", network: query{id: s.NetworkID}, pairs: pods}
		if s.SubnetID != nil && *s.SubnetID != "" {
			port.fixed = append(port.fixed, addressPlan{path: "spec.subnetID", subnet: subnetQuery{query: query{id: *s.SubnetID}}})
		}
		for n, id := range s.SubnetIDs {
			if s.SubnetID == nil || *s.SubnetID != id {
				port.fixed = append(port.fixed, addressPlan{path: fmt.Sprintf("spec.subnetIDs[%d]", n), subnet: subnetQuery{query: query{id: id}}})
			}
		}
		return []portPlan{port}
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
