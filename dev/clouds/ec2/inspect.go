package ec2

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
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
		data, _ := base64.StdEncoding.DecodeString(i.Request.get("UserData")) // it was validated
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
	for _, i := range c.instances.All() {
		state := c.state(i)
		if state == terminated && c.clock.Now().Sub(c.endOf(i)) > c.options.Keep {
			continue
		}
		l := double.Listed{ID: i.ID, Name: i.Tags["Name"], State: state, Zone: i.Zone, Type: i.Type, Account: i.Account, Tags: i.Tags}
		for _, n := range i.Interfaces {
			if nic, ok := c.interfaces.Get(n); ok && nic.Instance == i.ID {
				l.Dependants = append(l.Dependants, "network-interface "+n)
			}
		}
		for _, v := range i.Volumes {
			if disk, ok := c.volumes.Get(v.ID); ok && disk.Instance == i.ID {
				l.Dependants = append(l.Dependants, "volume "+v.ID)
			}
		}
		if h, ok := c.hosts.Get(i.Host); ok && h.Account != "" {
			l.Dependants = append(l.Dependants, "host "+i.Host)
		}
		all = append(all, l)
	}
	return all
}

// Orphans implements [double.Inspected].
func (c *Cloud) Orphans() (all []string) {
	c.settle()
	for _, n := range c.interfaces.All() {
		if n.Instance == "" {
			all = append(all, "network-interface "+n.ID)
		}
	}
	for _, v := range c.volumes.All() {
		if v.Instance == "" {
			all = append(all, "volume "+v.ID)
		}
	}
	for _, h := range c.hosts.All() {
		if h.Account != "" && !c.occupied(h.ID) {
			all = append(all, "host "+h.ID)
		}
	}
	return all
}

var _ double.Exhaustible = (*Cloud)(nil)

// Exhausted implements [double.Exhaustible].
func (c *Cloud) Exhausted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return double.Places(c.exhausted, true)
}

// Verbs implements [double.Inspected].
func (c *Cloud) Verbs() []double.Verb {
	return []double.Verb{
		{Name: "interrupt", On: "a spot instance: it gets an interruption notice and ends two minutes later"},
		{Name: "reclaim", On: "a spot instance: it is interrupted at once"},
		{Name: "terminate", On: "an instance"},
		{Name: "stop", On: "an instance"},
		{Name: "start", On: "an instance"},
		{Name: "fail", On: "a pending instance: it ends without running, because there is no capacity"},
		{Name: "exhaust", On: "a zone, or zone/type"},
		{Name: "restock", On: "a zone, or zone/type"},
		{Name: "deregister", On: "an instance: it is removed from all load balancers"},
		{Name: "untag", On: "instance=key: the instance loses the tag with the key"},
		{Name: "lag", On: "a duration: reads of instances lag by it"},
	}
}

// notice is the time between the notice to an instance and its interruption.
const notice = 2 * time.Minute

// Do implements [double.Inspected].
func (c *Cloud) Do(verb, on string) error {
	switch verb {
	case "exhaust", "restock":
		c.mu.Lock()
		defer c.mu.Unlock()
		c.exhausted[on] = verb == "exhaust"
		return nil
	case "lag":
		lag, err := time.ParseDuration(on)
		c.SetLag(lag)
		return err
	case "untag":
		return c.untag(on)
	}
	i, ok := c.instances.Get(on)
	if !ok {
		return fmt.Errorf("there is no instance %q", on)
	}
	return c.trouble(verb, i)
}

func (c reconciler) trouble(verb string, i instance) error {
	state := c.state(i)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch verb {
	case "interrupt", "reclaim":
		if !i.spot() {
			return fmt.Errorf("instance %s is no spot instance", i.ID)
		}
		in := notice
		if verb == "reclaim" {
			in = 0
		}
		c.update(i.ID, func(i *instance) { i.Interrupted = c.clock.Now().Add(in) })
	case "fail":
		if state != pending {
			return fmt.Errorf("instance %s is not pending, but %s", i.ID, state)
		}
		c.update(i.ID, func(i *instance) {
			i.Doomed = reason{"Server.InsufficientInstanceCapacity", "Server.InsufficientInstanceCapacity: Insufficient capacity to satisfy instance request"}
		})
	case "terminate":
		c.wish(i.ID, "terminate", reason{"Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown"})
	case "stop", "start":
		c.wish(i.ID, map[string]string{"stop": "stop", "start": "run"}[verb], byUser)
	case "deregister":
		for group, members := range c.targets {
			c.targets[group] = slices.DeleteFunc(slices.Clone(members), func(t target) bool { return t.ID == i.ID || t.ID == c.primary(i).Address })
		}
	default:
		return fmt.Errorf("there is no verb %q", verb)
	}
	return nil
}

func (c reconciler) untag(on string) error {
	id, key, _ := strings.Cut(on, "=")
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.instances.Get(id)
	if _, has := i.Tags[key]; !ok || !has {
		return fmt.Errorf("there is no instance %q with a tag %q: say instance=key", id, key)
	}
	c.update(id, func(i *instance) {
		i.Tags = maps.Clone(i.Tags)
		delete(i.Tags, key)
	})
	return nil
}

func (c *store) update(id string, change func(*instance)) {
	c.instances.Update(id, func(i instance) instance {
		change(&i)
		return i
	})
}

// Plant creates an instance from the parameters of a RunInstances request, without a request.
func (c *Cloud) Plant(parameters map[string]string, tags map[string]string) (id string, err error) {
	in := call{form: form{values: map[string][]string{}}, service: "ec2", action: "RunInstances", account: c.options.Inventory.Account, region: c.options.Inventory.Region}
	for k, v := range parameters {
		in.values.Set(k, v)
	}
	in.values.Set("MinCount", "1")
	in.values.Set("MaxCount", "1")
	n := 0
	for k, v := range tags {
		n++
		at := "TagSpecification.1.Tag." + strconv.Itoa(n) + "."
		in.values.Set(at+"Key", k)
		in.values.Set(at+"Value", v)
	}
	in.values.Set("TagSpecification.1.ResourceType", "instance")
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
	c.update(i.ID, func(i *instance) { i.Since = i.Since.Add(-c.options.Boot) })
	return i.ID, nil
}

// Vanish ends an instance at once, as if it had ended long ago.
func (c *Cloud) Vanish(id string) bool {
	c.mu.Lock()
	c.wish(id, "terminate", byUser)
	c.update(id, func(i *instance) { i.Since = i.Since.Add(-c.options.Delete) })
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
	n.ID, n.Device, n.Checks, n.Goes = c.newID("eni"), device, true, true
	n.Address, n.IPv6, n.Prefixes, n.Public, n.Tags = "", nil, nil, "", nil
	c.interfaces.Put(n.ID, n)
	c.update(id, func(i *instance) { i.Interfaces = append(slices.Clone(i.Interfaces), n.ID) })
}

// Allocate allocates a dedicated host with tags, without a request.
func (c *Cloud) Allocate(zone, instanceType string, tags map[string]string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := host{ID: c.newID("h"), Zone: zone, Type: instanceType, Account: c.options.Inventory.Account, AutoPlacement: "off", Tags: tags, Allocated: c.clock.Now()}
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
