package ibmcloud

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Guests implements [double.Host]. Names and provider IDs of nodes are those of the cloud controller manager.
func (c *Cloud) Guests() (all []double.Guest) {
	c.settle()
	v := c.options.Inventory
	for _, i := range c.instances.All() {
		if c.status(i) != running {
			continue
		}
		p, _ := c.profile(i.Prototype.Profile.Name)
		all = append(all, double.Guest{
			ID: i.ID, NodeName: i.Prototype.Name, ProviderID: "ibm://" + i.Account + "///" + v.Cluster + "/" + i.ID, Addresses: []string{i.Address},
			UserData: []byte(i.Prototype.UserData), Boots: i.Boots, VCPUs: p.VCPUs, MemoryMiB: p.MemoryGiB << 10, Region: v.Region, Zone: i.Prototype.Zone.Name, Type: p.Name,
		})
	}
	return all
}

// uidIn is the form of the name of a network interface that has the UID of a machine.
var uidIn = regexp.MustCompile(`^mw-([0-9a-f-]{36})-`)

// Instances implements [double.Inspected]. The names of its VPC and of its parts are shown among the tags of an instance.
func (c *Cloud) Instances() (all []double.Listed) {
	c.settle()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range c.instances.All() {
		tags := map[string]string{"vpc": c.named(c.options.Inventory.VPCs, i.Prototype.VPC.ID).Name, "network interface": i.Interface, "volume attachment": i.Attachment, "volume": i.Volume.Name}
		if uid := uidIn.FindStringSubmatch(i.Interface); uid != nil {
			tags["machine-uid"] = uid[1]
		}
		for key, value := range i.Tags {
			tags[key] = value
		}
		all = append(all, double.Listed{
			ID: i.ID, Name: i.Name, State: c.status(i), Zone: i.Prototype.Zone.Name, Type: i.Prototype.Profile.Name, Account: i.Account, Tags: tags,
			Dependants: []string{"volume " + i.Volume.ID},
		})
	}
	return all
}

// Orphans implements [double.Inspected].
func (c *Cloud) Orphans() (all []string) {
	c.settle()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.orphans {
		all = append(all, "volume "+id)
	}
	return all
}

func (c *store) controls() double.Controls {
	on := double.OnInstance(&c.mu, c.existing)
	wishes := func(wish string) func(string) error {
		return on(func(i instance) error {
			c.wish(i.ID, wish)
			return nil
		})
	}
	return append(c.ExhaustVerbs("a zone, or zone/profile"), c.LagVerb(),
		double.Verb{Name: "fail", On: "an instance that does not run yet: its zone has no capacity for it", Do: on(c.fail)},
		double.Verb{Name: "unmark", On: "an instance: its parts lose their names", Do: on(c.unmark)},
		double.Verb{Name: "terminate", On: "an instance", Do: wishes(wishDelete)},
		double.Verb{Name: "stop", On: "an instance", Do: wishes(wishStop)},
		double.Verb{Name: "start", On: "an instance", Do: wishes(wishRun)},
	)
}

func (c *store) fail(i instance) error {
	if s := c.status(i); s != pending && s != starting {
		return fmt.Errorf("instance %s is %s", i.ID, s)
	}
	c.instances.Change(i.ID, func(i *instance) { i.Fails = noCapacity })
	return nil
}

func (c *store) unmark(i instance) error {
	c.instances.Change(i.ID, func(i *instance) { i.Attachment = "words-" + double.Hex(12) })
	return nil
}

// Plant creates a running instance, without a request.
func (c *Cloud) Plant(p Prototype) (id string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, no := c.launch(c.options.Inventory.Account, p)
	if no != nil {
		return "", errors.New(no.code + ": " + no.message)
	}
	c.instances.Change(i.ID, func(i *instance) { i.Since = i.Since.Add(-c.options.Boot) })
	return i.ID, nil
}

// Vanish deletes an instance at once.
func (c *Cloud) Vanish(id string) bool {
	c.mu.Lock()
	ok := c.instances.Change(id, func(i *instance) { i.Wish, i.Since = wishDelete, c.clock.Now().Add(-c.options.Delete) })
	c.mu.Unlock()
	c.settle()
	return ok
}

// AddNetwork adds a VPC with the name, which has the sample's subnets and security groups, with other IDs.
func (c *Cloud) AddNetwork(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &c.options.Inventory
	for _, known := range v.VPCs {
		if known.Name == name {
			return
		}
	}
	first, id := v.VPCs[0], idIn(v.Region, double.UUID(), "-")
	v.VPCs = append(v.VPCs[:len(v.VPCs):len(v.VPCs)], Resource{ID: id, Name: name, Group: first.Group})
	for _, s := range v.Subnets {
		if s.VPC == first.ID {
			s.ID, s.VPC = idIn(s.Zone, double.UUID(), "-"), id
			v.Subnets = append(v.Subnets[:len(v.Subnets):len(v.Subnets)], s)
		}
	}
	for _, g := range v.SecurityGroups {
		if g.VPC == first.ID {
			g.ID, g.VPC = idIn(v.Region, double.UUID(), "-"), id
			v.SecurityGroups = append(v.SecurityGroups[:len(v.SecurityGroups):len(v.SecurityGroups)], g)
		}
	}
}

// Network returns the IDs of the VPC with the name, and of its subnet in the zone.
func (c *Cloud) Network(name, zone string) (vpc, subnet string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.options.Inventory.VPCs {
		if v.Name == name {
			vpc = v.ID
		}
	}
	for _, s := range c.options.Inventory.Subnets {
		if s.VPC == vpc && s.Zone == zone {
			subnet = s.ID
		}
	}
	return vpc, subnet
}
