package nova

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Instances implements [double.Inspected].
func (c *Cloud) Instances() (all []double.Listed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	c.settle(now)
	dependants := dependants(c)
	for _, s := range c.all.All() {
		l := double.Listed{
			ID: s.id, Name: s.name, State: s.status(c, now), Zone: s.zone, Type: s.flavor.Name, Account: s.project.Name, Tags: s.metadata, Dependants: dependants[s.id],
		}
		if !s.deleting.IsZero() {
			l.State = "deleting"
		}
		all = append(all, l)
	}
	return all
}

// Orphans implements [double.Inspected].
func (c *Cloud) Orphans() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(c.clock.Now())
	return dependants(c)[""]
}

// dependants are the ports and volumes by the server that has them or will get them.
func dependants(c *Cloud) map[string][]string {
	all, owners := map[string][]string{}, map[string]string{}
	for _, s := range c.all.All() {
		for _, p := range s.ports {
			owners[p] = s.id
		}
	}
	for _, p := range c.ports {
		all[owners[p.id]] = append(all[owners[p.id]], "port "+p.id+" "+p.name)
	}
	for _, v := range c.volumes {
		all[v.server] = append(all[v.server], "volume "+v.id+" "+v.name)
	}
	for _, names := range all {
		slices.Sort(names)
	}
	return all
}

func controls(c *Cloud) double.Controls {
	onServer := double.OnInstance(&c.mu, func(id string) (string, bool) {
		c.settle(c.clock.Now())
		_, ok := c.all.Get(id)
		return id, ok
	})
	do := func(effect func(s *server, now time.Time)) func(string) error {
		return onServer(func(id string) error {
			now := c.clock.Now()
			c.change(id, func(s *server) { effect(s, now) })
			c.settle(now)
			return nil
		})
	}
	return append(c.ExhaustVerbs("zone[/flavor]"), c.LagVerb(),
		double.Verb{Name: "terminate", On: "a server's ID", Do: do(func(s *server, now time.Time) { s.deleting, s.stranded = now.Add(-c.Delete), time.Time{} })},
		double.Verb{Name: "stop", On: "a server's ID", Do: do(func(s *server, _ time.Time) { s.off = true })},
		double.Verb{Name: "start", On: "a server's ID", Do: do(func(s *server, _ time.Time) { s.off, s.boots = false, s.boots+1 })},
		double.Verb{Name: "fail", On: "a server's ID: it was accepted, but no host has capacity for it", Do: do(func(s *server, now time.Time) { s.fault = &fault{500, "No valid host was found. ", now} })},
		double.Verb{Name: "break", On: "a server's ID: it goes into ERROR after it ran", Do: do(func(s *server, now time.Time) {
			s.fault = &fault{500, "internal error: process exited while connecting to monitor", now}
		})},
		double.Verb{Name: "close", On: "a zone: all its hosts are disabled; volumes/ZONE: all its volume services are disabled", Do: locked(c, func(on string) { c.closed[on] = true })},
		double.Verb{Name: "open", On: "a zone, as for close: it is enabled again", Do: locked(c, func(on string) { delete(c.closed, on) })},
		double.Verb{Name: "lose", On: "a server's ID: its cell is down", Do: do(func(s *server, _ time.Time) { s.lost = true })},
		double.Verb{Name: "recover", On: "a server's ID: its cell is up again", Do: do(func(s *server, _ time.Time) { s.lost = false })},
		// nova.network.neutron: _unbind_ports logs errors, and continues.
		double.Verb{Name: "tear", On: "a server's ID: it is deleted while Neutron is unreachable, so its ports stay bound", Do: onServer(func(id string) error { c.all.Delete(id); return nil })},
		double.Verb{Name: "strand", On: "a server's ID: its host dies", Do: do(func(s *server, now time.Time) { s.stranded = now })},
		double.Verb{Name: "wedge", On: "a volume's ID: its deletion will fail, and it stays error_deleting, which only administrators can end", Do: locked(c, func(on string) {
			if v := c.volumes[on]; v != nil {
				v.wedged = true
			}
		})},
		double.Verb{Name: "replace", On: "a name: each image, flavor and security group with the name is deleted and created again with another ID", Do: locked(c, c.stock.replace)},
		double.Verb{Name: "plug", On: "a server's ID, a space, and a port's ID: the port is bound to the server", Do: func(on string) error { return plug(c, on) }},
	)
}

func locked(c *Cloud, do func(on string)) func(string) error {
	return func(on string) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		do(on)
		return nil
	}
}

var errNoServer = errors.New("there is no such server, or no such port")

// plug binds a port to a server: "server port", by their IDs.
func plug(c *Cloud, on string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(c.clock.Now())
	id, port, _ := strings.Cut(on, " ")
	p, ok := c.ports[port]
	if _, there := c.all.Get(id); !there || !ok {
		return errNoServer
	}
	p.device, p.host = id, "compute1"
	c.change(id, func(s *server) { s.ports = append(s.ports, port) })
	return nil
}

// Planted is a server that another client creates.
type Planted struct {
	Name, Project, Flavor, Zone string
	Metadata                    map[string]string
	Tags                        []string
}

// Plant creates a running server, without a port.
func (c *Cloud) Plant(p Planted) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	s := server{
		name: p.Name, created: now.Add(-c.Boot - c.Lag()), launched: now.Add(-c.Lag()), attached: true, host: "compute1", boots: 1,
		project: c.stock.Projects[0],
		bought:  bought{zone: p.Zone, metadata: p.Metadata, tags: p.Tags, flavor: c.stock.Flavors[0], image: c.stock.Images[0].ID},
	}
	if s.zone == "" {
		s.zone = c.stock.Zones[0]
	}
	for _, f := range c.stock.Flavors {
		if f.Name == p.Flavor {
			s.flavor = f
		}
	}
	for _, project := range c.stock.Projects {
		if project.Name == p.Project {
			s.project = project
		}
	}
	s.id = c.id("server")
	s.seq = c.seq
	c.all.Put(s.id, s)
	return s.id
}

// SetPassword changes a user's password, and revokes the user's tokens, as in Keystone.
func (c *Cloud) SetPassword(user, password string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Credentials.Change(func(u *User) {
		if u.Name == user {
			u.Password = password
		}
	})
	for secret, t := range c.tokens {
		if t.user.Name == user {
			delete(c.tokens, secret)
		}
	}
}

// Seen is a port, a volume, a trunk or a floating address in a form for tests.
type Seen struct {
	Kind, ID, Name, Description, Server string
	Tags                                []string
	Metadata                            map[string]string
}

// Dependants are all dependants.
func (c *Cloud) Dependants() (all []Seen) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(c.clock.Now())
	for _, p := range c.ports {
		all = append(all, Seen{Kind: "port", ID: p.id, Name: p.name, Description: p.description, Server: p.device, Tags: p.tags})
	}
	for _, v := range c.volumes {
		all = append(all, Seen{Kind: "volume", ID: v.id, Name: v.name, Description: v.description, Server: v.server, Metadata: v.metadata})
	}
	for _, t := range c.trunks {
		all = append(all, Seen{Kind: "trunk", ID: t.id, Name: t.name, Description: t.description, Tags: t.tags})
	}
	slices.SortFunc(all, func(a, b Seen) int { return strings.Compare(a.Kind+a.ID, b.Kind+b.ID) })
	return all
}

// ReserveVolume lets a volume stay reserved, as in Cinder when the volume's server ends at the wrong moment.
func (c *Cloud) ReserveVolume(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.volumes[id]; v != nil {
		v.stuck = true
	}
}

// FailVolume puts a volume into the state error.
func (c *Cloud) FailVolume(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.volumes[id]; v != nil {
		v.failed = true
	}
}
