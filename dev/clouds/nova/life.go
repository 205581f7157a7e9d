package nova

import (
	"encoding/base64"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// place finds a host with capacity. If no host has capacity, the server was accepted nevertheless, and fails.
func (k buying) place(s *server) {
	counts := map[string]int{}
	for _, o := range k.all.All() {
		if o.fault == nil {
			counts[o.zone]++
			counts[o.zone+"/"+o.flavor.Name]++
		}
	}
	if k.closed[s.zone] || k.Full(counts, s.zone, s.zone+"/"+s.flavor.Name) {
		s.fault = &fault{500, "No valid host was found. ", k.now}
	}
}

// settle applies the changes that are due.
func (c *Cloud) settle(now time.Time) {
	for _, s := range c.all.All() {
		if ends(c, s, now) {
			continue
		}
		if s.fault != nil || !s.launched.IsZero() || !s.deleting.IsZero() {
			continue
		}
		if !s.attached && now.Sub(s.created) >= c.Boot/2 {
			c.attach(s.id, now)
		}
		if t := s.created.Add(c.Boot); !now.Before(t) {
			c.change(s.id, func(s *server) {
				if s.fault == nil {
					s.launched = t
				}
			})
		}
	}
}

// ends deletes a server whose deletion is due, and reports whether it is deleted.
func ends(c *Cloud, s server, now time.Time) bool {
	switch {
	case !s.soft.IsZero():
		if now.Sub(s.soft) >= c.Reclaim {
			bury(c, s)
		}
		return true
	case s.deleting.IsZero() || !s.stranded.IsZero() || now.Sub(s.deleting) < c.Delete:
		return false
	case c.Reclaim > 0 && !s.launched.IsZero():
		c.change(s.id, func(s *server) { s.soft, s.deleting = now, time.Time{} })
	default:
		bury(c, s)
	}
	return true
}

// serviceDown is how long after its last report a host counts as dead: the default of Nova's service_down_time.
const serviceDown = time.Minute

// end begins the deletion of a server, as nova.compute.api does. On a host that counts as alive, the server is deleting from
// then on, and a repeated deletion is ignored. On a host that counts as dead, the server is deleted from the database at once
// (_local_delete).
func end(c *Cloud, s server, now time.Time) {
	switch {
	case !s.stranded.IsZero() && now.Sub(s.stranded) >= serviceDown:
		bury(c, s)
	case s.deleting.IsZero() && s.soft.IsZero():
		c.change(s.id, func(s *server) { s.deleting = now })
	}
}

// attach binds ports and volumes. If a port was deleted or belongs to another server, the server fails.
func (c *Cloud) attach(id string, now time.Time) {
	c.change(id, func(s *server) {
		for _, p := range s.ports {
			port := c.ports[p]
			switch {
			case port == nil:
				s.fault = &fault{500, "Build of instance " + id + " aborted: Failed to allocate the network(s), not rescheduling.", now}
			case port.device != "" && port.device != id:
				s.fault = &fault{409, "Build of instance " + id + " aborted: Port " + p + " is still in use.", now}
			default:
				port.device, port.owner, port.host = id, "compute:"+s.zone, "compute1"
				port.touch(now)
				continue
			}
			return
		}
		for _, d := range s.disks {
			if v := c.volumes[d.volume]; v != nil {
				v.server = id
			}
		}
		s.attached, s.host = true, "compute1"
	})
}

// bury deletes a server. Ports that were created separately stay, those that Nova created are deleted.
func bury(c *Cloud, s server) {
	c.all.Delete(s.id)
	for _, p := range s.ports {
		port := c.ports[p]
		if port == nil || port.device != s.id && !port.auto {
			continue
		}
		if port.auto {
			c.dropPort(p)
			continue
		}
		port.device, port.owner, port.host = "", "", ""
	}
	for _, d := range s.disks {
		if v := c.volumes[d.volume]; v != nil {
			v.server = ""
			if d.dies && !v.stuck {
				delete(c.volumes, d.volume)
			}
		}
	}
}

// Guests implements [double.Host]. Names and IDs are those of cloud-provider-openstack: the server's name,
// openstack:///<id>.
func (c *Cloud) Guests() (all []double.Guest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	c.settle(now)
	for _, s := range c.all.All() {
		if s.status(c, now) != "ACTIVE" || !s.deleting.IsZero() {
			continue
		}
		data, _ := base64.StdEncoding.DecodeString(s.userData)
		all = append(all, double.Guest{
			ID: s.id, NodeName: s.name, ProviderID: "openstack:///" + s.id, Addresses: internal(c, s), UserData: data, Boots: s.boots,
			VCPUs: int64(s.flavor.VCPUs), MemoryMiB: int64(s.flavor.RAM), Region: c.stock.Region, Zone: s.zone, Type: s.flavor.Name,
		})
	}
	return all
}

func internal(c *Cloud, s server) (all []string) {
	for _, id := range s.ports {
		if p := c.ports[id]; p != nil {
			for _, ip := range p.fixed {
				all = append(all, ip.address)
			}
		}
	}
	return all
}
