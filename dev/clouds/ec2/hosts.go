package ec2

import (
	"slices"
	"time"
)

// host is a dedicated host.
type host struct {
	ID, Zone, Type string
	Account        string
	Token          string
	AutoPlacement  string
	Tags           map[string]string
	Allocated      time.Time
}

func allocateHosts(c *Cloud, in *call) ([]node, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	token := "hosts/" + in.account + "/" + in.Get("ClientToken")
	if before, ok := c.tokens[token]; ok && in.Get("ClientToken") != "" {
		if before.request != in.Values.Encode() {
			return nil, refuse("IdempotentParameterMismatch", "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).")
		}
		return []node{texts("hostIdSet", "item", before.ids)}, nil
	}
	zone, t := in.Get("AvailabilityZone"), in.Get("InstanceType")
	_, known := c.typeNamed(t)
	q, n := c.options.Inventory.Quotas.Hosts, int64(len(c.hosts.All()))
	switch {
	case !c.options.AcceptAny && !slices.ContainsFunc(c.options.Inventory.Zones, func(z Zone) bool { return z.Name == zone }):
		return nil, refuse("InvalidParameterValue", "Invalid availability zone: [%s]", zone)
	case !known:
		return nil, refuse("InvalidParameterValue", "Invalid value '%s' for InstanceType.", t)
	case q > 0 && n >= q:
		return nil, refuse("HostLimitExceeded", "You have reached the limit on the number of Dedicated Hosts that you can allocate.")
	case c.Lacks(zone, zone+"/host"):
		return nil, refuse("InsufficientHostCapacity", "There is not enough capacity to fulfill your Dedicated Host request in the Availability Zone %s", zone)
	}
	h := host{
		ID: newID("h"), Zone: zone, Type: t, Account: in.account, Token: in.Get("ClientToken"), AutoPlacement: in.Get("AutoPlacement"),
		Tags: tagsFor(in.Form, "dedicated-host"), Allocated: c.clock.Now(),
	}
	c.hosts.Put(h.ID, h)
	c.tokens[token] = answered{request: in.Values.Encode(), ids: []string{h.ID}}
	return []node{texts("hostIdSet", "item", []string{h.ID})}, nil
}

// releaseHosts answers for each host whether it was released. The whole answer is a success in any case.
func releaseHosts(c *Cloud, in *call) ([]node, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var done []string
	var failed [][]node
	for _, id := range in.List("HostId") {
		_, ok := c.hosts.Get(id)
		switch {
		case !ok:
			failed = append(failed, unsuccessful(id, "Client.InvalidHost.NotFound", "The specified host ID '"+id+"' does not exist"))
		case c.occupied(id):
			failed = append(failed, unsuccessful(id, "Client.InvalidHost.Occupied", "Dedicated host '"+id+"' cannot be released as it is occupied"))
		default:
			c.hosts.Delete(id)
			done = append(done, id)
		}
	}
	return []node{texts("successful", "item", done), set("unsuccessful", failed...)}, nil
}

func unsuccessful(id, code, message string) []node {
	return []node{el("resourceId", id), el("error", el("code", code), el("message", message))}
}

func (c *store) occupied(id string) bool {
	return slices.ContainsFunc(c.instances.All(), func(i instance) bool { return i.Host == id && c.state(i) != terminated })
}

func describeHosts(c *Cloud, in *call) ([]node, *failure) {
	ids := in.List("HostId")
	id := func(h host) string { return h.ID }
	// EC2 calls this parameter Filter, and pages the answer.
	all, no := filtered(in, c.hosts.All(), ids, id, func(h host) attributes {
		return tagged(h.Tags, map[string][]string{"availability-zone": {h.Zone}, "instance-type": {h.Type}, "state": {"available"}, "client-token": {h.Token}, "auto-placement": {h.AutoPlacement}})
	})
	if no == nil && len(all) < len(ids) {
		no = refuse("InvalidHostID.NotFound", "The specified host does not exist")
	}
	if no != nil {
		return nil, no
	}
	all, next, no := page(c, in, all, id)
	var items [][]node
	for _, h := range all {
		var guests [][]node
		for _, i := range c.instances.All() {
			if i.Host == h.ID && c.state(i) != terminated {
				guests = append(guests, []node{el("instanceId", i.ID), el("instanceType", i.Type), el("ownerId", i.Account)})
			}
		}
		items = append(items, []node{
			el("hostId", h.ID), el("autoPlacement", h.AutoPlacement), el("availabilityZone", h.Zone), el("state", "available"), el("allocationTime", h.Allocated), opt("clientToken", h.Token),
			el("hostProperties", el("cores", "48"), el("sockets", "2"), el("instanceType", h.Type), el("totalVCpus", "96")), set("instances", guests...), tagSet(h.Tags),
		})
	}
	return []node{set("hostSet", items...), next}, no
}
