package ec2

import "strings"

// checkPlacement finds the host for an instance.
func (c launcher) checkPlacement(o *order) *failure {
	id, tenancy := o.Get("Placement.HostId"), o.Get("Placement.Tenancy")
	switch {
	case id == "" && tenancy != "host":
		return nil
	case id != "":
		if tenancy != "host" {
			return refuse("InvalidParameterCombination", "A host can be given with the tenancy 'host' only")
		}
		h, ok := c.hosts.Get(id)
		if !ok && c.options.AcceptAny {
			h, ok = host{ID: id, Zone: o.zone, Type: o.typ.Name, AutoPlacement: "on", Allocated: c.clock.Now()}, true
			c.hosts.Put(id, h)
		}
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

// onHost is the capacity of a host for instances.
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

// standard are the families whose vCPUs EC2 counts together.
const standard = "acdhimrtz"

// bucket is the bucket for the vCPUs of a type: the letters with which its family begins, or "standard" for a standard
// family.
func bucket(instanceType string, spot bool) string {
	name := family(instanceType)
	if n := strings.IndexFunc(name, func(r rune) bool { return r < 'a' || r > 'z' }); n >= 0 {
		name = name[:n]
	}
	switch {
	case len(name) == 1 && strings.Contains(standard, name):
		name = "standard"
	case name == "vt":
		name = "g"
	}
	if spot {
		return name + "/spot"
	}
	return name
}

// usage is the account's current usage in the bucket of an order.
type usage struct {
	placed map[string]int // instances by zone, and by zone/type
	alike  int64          // of its type, on demand or spot
	vcpus  int64          // in its bucket
}

func (c launcher) usage(o order) usage {
	u := usage{placed: map[string]int{}}
	for _, i := range c.instances.All() {
		if state := c.state(i); state == terminated || state == shuttingDown {
			continue
		}
		if t, _ := c.typeNamed(i.Type); bucket(i.Type, i.spot()) == bucket(o.typ.Name, o.spot()) {
			u.vcpus += t.VCPUs
		}
		if i.Type == o.typ.Name && i.spot() == o.spot() {
			u.alike++
		}
		u.placed[i.Zone]++
		u.placed[i.Zone+"/"+i.Type]++
	}
	return u
}

func (o order) spot() bool { return o.Get("InstanceMarketOptions.MarketType") == "spot" }

// mostVCPUs is the limit of an order's bucket; false if there is no limit.
func (q Quotas) mostVCPUs(o order) (int64, bool) {
	if most, ok := q.Buckets[bucket(o.typ.Name, o.spot())]; ok {
		return most, true
	}
	if o.spot() {
		return q.SpotVCPUs, q.SpotVCPUs > 0
	}
	return q.VCPUs, q.VCPUs > 0
}

// room refuses an order if capacity or quota is missing.
func (c launcher) room(o order) *failure {
	q, u := c.options.Inventory.Quotas, c.usage(o)
	most, bounded := q.mostVCPUs(o)
	over := bounded && u.vcpus+o.typ.VCPUs > most
	switch {
	case over && o.spot():
		return refuse("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
	case over:
		return refuse("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.", most)
	case q.Instances > 0 && u.alike+1 > q.Instances:
		return refuse("InstanceLimitExceeded", "You have requested more instances (%d) than your current instance limit of %d allows for the specified instance type.", u.alike+1, q.Instances)
	}
	if c.Full(u.placed, o.zone, o.zone+"/"+o.typ.Name) {
		return refuse("InsufficientInstanceCapacity", "We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). Our system will be working on provisioning additional capacity. You can currently get %s capacity by not specifying an Availability Zone in your request or choosing another one.", o.typ.Name, o.zone, o.typ.Name)
	}
	return nil
}
