package ec2

import (
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/form"
)

// Guests implements [double.Host]. Node names and provider IDs are those of kubelets and of the cloud controller manager
// on AWS: the private DNS name, and the zone before the instance ID.
func (c *Cloud) Guests() (all []double.Guest) {
	c.settle()
	for _, i := range c.instances.All() {
		if c.state(i) != running {
			continue
		}
		t, _ := c.typeNamed(i.Type)
		data, _ := base64.StdEncoding.DecodeString(i.Request.Get("UserData")) // it was validated
		all = append(all, double.Guest{
			ID: i.ID, NodeName: c.privateName(i), ProviderID: "aws:///" + i.Zone + "/" + i.ID, Addresses: []string{c.primary(i).Address},
			UserData: data, Boots: i.Boots, VCPUs: t.VCPUs, MemoryMiB: t.MemoryMiB, Region: c.region(i.Zone), Zone: i.Zone, Type: i.Type,
		})
	}
	return all
}

// Instances implements [double.Inspected].
func (c *Cloud) Instances() (all []double.Listed) {
	c.settle()
	dependants := c.dependants()
	for _, i := range c.instances.All() {
		state := c.state(i)
		if state == terminated && c.clock.Now().Sub(c.endOf(i)) > c.options.Keep {
			continue
		}
		all = append(all, double.Listed{
			ID: i.ID, Name: i.Tags["Name"], State: state, Zone: i.Zone, Type: i.Type, Account: i.Account, Tags: i.Tags, Dependants: dependants[i.ID],
		})
	}
	return all
}

// Orphans implements [double.Inspected].
func (c *Cloud) Orphans() []string {
	c.settle()
	return c.dependants()[""]
}

// dependants are the network interfaces, volumes and allocated hosts by instance.
func (c *store) dependants() map[string][]string {
	all, guest := map[string][]string{}, map[string]string{}
	add := func(instance, name string) { all[instance] = append(all[instance], name) }
	for _, i := range c.instances.All() {
		if i.Host != "" && c.state(i) != terminated {
			guest[i.Host] = i.ID
		}
	}
	for _, n := range c.interfaces.All() {
		add(n.Instance, "network-interface "+n.ID)
	}
	for _, v := range c.volumes.All() {
		add(v.Instance, "volume "+v.ID)
	}
	for _, h := range c.hosts.All() {
		if h.Account != "" {
			add(guest[h.ID], "host "+h.ID)
		}
	}
	return all
}

func (c reconciler) controls() double.Controls {
	onInstance := double.OnInstance(&c.mu, c.instances.Get)
	return append(c.ExhaustVerbs("a zone, or zone/type"), c.LagVerb(),
		double.UntagVerb("untag", c.instances, func(i *instance) *map[string]string { return &i.Tags }),
		double.Verb{Name: "interrupt", On: "a spot instance: it gets an interruption notice and ends two minutes later", Do: onInstance(c.interrupt(notice))},
		double.Verb{Name: "reclaim", On: "a spot instance: it is interrupted at once", Do: onInstance(c.interrupt(0))},
		double.Verb{Name: "terminate", On: "an instance", Do: onInstance(c.wishes("terminate"))},
		double.Verb{Name: "stop", On: "an instance", Do: onInstance(c.wishes("stop"))},
		double.Verb{Name: "start", On: "an instance", Do: onInstance(c.wishes("run"))},
		double.Verb{Name: "fail", On: "a pending instance: it ends without running, because there is no capacity", Do: onInstance(c.doom)},
		double.Verb{Name: "deregister", On: "an instance: it is removed from all load balancers", Do: onInstance(c.deregister)},
	)
}

// notice is the time between the notice to an instance and its interruption.
const notice = 2 * time.Minute

func (c reconciler) wishes(wish string) func(instance) error {
	return func(i instance) error {
		c.wish(i.ID, wish, byUser)
		return nil
	}
}

func (c reconciler) interrupt(in time.Duration) func(instance) error {
	return func(i instance) error {
		if !i.spot() {
			return fmt.Errorf("instance %s is no spot instance", i.ID)
		}
		c.instances.Change(i.ID, func(i *instance) { i.Interrupted = c.clock.Now().Add(in) })
		return nil
	}
}

func (c reconciler) doom(i instance) error {
	if state := c.state(i); state != pending {
		return fmt.Errorf("instance %s is not pending, but %s", i.ID, state)
	}
	c.instances.Change(i.ID, func(i *instance) {
		i.Doomed = reason{"Server.InsufficientInstanceCapacity", "Server.InsufficientInstanceCapacity: Insufficient capacity to satisfy instance request"}
	})
	return nil
}

func (c reconciler) deregister(i instance) error {
	address := c.primary(i).Address
	for group, members := range c.targets {
		c.targets[group] = slices.DeleteFunc(slices.Clone(members), func(t target) bool { return t.ID == i.ID || t.ID == address })
	}
	return nil
}

// Plant creates an instance from the parameters of a RunInstances request, without a request.
func (c *Cloud) Plant(parameters map[string]string, tags map[string]string) (id string, err error) {
	in := call{Form: form.Form{Values: map[string][]string{}}, service: "ec2", action: "RunInstances", account: c.options.Inventory.Account, region: c.options.Inventory.Region}
	for k, v := range parameters {
		in.Set(k, v)
	}
	in.Set("MinCount", "1")
	in.Set("MaxCount", "1")
	in.SetTags("TagSpecification.1.Tag", tags)
	in.Set("TagSpecification.1.ResourceType", "instance")
	c.mu.Lock()
	defer c.mu.Unlock()
	o, no := c.check(&in)
	if no != nil {
		return "", fmt.Errorf("%s: %s", no.code, no.message)
	}
	i, no := c.launch(&in, o)
	if no != nil {
		return "", fmt.Errorf("%s: %s", no.code, no.message)
	}
	c.instances.Change(i.ID, func(i *instance) { i.Since = i.Since.Add(-c.options.Boot) })
	return i.ID, nil
}

// Vanish ends an instance at once, as if it had ended long ago.
func (c *Cloud) Vanish(id string) bool {
	c.mu.Lock()
	c.wish(id, "terminate", byUser)
	c.instances.Change(id, func(i *instance) { i.Since = i.Since.Add(-c.options.Delete) })
	_, ok := c.instances.Get(id)
	c.mu.Unlock()
	c.settle()
	return ok
}

// Attach attaches another network interface to an instance, like a network plug-in.
func (c *Cloud) Attach(id string, device int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, _ := c.instances.Get(id)
	n := c.primary(i)
	n.ID, n.Device, n.Checks, n.Goes = newID("eni"), device, true, true
	n.Address, n.IPv6, n.Prefixes, n.Public, n.Tags = "", nil, nil, "", nil
	c.interfaces.Put(n.ID, n)
	c.instances.Change(id, func(i *instance) { i.Interfaces = append(slices.Clone(i.Interfaces), n.ID) })
}

// Allocate allocates a dedicated host with tags, without a request.
func (c *Cloud) Allocate(zone, instanceType string, tags map[string]string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := host{ID: newID("h"), Zone: zone, Type: instanceType, Account: c.options.Inventory.Account, AutoPlacement: "off", Tags: tags, Allocated: c.clock.Now()}
	c.hosts.Put(h.ID, h)
	return h.ID
}

// Hosts are the dedicated hosts that requests allocated, with their tags by ID.
func (c *Cloud) Hosts() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, h := range c.hosts.All() {
		if h.Account != "" {
			out[h.ID] = h.Tags
		}
	}
	return out
}
