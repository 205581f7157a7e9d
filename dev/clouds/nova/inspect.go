package nova

import (
	"errors"
	"fmt"
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
	for _, s := range c.all.All() {
		l := double.Listed{ID: s.id, Name: s.name, State: s.status(c, now), Zone: s.zone, Type: s.flavor.Name, Account: s.project.Name, Tags: s.metadata}
		if !s.deleting.IsZero() {
			l.State = "deleting"
		}
		for _, p := range s.ports {
			l.Dependants = append(l.Dependants, "port "+p)
		}
		for _, d := range s.disks {
			l.Dependants = append(l.Dependants, "volume "+d.volume)
		}
		all = append(all, l)
	}
	return all
}

// Orphans implements [double.Inspected].
func (c *Cloud) Orphans() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(c.clock.Now())
	for _, p := range c.ports {
		if !used(c, p.id) {
			all = append(all, "port "+p.id+" "+p.name)
		}
	}
	for _, v := range c.volumes {
		if v.server == "" {
			all = append(all, "volume "+v.id+" "+v.name)
		}
	}
	slices.Sort(all)
	return all
}

// used reports whether a server has the port or will get it.
func used(c *Cloud, port string) bool {
	return slices.ContainsFunc(c.all.All(), func(s server) bool { return slices.Contains(s.ports, port) })
}

var _ double.Exhaustible = (*Cloud)(nil)

// Exhausted implements [double.Exhaustible].
func (c *Cloud) Exhausted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return double.Places(c.room, 0)
}

// Verbs implements [double.Inspected].
func (*Cloud) Verbs() []double.Verb {
	return []double.Verb{
		{Name: "terminate", On: "a server's ID"},
		{Name: "stop", On: "a server's ID"},
		{Name: "start", On: "a server's ID"},
		{Name: "fail", On: "a server's ID: it was accepted, but no host has capacity for it"},
		{Name: "break", On: "a server's ID: it goes into ERROR after it ran"},
		{Name: "close", On: "a zone: all its hosts are disabled; volumes/ZONE: all its volume services are disabled"},
		{Name: "open", On: "a zone, as for close: it is enabled again"},
		{Name: "lose", On: "a server's ID: its cell is down"},
		{Name: "recover", On: "a server's ID: its cell is up again"},
		{Name: "tear", On: "a server's ID: it is deleted while Neutron is unreachable, so its ports stay bound"},
		{Name: "strand", On: "a server's ID: its host dies"},
		{Name: "wedge", On: "a volume's ID: its deletion will fail, and it stays error_deleting, which only administrators can end"},
		{Name: "replace", On: "a name: each image, flavor and security group with the name is deleted and created again with another ID"},
		{Name: "plug", On: "a server's ID, a space, and a port's ID: the port is bound to the server"},
		{Name: "exhaust", On: "zone[/flavor]: it has no capacity for further servers"},
		{Name: "restock", On: "zone[/flavor]: it has capacity again"},
		{Name: "lag", On: "a duration: listings of servers lag by it"},
	}
}

var errNoServer = errors.New("there is no such server, or no such port")

// Do implements [double.Inspected].
func (c *Cloud) Do(verb, on string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	c.settle(now)
	switch verb {
	case "exhaust":
		c.room[on] = 0
		return nil
	case "restock":
		delete(c.room, on)
		return nil
	case "close", "open":
		c.closed[on] = verb == "close"
		return nil
	case "wedge":
		if v := c.volumes[on]; v != nil {
			v.wedged = true
		}
		return nil
	case "replace":
		c.stock.replace(on)
		return nil
	case "plug":
		return plug(c, on)
	case "lag":
		d, err := time.ParseDuration(on)
		c.lag = d
		return err
	}
	do, ok := map[string]func(*server){
		"terminate": func(s *server) { s.deleting, s.stranded = now.Add(-c.Delete), time.Time{} },
		"stop":      func(s *server) { s.off = true },
		"start":     func(s *server) { s.off, s.boots = false, s.boots+1 },
		"tear":      func(*server) {},
		"lose":      func(s *server) { s.lost = true },
		"recover":   func(s *server) { s.lost = false },
		"strand":    func(s *server) { s.stranded = now },
		"fail":      func(s *server) { s.fault = &fault{500, "No valid host was found. ", now} },
		"break": func(s *server) {
			s.fault = &fault{500, "internal error: process exited while connecting to monitor", now}
		},
	}[verb]
	if !ok {
		return fmt.Errorf("no verb %q", verb)
	}
	if _, ok := c.all.Get(on); !ok {
		return errNoServer
	}
	c.change(on, do)
	if verb == "tear" {
		// nova.network.neutron: _unbind_ports logs errors, and continues.
		c.all.Delete(on)
	}
	c.settle(now)
	return nil
}

// plug binds a port to a server: "server port", by their IDs.
func plug(c *Cloud, on string) error {
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
		name: p.Name, created: now.Add(-c.Boot - c.lag), launched: now.Add(-c.lag), attached: true, host: "compute1", boots: 1,
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
	c.users = slices.Clone(c.users)
	for n := range c.users {
		if c.users[n].Name == user {
			c.users[n].Password = password
		}
	}
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
