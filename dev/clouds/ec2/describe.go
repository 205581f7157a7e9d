package ec2

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

func tagSet(tags map[string]string) node {
	var items [][]node
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		items = append(items, []node{el("key", k), el("value", tags[k])})
	}
	return set("tagSet", items...)
}

func describeInstances(c *Cloud, in *call) ([]node, *failure) {
	ids, lag := in.List("InstanceId"), c.Lag()
	if len(ids) > 0 && in.Get("MaxResults") != "" {
		return nil, refuse("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	all := c.listed(in, lag)
	no := asked(ids, "i-", "InvalidInstanceID.Malformed", "InvalidInstanceID.NotFound", "instance", func(id string) bool {
		return slices.ContainsFunc(all, func(i instance) bool { return i.ID == id })
	})
	if no != nil {
		return nil, no
	}
	at := c.clock.Now().Add(-lag)
	id := func(i instance) string { return i.ID }
	all, no = filtered(in, all, ids, id, func(i instance) attributes { return c.instanceAttributes(i, at) })
	if no != nil {
		return nil, no
	}
	all, next, no := page(c, in, all, id)
	if no != nil {
		return nil, no
	}
	var reservations [][]node
	for _, i := range all {
		reservations = append(reservations, c.reservation(i, at))
	}
	return []node{set("reservationSet", reservations...), next}, nil
}

func (c describer) instanceAttributes(i instance, at time.Time) attributes {
	lifecycle := "scheduled"
	if i.spot() {
		lifecycle = "spot"
	}
	return tagged(i.Tags, map[string][]string{
		"client-token": {i.Request.Get("ClientToken")}, "instance-state-name": {c.stateAt(i, at)}, "instance-id": {i.ID},
		"instance-state-code": {strconv.Itoa(stateCodes[c.stateAt(i, at)])}, "instance-type": {i.Type}, "image-id": {i.Request.Get("ImageId")},
		"availability-zone": {i.Zone}, "instance-lifecycle": {lifecycle}, "host-id": {i.Host}, "reservation-id": {i.Reservation},
		"owner-id": {i.Account}, "private-dns-name": {c.privateName(i)}, "subnet-id": {c.primary(i).Subnet.ID}, "vpc-id": {c.primary(i).Subnet.Network},
		"private-ip-address": {c.primary(i).Address}, "key-name": {i.Request.Get("KeyName")},
		"placement-group-name": {i.Request.Get("Placement.GroupName")},
	})
}

// primary is the first network interface; empty after the instance has ended.
func (c *store) primary(i instance) networkInterface {
	for _, id := range i.Interfaces {
		if n, ok := c.interfaces.Get(id); ok && n.Instance == i.ID {
			return n
		}
	}
	return networkInterface{}
}

// privateName is the private DNS name of an instance. It contains the address, or the ID if the request says so.
func (c *store) privateName(i instance) string {
	if i.Request.Get("PrivateDnsNameOptions.HostnameType") == "resource-name" {
		return i.ID + "." + domainOf(c.region(i.Zone))
	}
	return dnsName(c.primary(i).Address, c.region(i.Zone))
}

// reservation is the answer of RunInstances, and each entry of DescribeInstances.
func (c describer) reservation(i instance, at time.Time) []node {
	return []node{
		el("reservationId", i.Reservation), el("ownerId", i.Account), set("groupSet"), set("instancesSet", c.instanceNodes(i, at)),
	}
}

func (c describer) instanceNodes(i instance, at time.Time) []node {
	state, why, first := c.stateAt(i, at), c.reasonAt(i, at), c.primary(i)
	image, _ := c.image(i.Request.Get("ImageId"))
	nodes := []node{
		el("instanceId", i.ID), el("imageId", image.ID), el("instanceState", el("code", stateCodes[state]), el("name", state)),
		el("privateDnsName", c.privateName(i)), el("dnsName", publicName(first.Public)), el("reason", i.transition(state)),
		opt("keyName", i.Request.Get("KeyName")), el("amiLaunchIndex", "0"), el("instanceType", i.Type), el("launchTime", i.Made),
		c.placementOf(i), el("monitoring", el("state", monitoring(i))), opt("subnetId", first.Subnet.ID), opt("vpcId", first.Subnet.Network),
		opt("privateIpAddress", first.Address), opt("ipAddress", first.Public), el("sourceDestCheck", first.Checks),
		groupSet(first.Groups), el("architecture", image.Arch), el("rootDeviceType", "ebs"), el("rootDeviceName", image.RootDevice),
		c.mappings(i), el("virtualizationType", "hvm"), el("clientToken", i.Request.Get("ClientToken")), tagSet(i.Tags),
		el("hypervisor", "xen"), c.interfaceSet(i, state, at), el("ebsOptimized", i.Request.Yes("EbsOptimized")),
		opt("capacityReservationId", i.Request.Get("CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId")),
	}
	if i.spot() {
		nodes = append(nodes, el("instanceLifecycle", "spot"), el("spotInstanceRequestId", spotRequest(i)))
	}
	if why.Code != "" && state != running && state != pending {
		nodes = append(nodes, el("stateReason", el("code", why.Code), el("message", why.Message)))
	}
	if profile := i.Request.Get("IamInstanceProfile.Name"); profile != "" {
		nodes = append(nodes, el("iamInstanceProfile", el("arn", "arn:aws:iam::"+i.Account+":instance-profile/"+profile), el("id", "AIPACKCEVSQ6C2EXAMPLE")))
	}
	return append(nodes, i.options()...)
}

// options are the options of the request, which the answer repeats.
func (i instance) options() []node {
	meta, cpu := i.Request.In("MetadataOptions"), i.Request.In("CpuOptions")
	or := func(value, usual string) string {
		if value == "" {
			return usual
		}
		return value
	}
	return []node{
		el("metadataOptions", el("state", "applied"), el("httpTokens", or(meta.Get("HttpTokens"), "optional")),
			el("httpPutResponseHopLimit", or(meta.Get("HttpPutResponseHopLimit"), "1")), el("httpEndpoint", or(meta.Get("HttpEndpoint"), "enabled")),
			el("httpProtocolIpv6", or(meta.Get("HttpProtocolIpv6"), "disabled"))),
		el("cpuOptions", el("coreCount", or(cpu.Get("CoreCount"), "1")), el("threadsPerCore", or(cpu.Get("ThreadsPerCore"), "2")), opt("amdSevSnp", cpu.Get("AmdSevSnp"))),
	}
}

func monitoring(i instance) string {
	if i.Request.Yes("Monitoring.Enabled") {
		return "enabled"
	}
	return "disabled"
}

// transition is EC2's legacy text about a change of an instance's state.
func (i instance) transition(state string) string {
	if i.Reason.Code == "Client.UserInitiatedShutdown" && state != running && state != pending {
		return "User initiated (" + i.Since.UTC().Format("2006-01-02 15:04:05") + " GMT)"
	}
	return ""
}

func (c describer) placementOf(i instance) node {
	p := i.Request.In("Placement")
	tenancy := p.Get("Tenancy")
	if tenancy == "" {
		tenancy = "default"
	}
	return el("placement", el("availabilityZone", i.Zone), el("groupName", p.Get("GroupName")), opt("groupId", p.Get("GroupId")), el("tenancy", tenancy),
		opt("hostId", i.Host), opt("affinity", p.Get("Affinity")), opt("partitionNumber", p.Get("PartitionNumber")))
}

func groupSet(ids []string) node {
	var items [][]node
	for _, id := range ids {
		items = append(items, []node{el("groupId", id), el("groupName", id)})
	}
	return set("groupSet", items...)
}

func (c describer) mappings(i instance) node {
	var items [][]node
	for _, a := range i.Volumes {
		if v, ok := c.volumes.Get(a.ID); ok && v.Instance == i.ID {
			items = append(items, []node{el("deviceName", a.Device), el("ebs", el("volumeId", v.ID), el("status", "attached"),
				el("attachTime", i.Made), el("deleteOnTermination", v.Goes))})
		}
	}
	return set("blockDeviceMapping", items...)
}

func (c describer) interfaceSet(i instance, state string, at time.Time) node {
	var items [][]node
	lag := c.clock.Now().Sub(at)
	for n, id := range i.Interfaces {
		nic, ok := c.interfaces.GetBehind(id, lag)
		if !ok || nic.Instance != i.ID || state == terminated {
			continue
		}
		items = append(items, append(c.interfaceNodes(nic), el("attachment", el("attachmentId", "eni-attach-"+nic.ID[4:]), el("deviceIndex", nic.Device),
			el("status", "attached"), el("attachTime", i.Made), el("deleteOnTermination", nic.Goes), el("networkCardIndex", nic.Card))))
		_ = n
	}
	return set("networkInterfaceSet", items...)
}

func (c describer) interfaceNodes(n networkInterface) []node {
	var sixes, prefixes [][]node
	for k, a := range n.IPv6 {
		sixes = append(sixes, []node{el("ipv6Address", a), el("isPrimaryIpv6", n.PrimaryIPv6 && k == 0)})
	}
	for _, p := range n.Prefixes {
		prefixes = append(prefixes, []node{el("ipv6Prefix", p)})
	}
	status, name := "in-use", dnsName(n.Address, c.region(n.Subnet.Zone))
	if n.Instance == "" {
		status = "available"
	}
	return []node{
		el("networkInterfaceId", n.ID), el("subnetId", n.Subnet.ID), el("vpcId", n.Subnet.Network), el("description", n.Description), el("ownerId", n.Account),
		el("status", status), el("privateIpAddress", n.Address), el("privateDnsName", name), el("sourceDestCheck", n.Checks), groupSet(n.Groups),
		el("interfaceType", n.Kind), set("privateIpAddressesSet", []node{el("privateIpAddress", n.Address), el("privateDnsName", name), el("primary", true)}),
		set("ipv6AddressesSet", sixes...), set("ipv6PrefixSet", prefixes...),
	}
}
