package ec2

import (
	"maps"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/form"
)

// instance is an instance as requested, with its later changes. Its state depends on the time.
type instance struct {
	ID, Reservation, Account string
	// Request are the parameters of its creation.
	Request form.Form
	Zone    string
	Type    string
	Tags    map[string]string
	Made    time.Time
	// Wish is the last requested state: "run", "stop" or "terminate". It was requested at Since.
	Wish  string
	Since time.Time
	// Doomed is the reason for which it will end without running, Reason the reason of its current state.
	Doomed, Reason reason
	// Interrupted is the time of its interruption; zero: no interruption is announced.
	Interrupted time.Time
	Host        string
	Boots       int
	Interfaces  []string // IDs, in the order of their devices
	Volumes     []attachedVolume
	settled     bool
}

type reason struct{ Code, Message string }

type attachedVolume struct{ Device, ID string }

// The states of instances, and their codes.
const (
	pending      = "pending"
	running      = "running"
	shuttingDown = "shutting-down"
	terminated   = "terminated"
	stopping     = "stopping"
	stopped      = "stopped"
)

var stateCodes = map[string]int{pending: 0, running: 16, shuttingDown: 32, terminated: 48, stopping: 64, stopped: 80}

// stateAt is the state at a time.
func (c *store) stateAt(i instance, at time.Time) string {
	took := at.Sub(i.Since)
	switch i.Wish {
	case "terminate":
		if took < c.options.Delete {
			return shuttingDown
		}
		return terminated
	case "stop":
		if took < c.options.Delete {
			return stopping
		}
		return stopped
	}
	switch {
	case took < c.options.Boot:
		return pending
	case i.Doomed.Code != "":
		return terminated
	case !i.Interrupted.IsZero() && !at.Before(i.Interrupted):
		return terminated
	}
	return running
}

func (c *store) state(i instance) string { return c.stateAt(i, c.clock.Now()) }

// endOf is the time at which an instance ended; false if it has not ended.
func (c *store) endOf(i instance) time.Time {
	switch {
	case i.Wish == "terminate":
		return i.Since.Add(c.options.Delete)
	case i.Doomed.Code != "":
		return i.Since.Add(c.options.Boot)
	}
	return i.Interrupted
}

// reasonAt is the reason of its state at a time.
func (c *store) reasonAt(i instance, at time.Time) reason {
	if i.Wish == "run" && c.stateAt(i, at) == terminated {
		if i.Doomed.Code != "" {
			return i.Doomed
		}
		return reason{"Server.SpotInstanceTermination", "Server.SpotInstanceTermination: Instance terminated because there was no Spot capacity"}
	}
	return i.Reason
}

// listed are the instances of a region as they were some time ago, without those that had ended long before.
func (c *store) listed(in *call, lag time.Duration) (all []instance) {
	now := c.clock.Now()
	for _, i := range c.instances.AllBehind(lag) {
		if i.Account != in.account || c.region(i.Zone) != in.region || c.state(i) == terminated && now.Sub(c.endOf(i)) > c.options.Keep {
			continue
		}
		all = append(all, i)
	}
	return all
}

// settle applies the effects of ended instances: their dependants are deleted, their hosts have capacity again, and load
// balancers remove the instances, but not targets that are addresses.
func (c reconciler) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range c.instances.All() {
		if i.settled || c.state(i) != terminated {
			continue
		}
		for _, v := range i.Volumes {
			c.detachVolume(v.ID)
		}
		for _, id := range i.Interfaces {
			c.detachInterface(id)
		}
		for group, members := range c.targets {
			c.targets[group] = slices.DeleteFunc(slices.Clone(members), func(t target) bool { return t.ID == i.ID })
		}
		c.instances.Change(i.ID, func(i *instance) {
			i.settled = true
		})
	}
}

func (c reconciler) detachVolume(id string) {
	v, ok := c.volumes.Get(id)
	if !ok {
		return
	}
	if v.Goes {
		c.volumes.Delete(id)
		return
	}
	v.Instance = ""
	c.volumes.Put(id, v)
}

func (c reconciler) detachInterface(id string) {
	n, ok := c.interfaces.Get(id)
	if !ok {
		return
	}
	if n.Goes {
		c.interfaces.Delete(id)
		return
	}
	n.Instance = ""
	c.interfaces.Put(id, n)
}

// wish changes the requested state of an instance.
func (c *store) wish(id, wish string, why reason) {
	c.instances.Update(id, func(i instance) instance {
		now := c.clock.Now()
		switch state := c.stateAt(i, now); {
		case state == terminated, i.Wish == wish && wish != "run", state == shuttingDown:
			return i
		case wish == "run" && (state == running || state == pending):
			return i
		case wish == "run":
			i.Boots++
		}
		i.Wish, i.Since, i.Reason = wish, now, why
		return i
	})
}

func (i instance) tagged(tags map[string]string) instance {
	all := map[string]string{}
	maps.Copy(all, i.Tags)
	maps.Copy(all, tags)
	i.Tags = all
	return i
}

func (i instance) spot() bool { return i.Request.Get("InstanceMarketOptions.MarketType") == "spot" }
