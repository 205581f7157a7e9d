package cloud

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/openshift/api/machine/v1alpha1"

	"github.com/millwright-dev/millwright/providers/openstack/spec"
)

// openshiftPaths are the fields of machine.openshift.io that services may refuse.
var openshiftPaths = map[string]string{
	"flavor": "flavor", "image": "image", "zone": "availabilityZone", "key": "keyName", "group": "serverGroupID", "groups": "securityGroups",
	"metadata": "serverMetadata", "tags": "tags", "networks": "networks", "disks": "additionalBlockDevices", "volumeType": "rootVolume.volumeType",
	"userData": "userDataSecret", "floating": "floatingIP", "groupName": "serverGroupName",
}

// ofOpenShift returns the plan for a spec of machine.openshift.io. It ignores fields that the original
// ignores; the webhook warns of them.
func ofOpenShift(s *spec.OpenShift) plan {
	p := plan{
		cloud: s.CloudName, flavor: s.Flavor, image: image{name: s.Image}, key: s.KeyName, zone: s.AvailabilityZone, tags: s.Tags,
		metadata: s.ServerMetadata, configDrive: s.ConfigDrive, groupID: s.ServerGroupID, groupName: s.ServerGroupName,
		floating: s.FloatingIP, //nolint:staticcheck // Specs still have it.
		paths:    openshiftPaths,
	}
	if u := s.UserDataSecret; u != nil && u.Name != "" {
		p.userData = &secretName{u.Namespace, u.Name}
	}
	for n, net := range s.Networks {
		p.ports = append(p.ports, networkPorts(fmt.Sprintf("networks[%d]", n), net, s.Trunk)...)
	}
	for n, port := range s.Ports {
		p.ports = append(p.ports, port1(fmt.Sprintf("ports[%d]", n), port, s.Trunk))
	}
	for n := range p.ports {
		p.ports[n].suffix = "-" + cmp.Or(p.ports[n].suffix, strconv.Itoa(n))
	}
	for n, g := range s.SecurityGroups {
		p.groups = append(p.groups, group(fmt.Sprintf("securityGroups[%d]", n), g))
	}
	if r := s.RootVolume; r != nil && r.Size > 0 {
		p.root = &rootPlan{size: r.Size, kind: r.VolumeType, zone: cmp.Or(r.Zone, s.AvailabilityZone), suffix: "root"}
	}
	if r := s.RootVolume; r != nil && r.SourceUUID != "" {
		// The installer writes the name of an image here, and the original only looks for a name.
		p.image = image{name: r.SourceUUID}
		p.paths = maps.Clone(p.paths)
		p.paths["image"] = "rootVolume.sourceUUID"
	}
	for _, d := range s.AdditionalBlockDevices {
		plan := diskPlan{name: d.Name, size: d.SizeGiB, volume: d.Storage.Type == v1alpha1.VolumeBlockDevice}
		if v := d.Storage.Volume; v != nil {
			plan.kind, plan.zone = v.Type, v.AvailabilityZone
		}
		plan.zone = cmp.Or(plan.zone, s.AvailabilityZone)
		p.disks = append(p.disks, plan)
	}
	return p
}

// networkPorts returns the ports of one entry of networks: one with an address of each of its subnets. If
// only subnets identify the network, each of them has a port of its own, as they may be of several
// networks. An empty entry has no port.
func networkPorts(path string, n v1alpha1.NetworkParam, trunk bool) (out []portPlan) {
	port := portPlan{
		path: path, network: networkQuery(n), vips: !n.NoAllowedAddressPairs, tags: n.PortTags, vnic: n.VNICType, profile: n.Profile,
		secured: n.PortSecurity, trunk: trunk,
	}
	for m, s := range n.Subnets {
		address := addressPlan{path: fmt.Sprintf("%s.subnets[%d]", path, m), subnet: subnet(s)}
		one := port
		one.fixed = []addressPlan{address}
		one.tags = slices.Concat(n.PortTags, s.PortTags)
		out = append(out, one)
		port.fixed = append(port.fixed, address)
		port.tags = slices.Concat(port.tags, s.PortTags)
	}
	if port.network.empty() {
		return out
	}
	return []portPlan{port}
}

func networkQuery(n v1alpha1.NetworkParam) query {
	f := n.Filter
	if id := cmp.Or(n.UUID, f.ID); id != "" { //nolint:staticcheck // Specs still have it.
		return query{id: id}
	}
	return query{
		name: f.Name, description: f.Description, project: cmp.Or(f.ProjectID, f.TenantID), tags: f.Tags, tagsAny: f.TagsAny,
		notTags: f.NotTags, notTagsAny: f.NotTagsAny,
	}
}

func subnet(s v1alpha1.SubnetParam) subnetQuery {
	f := s.Filter
	if id := cmp.Or(s.UUID, f.ID); id != "" {
		return subnetQuery{query: query{id: id}}
	}
	return subnetQuery{
		query: query{
			name: f.Name, description: f.Description, project: cmp.Or(f.ProjectID, f.TenantID), tags: f.Tags, tagsAny: f.TagsAny,
			notTags: f.NotTags, notTagsAny: f.NotTagsAny,
		},
		version: f.IPVersion, gateway: f.GatewayIP, cidr: f.CIDR, addressMode: f.IPv6AddressMode, raMod: f.IPv6RAMode,
	}
}

func group(path string, g v1alpha1.SecurityGroupParam) groupQuery {
	f := g.Filter
	if id := cmp.Or(g.UUID, f.ID); id != "" {
		return groupQuery{path: path, query: query{id: id}}
	}
	return groupQuery{path: path, query: query{
		name: cmp.Or(g.Name, f.Name), description: f.Description, project: cmp.Or(f.ProjectID, f.TenantID), tags: f.Tags, tagsAny: f.TagsAny,
		notTags: f.NotTags, notTagsAny: f.NotTagsAny,
	}}
}

// port1 is one entry of ports.
func port1(path string, p v1alpha1.PortOpts, trunk bool) portPlan {
	out := portPlan{
		path: path, network: query{id: p.NetworkID}, suffix: p.NameSuffix, description: p.Description, up: p.AdminStateUp, mac: p.MACAddress,
		groups: p.SecurityGroups, pairs: p.AllowedAddressPairs, tags: p.Tags, vnic: p.VNICType, profile: p.Profile, secured: p.PortSecurity, trunk: trunk,
	}
	if p.Trunk != nil {
		out.trunk = *p.Trunk
	}
	for n, f := range p.FixedIPs {
		out.fixed = append(out.fixed, addressPlan{
			path: fmt.Sprintf("%s.fixedIPs[%d]", path, n), subnet: subnetQuery{query: query{id: f.SubnetID}}, ip: f.IPAddress,
		})
	}
	return out
}
