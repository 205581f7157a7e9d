package ibmcloud

import (
	"strings"
	"time"
)

// instance is an instance as requested, with its later changes. Its status depends on the time.
type instance struct {
	ID, Account, Name string
	// Prototype is the request of its creation.
	Prototype Prototype
	// Interface and Attachment are the names of its network interface, and of the attachment of its boot volume.
	Interface, Attachment string
	Volume                volume
	Address               string
	// Tags are the user tags.
	Tags map[string]string
	Made time.Time
	// Wish is the last requested state. It was requested at Since.
	Wish  string
	Since time.Time
	// Fails is the reason for which it does not start; empty: it starts.
	Fails string
	Boots int
}

// volume is the boot volume of an instance.
type volume struct{ ID, Name, Account string }

// The requested states of an instance.
const (
	wishRun    = "run"
	wishStop   = "stop"
	wishDelete = "delete"
)

// The statuses of instances. The last is not one of VPC, which does not list deleted instances.
const (
	pending  = "pending"
	starting = "starting"
	running  = "running"
	stopping = "stopping"
	stopped  = "stopped"
	failed   = "failed"
	deleting = "deleting"
	deleted  = "deleted"
)

// status is the status of an instance now.
func (c *store) status(i instance) string {
	took := c.clock.Now().Sub(i.Since)
	switch {
	case i.Wish == wishDelete && took < c.options.Delete:
		return deleting
	case i.Wish == wishDelete:
		return deleted
	case i.Wish == wishStop && took < c.options.Delete:
		return stopping
	case i.Wish == wishStop:
		return stopped
	case took < c.options.Boot/2 && i.Boots == 0:
		return pending
	case took < c.options.Boot:
		return starting
	case i.Fails != "":
		return failed
	}
	return running
}

// existing is the instance with an ID, unless it is deleted.
func (c *store) existing(id string) (instance, bool) {
	i, ok := c.instances.Get(id)
	return i, ok && c.status(i) != deleted
}

// settle removes deleted instances, and their volumes unless they stay.
func (c *store) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range c.instances.All() {
		if c.status(i) != deleted {
			continue
		}
		if keep := i.Prototype.Boot.Delete; keep != nil && !*keep {
			c.orphans[i.Volume.ID] = i.Volume
		}
		c.instances.Delete(i.ID)
	}
}

// wish changes the requested state of an instance. The caller holds the lock.
func (c *store) wish(id, wish string) {
	c.instances.Change(id, func(i *instance) {
		if i.Wish == wishDelete || i.Wish == wish && wish != wishRun {
			return
		}
		if wish == wishRun {
			i.Boots++
			i.Fails = ""
		}
		i.Wish, i.Since = wish, c.clock.Now()
	})
}

// reasons are the texts of the reasons for which an instance does not start.
var reasons = map[string]string{
	noCapacity: "Can't start instance because resource capacity is unavailable.", "cannot_start_storage": "Can't start instance because storage wasn't provisioned",
}

// noCapacity is the reason for a zone without capacity.
const noCapacity = "cannot_start_capacity"

// id returns an ID in the form of VPC: the zone or region, and a UUID.
func idIn(place, uuid, separator string) string {
	prefix := "r006"
	if n := strings.LastIndexByte(place, '-'); n >= 0 && len(place)-n == 2 {
		prefix = "07" + place[n+1:] + "7"
	}
	return prefix + separator + uuid
}
