package ecs

import (
	"maps"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/form"
)

// instance is an instance as requested, with its later changes. Its state depends on the time.
type instance struct {
	ID, Account, Region, Zone, Type string
	// Request are the parameters of its creation.
	Request form.Form
	Tags    map[string]string
	Made    time.Time
	// Wish is the last requested state: "run", "stop" or "release". It was requested at Since.
	Wish  string
	Since time.Time
	// Interrupted is the time of its interruption; zero: no interruption is announced.
	Interrupted time.Time
	VSwitch     VSwitch
	Interface   string // the ID of its network interface
	Address     string
	Public      string
	Boots       int
	settled     bool
}

// disk is a disk of an instance. Instance is empty for one that its instance has left behind.
type disk struct {
	ID, Account, Instance, Kind string
	Tags                        map[string]string
	// Stays: it is preserved when its instance is released.
	Stays bool
}

// The states of instances. The last is not one of ECS, which does not list released instances.
const (
	pending  = "Pending"
	starting = "Starting"
	running  = "Running"
	stopping = "Stopping"
	stopped  = "Stopped"
	released = "Deleted"
)

// stateAt is the state at a time.
func (c *store) stateAt(i instance, at time.Time) string {
	took := at.Sub(i.Since)
	switch {
	case i.Wish == "release" && took < c.options.Delete:
		return stopping
	case i.Wish == "release", !i.Interrupted.IsZero() && !at.Before(i.Interrupted):
		return released
	case i.Wish == "stop" && took < c.options.Delete:
		return stopping
	case i.Wish == "stop":
		return stopped
	case took < c.options.Boot/2 && i.Boots == 0:
		return pending
	case took < c.options.Boot:
		return starting
	}
	return running
}

func (c *store) state(i instance) string { return c.stateAt(i, c.clock.Now()) }

// releasing reports whether the release of an instance has begun.
func (i instance) releasing() bool { return i.Wish == "release" }

// settle deletes released instances, and those of their disks that are not preserved.
func (c *store) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range c.instances.All() {
		if i.settled || c.state(i) != released {
			continue
		}
		for _, d := range c.disks.All() {
			switch {
			case d.Instance != i.ID:
			case d.Stays:
				d.Instance = ""
				c.disks.Put(d.ID, d)
			default:
				c.disks.Delete(d.ID)
			}
		}
		c.instances.Change(i.ID, func(i *instance) { i.settled = true })
		c.instances.Delete(i.ID)
	}
}

// existing is an instance that is not released.
func (c *store) existing(id string) (instance, bool) {
	i, ok := c.instances.Get(id)
	return i, ok && c.state(i) != released
}

// wish changes the requested state of an instance.
func (c *store) wish(id, wish string) {
	c.instances.Change(id, func(i *instance) {
		if i.Wish == wish && wish != "run" || i.releasing() {
			return
		}
		if wish == "run" {
			i.Boots++
		}
		i.Wish, i.Since = wish, c.clock.Now()
	})
}

func (i instance) spot() bool {
	return strings.HasPrefix(i.Request.Get("SpotStrategy"), "Spot")
}

// name is the name of the instance: its ID without another one.
func (i instance) name() string {
	if name := i.Request.Get("InstanceName"); name != "" {
		return name
	}
	return i.ID
}

// hostName is the host name: the default is iZ, the ID without its prefix, and Z.
func (i instance) hostName() string {
	if name := i.Request.Get("HostName"); name != "" {
		return name
	}
	return "iZ" + strings.TrimPrefix(i.ID, "i-") + "Z"
}

func (i instance) tagged(tags map[string]string) instance {
	all := maps.Clone(i.Tags)
	maps.Copy(all, tags)
	i.Tags = all
	return i
}
