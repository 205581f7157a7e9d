package ecs

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Guests implements [double.Host]. Node names and provider IDs are those of kubelets and of the cloud controller
// manager on Alibaba Cloud: the host name in lower case, and region and instance.
func (c *Cloud) Guests() (all []double.Guest) {
	c.settle()
	for _, i := range c.instances.All() {
		if c.state(i) != running {
			continue
		}
		t, _ := c.typeNamed(i.Type)
		data, _ := base64.StdEncoding.DecodeString(i.Request.get("UserData")) // it was validated
		all = append(all, double.Guest{
			ID: i.ID, NodeName: strings.ToLower(i.hostName()), ProviderID: i.Region + "." + i.ID, Addresses: []string{i.Address}, UserData: data, Boots: i.Boots,
			VCPUs: t.VCPUs, MemoryMiB: int64(t.MemoryGiB * 1024), Region: i.Region, Zone: i.Zone, Type: i.Type,
		})
	}
	return all
}

// Instances implements [double.Inspected].
func (c *Cloud) Instances() (all []double.Listed) {
	c.settle()
	dependants := map[string][]string{}
	for _, d := range c.disks.All() {
		dependants[d.Instance] = append(dependants[d.Instance], "disk "+d.ID)
	}
	for _, i := range c.instances.All() {
		state := c.state(i)
		if state == released {
			continue
		}
		if i.releasing() {
			state = "Deleting"
		}
		all = append(all, double.Listed{
			ID: i.ID, Name: i.name(), State: state, Zone: i.Zone, Type: i.Type, Account: i.Account, Tags: i.Tags,
			Dependants: append([]string{"network-interface " + i.Interface}, dependants[i.ID]...),
		})
	}
	return all
}

// Orphans implements [double.Inspected].
func (c *Cloud) Orphans() (all []string) {
	c.settle()
	for _, d := range c.disks.All() {
		if d.Instance == "" {
			all = append(all, "disk "+d.ID)
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
		{Name: "interrupt", On: "a spot instance: it is locked, and released five minutes later"},
		{Name: "reclaim", On: "a spot instance: it is released at once"},
		{Name: "terminate", On: "an instance"},
		{Name: "stop", On: "an instance"},
		{Name: "start", On: "an instance"},
		{Name: "exhaust", On: "a zone, or zone/type"},
		{Name: "restock", On: "a zone, or zone/type"},
		{Name: "untag", On: "instance=key: the instance loses the tag with the key"},
		{Name: "lag", On: "a duration: reads of instances lag by it"},
	}
}

// notice is the time between the notice to an instance and its interruption.
const notice = 5 * time.Minute

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
	if !ok || c.state(i) == released {
		return fmt.Errorf("there is no instance %q", on)
	}
	return c.trouble(verb, i)
}

func (c *store) trouble(verb string, i instance) error {
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
	case "terminate":
		c.wish(i.ID, "release")
	case "stop", "start":
		c.wish(i.ID, map[string]string{"stop": "stop", "start": "run"}[verb])
	default:
		return fmt.Errorf("there is no verb %q", verb)
	}
	return nil
}

func (c *store) untag(on string) error {
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

// Plant creates a running instance from the parameters of a RunInstances request, without a request.
func (c *Cloud) Plant(parameters, tags map[string]string) (id string, err error) {
	in := call{form: form{values: map[string][]string{"RegionId": {c.options.Inventory.Region}}}, service: "ecs", action: "RunInstances", account: c.options.Inventory.Account}
	for k, v := range parameters {
		in.values.Set(k, v)
	}
	n := 0
	for k, v := range tags {
		n++
		at := "Tag." + strconv.Itoa(n) + "."
		in.values.Set(at+"Key", k)
		in.values.Set(at+"Value", v)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o, no := c.check(&in)
	if no != nil {
		return "", fmt.Errorf("%s: %s", no.code, no.message)
	}
	i, no := c.launch(o)
	if no != nil {
		return "", fmt.Errorf("%s: %s", no.code, no.message)
	}
	c.update(i.ID, func(i *instance) { i.Since = i.Since.Add(-c.options.Boot) })
	return i.ID, nil
}

// Vanish releases an instance at once.
func (c *Cloud) Vanish(id string) bool {
	c.mu.Lock()
	_, ok := c.instances.Get(id)
	c.update(id, func(i *instance) { i.Wish, i.Since = "release", c.clock.Now().Add(-c.options.Delete) })
	c.mu.Unlock()
	c.settle()
	return ok
}
