package ec2

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
)

// actions are the served actions, by operation.
var actions = map[string]func(*Cloud, *call) ([]node, *failure){
	"RunInstances": runInstances, "DescribeInstances": describeInstances, "TerminateInstances": terminateInstances,
	"StopInstances": stopInstances, "StartInstances": startInstances, "RebootInstances": rebootInstances, "GetConsoleOutput": getConsoleOutput,
	"CreateTags": createTags, "ModifyNetworkInterfaceAttribute": modifyNetworkInterfaceAttribute, "AssignIpv6Addresses": assignIpv6Addresses,
	"AllocateHosts": allocateHosts, "ReleaseHosts": releaseHosts, "DescribeHosts": describeHosts, "DescribeVolumes": describeVolumes,
	"DescribeSubnets": describeSubnets, "DescribeSecurityGroups": describeSecurityGroups, "DescribeImages": describeImages,
	"DescribeInstanceTypes": describeInstanceTypes, "DescribeAvailabilityZones": describeAvailabilityZones, "DescribeRegions": describeRegions,
	"DescribeVpcs": describeVpcs, "DescribeDhcpOptions": describeDhcpOptions, "DescribeSpotInstanceRequests": describeSpotInstanceRequests,
	"sts.GetCallerIdentity": getCallerIdentity, "sts.AssumeRoleWithWebIdentity": assumeRoleWithWebIdentity,
	"elb.DescribeLoadBalancers": describeClassic, "elb.RegisterInstancesWithLoadBalancer": registerInstances, "elb.DeregisterInstancesFromLoadBalancer": deregisterInstances,
	"elbv2.DescribeLoadBalancers": describeLoadBalancers, "elbv2.DescribeTargetGroups": describeTargetGroups, "elbv2.DescribeTargetHealth": describeTargetHealth,
	"elbv2.RegisterTargets": registerTargets, "elbv2.DeregisterTargets": deregisterTargets,
}

// known refuses unknown IDs of instances. Requests that write see new instances without lag.
func (c *store) known(in *call, ids []string) *failure {
	return asked(ids, "i-", "InvalidInstanceID.Malformed", "InvalidInstanceID.NotFound", "instance", func(id string) bool {
		return slices.ContainsFunc(c.listed(in, 0), func(i instance) bool { return i.ID == id })
	})
}

// changeStates changes the requested state of the instances of a request: of all, or of none.
func (c reconciler) changeStates(in *call, wish string, why reason, refused ...string) ([]node, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := in.List("InstanceId")
	if no := c.known(in, ids); no != nil {
		return nil, no
	}
	var items [][]node
	for _, id := range ids {
		i, _ := c.instances.Get(id)
		if state := c.state(i); slices.Contains(refused, state) {
			return nil, refuse("IncorrectInstanceState", "This instance '%s' is not in a state from which it can be %s.", id, map[string]string{"run": "started", "stop": "stopped"}[wish])
		}
	}
	for _, id := range ids {
		i, _ := c.instances.Get(id)
		before := c.state(i)
		c.wish(id, wish, why)
		i, _ = c.instances.Get(id)
		after := c.state(i)
		items = append(items, []node{
			el("instanceId", id), el("currentState", el("code", stateCodes[after]), el("name", after)), el("previousState", el("code", stateCodes[before]), el("name", before)),
		})
	}
	return []node{set("instancesSet", items...)}, nil
}

var byUser = reason{"Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown"}

func terminateInstances(c *Cloud, in *call) ([]node, *failure) {
	return c.changeStates(in, "terminate", byUser)
}

func stopInstances(c *Cloud, in *call) ([]node, *failure) {
	for _, id := range in.List("InstanceId") {
		if i, ok := c.instances.Get(id); ok && i.spot() {
			return nil, refuse("UnsupportedOperation", "You can't stop the Spot Instance '%s' because it is associated with a one-time Spot Instance request.", id)
		}
	}
	return c.changeStates(in, "stop", byUser, pending, shuttingDown, terminated)
}

func startInstances(c *Cloud, in *call) ([]node, *failure) {
	return c.changeStates(in, "run", reason{}, stopping, shuttingDown, terminated)
}

func rebootInstances(c *Cloud, in *call) ([]node, *failure) {
	ids := in.List("InstanceId")
	if no := c.known(in, ids); no != nil {
		return nil, no
	}
	for _, id := range ids {
		i, _ := c.instances.Get(id)
		if state := c.state(i); state != running {
			return nil, refuse("IncorrectState", "The instance '%s' is not in the state running, but %s", id, state)
		}
		c.instances.Change(id, func(i *instance) {
			i.Boots++
		})
	}
	return []node{el("return", true)}, nil
}

func getConsoleOutput(c *Cloud, in *call) ([]node, *failure) {
	id := in.Get("InstanceId")
	if no := c.known(in, []string{id}); no != nil {
		return nil, no
	}
	i, _ := c.instances.Get(id)
	output := ""
	if state := c.state(i); state != pending {
		output = fmt.Sprintf("[    0.000000] Linux version 6.1\r\n[    1.000000] boot %d of %s\r\nlogin: ", i.Boots+1, i.ID)
	}
	return []node{el("instanceId", id), el("timestamp", c.clock.Now()), el("output", base64.StdEncoding.EncodeToString([]byte(output)))}, nil
}

func createTags(c *Cloud, in *call) ([]node, *failure) {
	tags, ids := in.Tags("Tag"), in.List("ResourceId")
	if no := checkTagTexts(tags); no != nil {
		return nil, no
	}
	for _, id := range ids {
		if !c.tag(id, tags) {
			return nil, refuse("InvalidID", "The ID '%s' is not valid", id)
		}
	}
	return []node{el("return", true)}, nil
}

func (c reconciler) tag(id string, tags map[string]string) bool {
	merged := func(old map[string]string) map[string]string { return instance{Tags: old}.tagged(tags).Tags }
	return c.instances.Update(id, func(i instance) instance { return i.tagged(tags) }) ||
		c.volumes.Update(id, func(v volume) volume {
			v.Tags = merged(v.Tags)
			return v
		}) || c.interfaces.Update(id, func(n networkInterface) networkInterface {
		n.Tags = merged(n.Tags)
		return n
	}) || c.hosts.Update(id, func(h host) host {
		h.Tags = merged(h.Tags)
		return h
	})
}

func modifyNetworkInterfaceAttribute(c *Cloud, in *call) ([]node, *failure) {
	id := in.Get("NetworkInterfaceId")
	ok := c.interfaces.Update(id, func(n networkInterface) networkInterface {
		if v := in.Get("SourceDestCheck.Value"); v != "" {
			n.Checks = v == "true"
		}
		return n
	})
	if !ok {
		return nil, refuse("InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '%s' does not exist", id)
	}
	return []node{el("return", true)}, nil
}

func assignIpv6Addresses(c *Cloud, in *call) ([]node, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := in.Get("NetworkInterfaceId")
	var addresses, prefixes []string
	ok := c.interfaces.Update(id, func(n networkInterface) networkInterface {
		addresses = c.freeIPv6(n.Subnet, in.Number("Ipv6AddressCount"), false)
		prefixes = c.freeIPv6(n.Subnet, in.Number("Ipv6PrefixCount"), true)
		n.IPv6, n.Prefixes = append(slices.Clone(n.IPv6), addresses...), append(slices.Clone(n.Prefixes), prefixes...)
		return n
	})
	if !ok {
		return nil, refuse("InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '%s' does not exist", id)
	}
	return []node{el("networkInterfaceId", id), texts("assignedIpv6Addresses", "item", addresses), texts("assignedIpv6PrefixSet", "item", prefixes)}, nil
}

func describeVolumes(c *Cloud, in *call) ([]node, *failure) {
	id := func(v volume) string { return v.ID }
	all, no := filtered(in, c.volumes.All(), in.List("VolumeId"), id, func(v volume) attributes {
		return tagged(v.Tags, map[string][]string{"volume-id": {v.ID}, "attachment.instance-id": {v.Instance}, "status": {volumeStatus(v)}})
	})
	if no != nil {
		return nil, no
	}
	all, next, no := page(c, in, all, id)
	var items [][]node
	for _, v := range all {
		attachments := set("attachmentSet")
		if v.Instance != "" {
			attachments = set("attachmentSet", []node{el("volumeId", v.ID), el("instanceId", v.Instance), el("device", v.Device), el("status", "attached"), el("deleteOnTermination", v.Goes)})
		}
		items = append(items, []node{
			el("volumeId", v.ID), el("size", strconv.FormatInt(v.Size, 10)), el("snapshotId", v.Ebs.Get("SnapshotId")), el("availabilityZone", v.Zone), el("status", volumeStatus(v)),
			el("createTime", v.Made), attachments, tagSet(v.Tags), el("volumeType", v.Kind), opt("iops", v.Ebs.Get("Iops")), opt("throughput", v.Ebs.Get("Throughput")),
			el("encrypted", v.Ebs.Yes("Encrypted")), opt("kmsKeyId", v.Ebs.Get("KmsKeyId")),
		})
	}
	return []node{set("volumeSet", items...), next}, no
}

func volumeStatus(v volume) string {
	if v.Instance == "" {
		return "available"
	}
	return "in-use"
}

func describeSpotInstanceRequests(c *Cloud, in *call) ([]node, *failure) {
	var items [][]node
	ids := in.List("SpotInstanceRequestId")
	for _, i := range c.listed(in, 0) {
		if !i.spot() || len(ids) > 0 && !slices.Contains(ids, spotRequest(i)) {
			continue
		}
		state, status := "active", "fulfilled"
		switch why := c.reasonAt(i, c.clock.Now()); {
		case c.state(i) == terminated && why.Code == "Server.SpotInstanceTermination":
			state, status = "closed", "instance-terminated-no-capacity"
		case c.state(i) == terminated:
			state, status = "closed", "instance-terminated-by-user"
		case !i.Interrupted.IsZero():
			status = "marked-for-termination"
		}
		items = append(items, []node{
			el("spotInstanceRequestId", spotRequest(i)), el("state", state), el("status", el("code", status)), el("instanceId", i.ID), el("type", "one-time"),
			opt("spotPrice", i.Request.Get("InstanceMarketOptions.SpotOptions.MaxPrice")), el("createTime", i.Made), el("launchedAvailabilityZone", i.Zone),
		})
	}
	if len(items) < len(ids) {
		return nil, refuse("InvalidSpotInstanceRequestID.NotFound", "The spot instance request ID '%s' does not exist", ids[0])
	}
	return []node{set("spotInstanceRequestSet", items...)}, nil
}

// spotRequest is the ID of a spot instance's request.
func spotRequest(i instance) string { return "sir-" + i.ID[len(i.ID)-8:] }
