package ecs

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/form"
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
		data, _ := base64.StdEncoding.DecodeString(i.Request.Get("UserData")) // it was validated
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
	dependants := c.dependants()
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
func (c *Cloud) Orphans() []string {
	c.settle()
	return c.dependants()[""]
}

// dependants are the disks by instance.
func (c *store) dependants() map[string][]string {
	all := map[string][]string{}
	for _, d := range c.disks.All() {
		all[d.Instance] = append(all[d.Instance], "disk "+d.ID)
	}
	return all
}

func (c *store) controls() double.Controls {
	onInstance := double.OnInstance(&c.mu, c.existing)
	return append(c.ExhaustVerbs("a zone, or zone/type"), c.LagVerb(),
		double.UntagVerb("untag", c.instances, func(i *instance) *map[string]string { return &i.Tags }),
		double.Verb{Name: "interrupt", On: "a spot instance: it is locked, and released five minutes later", Do: onInstance(c.interrupt(notice))},
		double.Verb{Name: "reclaim", On: "a spot instance: it is released at once", Do: onInstance(c.interrupt(0))},
		double.Verb{Name: "terminate", On: "an instance", Do: onInstance(c.wishes("release"))},
		double.Verb{Name: "stop", On: "an instance", Do: onInstance(c.wishes("stop"))},
		double.Verb{Name: "start", On: "an instance", Do: onInstance(c.wishes("run"))},
	)
}

// notice is the time between the notice to an instance and its interruption.
const notice = 5 * time.Minute

func (c *store) wishes(wish string) func(instance) error {
	return func(i instance) error {
		c.wish(i.ID, wish)
		return nil
	}
}

func (c *store) interrupt(in time.Duration) func(instance) error {
	return func(i instance) error {
		if !i.spot() {
			return fmt.Errorf("instance %s is no spot instance", i.ID)
		}
		c.instances.Change(i.ID, func(i *instance) { i.Interrupted = c.clock.Now().Add(in) })
		return nil
	}
}

// Plant creates a running instance from the parameters of a RunInstances request, without a request.
func (c *Cloud) Plant(parameters, tags map[string]string) (id string, err error) {
	in := call{Form: form.Form{Values: map[string][]string{"RegionId": {c.options.Inventory.Region}}}, service: "ecs", action: "RunInstances", account: c.options.Inventory.Account}
	for k, v := range parameters {
		in.Set(k, v)
	}
	in.SetTags("Tag", tags)
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
	c.instances.Change(i.ID, func(i *instance) { i.Since = i.Since.Add(-c.options.Boot) })
	return i.ID, nil
}

// Vanish releases an instance at once.
func (c *Cloud) Vanish(id string) bool {
	c.mu.Lock()
	_, ok := c.instances.Get(id)
	c.instances.Change(id, func(i *instance) { i.Wish, i.Since = "release", c.clock.Now().Add(-c.options.Delete) })
	c.mu.Unlock()
	c.settle()
	return ok
}
