package ec2

import (
	"slices"
	"strings"
)

func describeSubnets(c *Cloud, in *call) ([]node, *failure) {
	ids := in.List("SubnetId")
	for _, id := range ids {
		if _, ok := c.subnet(in.region, "", id); !ok {
			return nil, refuse("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
		}
	}
	all := generator{c.store}.subnetsOf(in.region)
	all, no := filtered(in, all, ids, func(s Subnet) string { return s.ID }, func(s Subnet) attributes {
		return tagged(s.Tags, map[string][]string{
			"availabilityZone": {s.Zone}, "availability-zone": {s.Zone}, "subnet-id": {s.ID}, "vpc-id": {s.Network}, "state": {"available"},
			"cidrBlock": {s.CIDR}, "cidr-block": {s.CIDR}, "defaultForAz": {word(s.Default)}, "default-for-az": {word(s.Default)},
		})
	})
	if c.options.AcceptFilters && len(all)+len(ids) == 0 {
		all, no = []Subnet{generator{c.store}.subnetAsked(in)}, nil
	}
	var items [][]node
	for _, s := range all {
		items = append(items, []node{
			el("subnetId", s.ID), el("state", "available"), el("vpcId", s.Network), el("cidrBlock", s.CIDR), el("availableIpAddressCount", "4000"),
			el("availabilityZone", s.Zone), el("defaultForAz", s.Default), el("mapPublicIpOnLaunch", s.Default), tagSet(s.Tags),
			el("subnetArn", "arn:aws:ec2:"+in.region+":"+in.account+":subnet/"+s.ID),
		})
	}
	return []node{set("subnetSet", items...)}, no
}

func word(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

func describeSecurityGroups(c *Cloud, in *call) ([]node, *failure) {
	ids, groups := in.List("GroupId"), c.options.Inventory.SecurityGroups
	for _, id := range ids {
		if c.options.AcceptAny && !slices.ContainsFunc(groups, func(g SecurityGroup) bool { return g.ID == id }) {
			groups = append(slices.Clone(groups), SecurityGroup{ID: id, Name: id, Network: idOf("vpc", in.region)})
		}
	}
	all, no := filtered(in, groups, ids, func(g SecurityGroup) string { return g.ID }, func(g SecurityGroup) attributes {
		return tagged(g.Tags, map[string][]string{"group-id": {g.ID}, "group-name": {g.Name}, "vpc-id": {g.Network}})
	})
	if c.options.AcceptFilters && len(all)+len(ids) == 0 {
		all, no = []SecurityGroup{groupAsked(in)}, nil
	}
	if no == nil && len(all) < len(ids) {
		no = refuse("InvalidGroup.NotFound", "The security groups '{%s}' do not exist", strings.Join(ids, ", "))
	}
	var items [][]node
	for _, g := range all {
		items = append(items, []node{el("ownerId", in.account), el("groupId", g.ID), el("groupName", g.Name), el("groupDescription", g.Name), el("vpcId", g.Network), tagSet(g.Tags)})
	}
	return []node{set("securityGroupInfo", items...)}, no
}

func describeImages(c *Cloud, in *call) ([]node, *failure) {
	all, ids := c.options.Inventory.Images, in.List("ImageId")
	for _, id := range ids {
		i, ok := c.image(id)
		switch {
		case !strings.HasPrefix(id, "ami-"):
			return nil, refuse("InvalidAMIID.Malformed", "Invalid id: %q (expecting \"ami-...\")", id)
		case !ok:
			return nil, refuse("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
		case !slices.ContainsFunc(all, func(i Image) bool { return i.ID == id }):
			all = append(slices.Clone(all), i)
		}
	}
	all, no := filtered(in, all, ids, func(i Image) string { return i.ID }, func(i Image) attributes {
		return tagged(i.Tags, map[string][]string{"name": {i.Name}, "image-id": {i.ID}, "architecture": {i.Arch}, "state": {"available"}, "owner-id": {in.account}})
	})
	if c.options.AcceptFilters && len(all)+len(ids) == 0 {
		all, no = []Image{imageAsked(in)}, nil
	}
	var items [][]node
	for _, i := range all {
		items = append(items, []node{
			el("imageId", i.ID), el("imageLocation", in.account+"/"+i.Name), el("imageState", "available"), el("imageOwnerId", in.account), el("isPublic", false),
			el("architecture", i.Arch), el("imageType", "machine"), opt("name", i.Name), el("creationDate", i.Created), el("rootDeviceType", "ebs"),
			el("rootDeviceName", i.RootDevice), el("virtualizationType", "hvm"), el("hypervisor", "xen"), tagSet(i.Tags),
			set("blockDeviceMapping", []node{el("deviceName", i.RootDevice), el("ebs", el("volumeSize", "16"), el("volumeType", "gp3"), el("deleteOnTermination", true), el("encrypted", false))}),
		})
	}
	return []node{set("imagesSet", items...)}, no
}

func describeInstanceTypes(c *Cloud, in *call) ([]node, *failure) {
	names := in.List("InstanceType")
	all := c.options.Inventory.Types
	for _, name := range names {
		t, ok := c.typeNamed(name)
		if !ok {
			return nil, refuse("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", name)
		}
		if !slices.ContainsFunc(all, func(t Type) bool { return t.Name == name }) {
			all = append(slices.Clone(all), t)
		}
	}
	id := func(t Type) string { return t.Name }
	all, no := filtered(in, all, names, id, func(t Type) attributes {
		return tagged(nil, map[string][]string{"instance-type": {t.Name}, "processor-info.supported-architecture": {t.Arch}})
	})
	if no != nil {
		return nil, no
	}
	slices.SortFunc(all, func(a, b Type) int { return strings.Compare(a.Name, b.Name) })
	all, next, no := page(c, in, all, id)
	var items [][]node
	for _, t := range all {
		nodes := []node{
			el("instanceType", t.Name), el("currentGeneration", true), el("vCpuInfo", el("defaultVCpus", t.VCPUs), el("defaultCores", max(1, t.VCPUs/2)), el("defaultThreadsPerCore", "2")),
			el("memoryInfo", el("sizeInMiB", t.MemoryMiB)), el("processorInfo", texts("supportedArchitectures", "item", []string{t.Arch})),
			el("networkInfo", el("maximumNetworkInterfaces", t.Interfaces), el("ipv4AddressesPerInterface", t.AddressesEach)),
		}
		if t.GPUs > 0 {
			nodes = append(nodes, el("gpuInfo", set("gpus", []node{el("name", "V100"), el("manufacturer", t.Manufacturer), el("count", t.GPUs), el("memoryInfo", el("sizeInMiB", "16384"))}), el("totalGpuMemoryInMiB", 16384*t.GPUs)))
		}
		items = append(items, nodes)
	}
	return []node{set("instanceTypeSet", items...), next}, no
}

func describeAvailabilityZones(c *Cloud, in *call) ([]node, *failure) {
	names := in.List("ZoneName")
	all, no := filtered(in, generator{c.store}.zonesNamed(in, names), names, func(z Zone) string { return z.Name }, func(z Zone) attributes {
		return tagged(nil, map[string][]string{"zone-name": {z.Name}, "zone-type": {z.Type}, "state": {"available"}, "region-name": {in.region}})
	})
	if no == nil && len(all) < len(names) {
		no = refuse("InvalidParameterValue", "Invalid availability zone: [%s]", strings.Join(names, ", "))
	}
	var items [][]node
	for _, z := range all {
		kind := z.Type
		if kind == "" {
			kind = "availability-zone"
		}
		items = append(items, []node{el("zoneName", z.Name), el("zoneState", "available"), el("zoneType", kind), el("regionName", in.region), el("groupName", in.region), el("optInStatus", "opt-in-not-required")})
	}
	return []node{set("availabilityZoneInfo", items...)}, no
}

func describeRegions(c *Cloud, in *call) ([]node, *failure) {
	names := in.List("RegionName")
	if len(names) == 0 {
		names = []string{in.region}
	}
	var items [][]node
	for _, name := range names {
		if name != c.options.Inventory.Region && !c.options.AcceptAny {
			return nil, refuse("InvalidParameterValue", "Invalid region: [%s]", name)
		}
		items = append(items, []node{el("regionName", name), el("regionEndpoint", "ec2."+name+".amazonaws.com"), el("optInStatus", "opt-in-not-required")})
	}
	return []node{set("regionInfo", items...)}, nil
}

func describeVpcs(c *Cloud, in *call) ([]node, *failure) {
	ids := in.List("VpcId")
	id := func(n Network) string { return n.ID }
	all, no := filtered(in, generator{c.store}.networksNamed(in, ids, id), ids, id, func(n Network) attributes {
		return tagged(nil, map[string][]string{"vpc-id": {n.ID}, "cidr": {n.CIDR}, "is-default": {word(n.Default)}})
	})
	if no == nil && len(all) < len(ids) {
		no = refuse("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", strings.Join(ids, ", "))
	}
	var items [][]node
	for _, n := range all {
		items = append(items, []node{el("vpcId", n.ID), el("ownerId", in.account), el("state", "available"), el("cidrBlock", n.CIDR), el("dhcpOptionsId", optionsOf(n)), el("instanceTenancy", "default"), el("isDefault", n.Default)})
	}
	return []node{set("vpcSet", items...)}, no
}

// optionsOf is the ID of a network's DHCP options.
func optionsOf(n Network) string { return "dopt-" + strings.TrimPrefix(n.ID, "vpc-") }

func describeDhcpOptions(c *Cloud, in *call) ([]node, *failure) {
	ids := in.List("DhcpOptionsId")
	all, no := filtered(in, generator{c.store}.networksNamed(in, ids, optionsOf), ids, optionsOf, func(n Network) attributes {
		return tagged(nil, map[string][]string{"dhcp-options-id": {optionsOf(n)}})
	})
	var items [][]node
	for _, n := range all {
		var values [][]node
		for _, d := range n.Domains {
			values = append(values, []node{el("value", d)})
		}
		items = append(items, []node{el("dhcpOptionsId", optionsOf(n)), el("ownerId", in.account), set("dhcpConfigurationSet",
			[]node{el("key", "domain-name"), set("valueSet", values...)},
			[]node{el("key", "domain-name-servers"), set("valueSet", []node{el("value", "AmazonProvidedDNS")})})})
	}
	return []node{set("dhcpOptionsSet", items...)}, no
}
