package ec2

import "strings"

// checkPlacement finds the host that an instance is to run on.
func (c launcher) checkPlacement(o *order) *failure {
	id, tenancy := o.get("Placement.HostId"), o.get("Placement.Tenancy")
	switch {
	case id == "" && tenancy != "host":
		return nil
	case id != "":
		if tenancy != "host" {
			return refuse("InvalidParameterCombination", "A host can be given with the tenancy 'host' only")
		}
		h, ok := c.hosts.Get(id)
		if !ok {
			return refuse("InvalidHostID.NotFound", "The specified host ID '%s' does not exist", id)
		}
		if h.Zone != o.zone || family(h.Type) != family(o.typ.Name) {
			return refuse("InvalidHostConfiguration", "The host %s is for %s in %s", id, h.Type, h.Zone)
		}
		if !c.roomOn(h) {
			return refuse("InsufficientCapacityOnHost", "There is not enough capacity on the Dedicated Host %s to launch or start the instance.", id)
		}
		o.host = id
		return nil
	}
	for _, h := range c.hosts.All() {
		if h.AutoPlacement == "on" && h.Zone == o.zone && family(h.Type) == family(o.typ.Name) && c.roomOn(h) {
			o.host = h.ID
			return nil
		}
	}
	return refuse("InsufficientHostCapacity", "There is not enough capacity to fulfill your Dedicated Host request in the Availability Zone %s", o.zone)
}

// onHost is how many instances a host has room for.
const onHost = 4

func (c launcher) roomOn(h host) bool {
	n := 0
	for _, i := range c.instances.All() {
		if i.Host == h.ID && c.state(i) != terminated {
			n++
		}
	}
	return n < onHost
}

func family(instanceType string) string {
	name, _, _ := strings.Cut(instanceType, ".")
	return name
}

// room refuses what there is no capacity or no quota for.
func (c launcher) room(o order) *failure {
	inZone, ofType, vcpus, spot, count := 0, 0, int64(0), int64(0), int64(0)
	for _, i := range c.instances.All() {
		if state := c.state(i); state == terminated || state == shuttingDown {
			continue
		}
		t, _ := c.typeNamed(i.Type)
		if count++; i.spot() {
			spot += t.VCPUs
		} else {
			vcpus += t.VCPUs
		}
		if i.Zone == o.zone {
			inZone++
			if i.Type == o.typ.Name {
				ofType++
			}
		}
	}
	q, isSpot := c.options.Inventory.Quotas, o.get("InstanceMarketOptions.MarketType") == "spot"
	switch {
	case !isSpot && q.VCPUs > 0 && vcpus+o.typ.VCPUs > q.VCPUs:
		return refuse("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.", q.VCPUs)
	case isSpot && q.SpotVCPUs > 0 && spot+o.typ.VCPUs > q.SpotVCPUs:
		return refuse("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
	case q.Instances > 0 && count+1 > q.Instances:
		return refuse("InstanceLimitExceeded", "You have requested more instances (%d) than your current instance limit of %d allows for the specified instance type.", count+1, q.Instances)
	}
	return c.stock(o, inZone, ofType)
}

// stock refuses what a zone has no more of.
func (c launcher) stock(o order, inZone, ofType int) *failure {
	for place, have := range map[string]int{o.zone: inZone, o.zone + "/" + o.typ.Name: ofType} {
		limit, limited := c.options.Inventory.Capacity[place]
		if c.exhausted[place] || limited && have >= limit {
			return refuse("InsufficientInstanceCapacity", "We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). Our system will be working on provisioning additional capacity. You can currently get %s capacity by not specifying an Availability Zone in your request or choosing another one.", o.typ.Name, o.zone, o.typ.Name)
		}
	}
	return nil
}
