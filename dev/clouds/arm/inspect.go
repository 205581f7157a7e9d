package arm

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Guests implements [double.Host]. Node names are those of Azure's cloud controller manager.
func (c *Cloud) Guests() (all []double.Guest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	for _, m := range c.vms.All() {
		if provisioning, power := m.state(c.clock.Now()); provisioning == "Deleting" || power != "running" {
			continue
		}
		size, _ := c.sizeNamed(sizeName(&m.model))
		os := m.model.Properties.OSProfile
		data, _ := base64.StdEncoding.DecodeString(deref(os.CustomData))
		g := double.Guest{
			ID: deref(m.model.Properties.VMID), NodeName: strings.ToLower(deref(os.ComputerName)), Boots: m.boots, UserData: data,
			ProviderID: "azure:///subscriptions/" + strings.ToLower(m.subscription) + "/resourceGroups/" + strings.ToLower(m.group) + "/providers/Microsoft.Compute/virtualMachines/" + m.name,
			VCPUs:      size.VCPUs, MemoryMiB: int64(size.MemoryGB * 1024), Region: deref(m.model.Location), Type: sizeName(&m.model), Addresses: internal(c, m),
		}
		if zone := zoneOf(m.model.Zones); zone != "" {
			g.Zone = g.Region + "-" + zone
		}
		all = append(all, g)
	}
	return all
}

func internal(c *Cloud, m *machine) (all []string) {
	for _, ref := range m.nics() {
		n, ok := c.nics.Get(strings.ToLower(deref(ref.ID)))
		if !ok {
			continue
		}
		for _, p := range n.model.Properties.IPConfigurations {
			all = append(all, deref(p.Properties.PrivateIPAddress))
		}
	}
	return all
}

// Instances implements [double.Inspected].
func (c *Cloud) Instances() (all []double.Listed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	for _, m := range c.vms.All() {
		state, power := m.state(c.clock.Now())
		if state == "Succeeded" {
			state = power
		}
		l := double.Listed{ID: m.id(), Name: m.name, State: state, Zone: zoneOf(m.model.Zones), Type: sizeName(&m.model), Account: m.subscription, Tags: map[string]string{}}
		for key, value := range m.model.Tags {
			l.Tags[key] = deref(value)
		}
		for _, d := range dependants(c) {
			if strings.EqualFold(d.vm, m.id()) {
				l.Dependants = append(l.Dependants, d.id)
			}
		}
		all = append(all, l)
	}
	return all
}

// dependant is a resource that costs money, with its machine.
type dependant struct {
	id, vm string
	tags   map[string]*string
}

func dependants(c *Cloud) (all []dependant) {
	owners := map[string]string{}
	for _, n := range c.nics.All() {
		all = append(all, dependant{n.id(), n.vm, n.model.Tags})
		owners[n.key()] = n.vm
	}
	for _, d := range c.disks.All() {
		all = append(all, dependant{d.id(), d.vm, d.model.Tags})
	}
	for _, a := range c.addresses.All() {
		nic, _, _ := strings.Cut(strings.ToLower(a.user), "/ipconfigurations/")
		all = append(all, dependant{a.id(), owners[nic], a.model.Tags})
	}
	return all
}

// Orphans implements [double.Inspected].
func (c *Cloud) Orphans() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	for _, d := range dependants(c) {
		if d.vm == "" {
			all = append(all, d.id)
		}
	}
	slices.Sort(all)
	return all
}

// Holds counts the machines, and the other resources, with a tag.
func (c *Cloud) Holds(key, value string) (machines, others int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	for _, m := range c.vms.All() {
		if v, ok := m.model.Tags[key]; ok && deref(v) == value {
			machines++
		}
	}
	for _, d := range dependants(c) {
		if v, ok := d.tags[key]; ok && deref(v) == value {
			others++
		}
	}
	return machines, others
}

func controls(c *Cloud) double.Controls {
	onMachine := double.OnInstance(&c.mu, func(id string) (*machine, bool) {
		c.settle()
		return c.vms.Get(strings.ToLower(id))
	})
	do := func(effect func(next *machine, now time.Time)) func(string) error {
		return onMachine(func(m *machine) error {
			next := *m
			effect(&next, c.clock.Now())
			c.vms.Put(m.key(), &next)
			return nil
		})
	}
	// with is do for an object of the form "id name".
	with := func(effect func(vm *compute.VirtualMachine, name string)) func(string) error {
		return func(on string) error {
			id, name, _ := strings.Cut(on, " ")
			return do(func(next *machine, _ time.Time) {
				next.model = clone(next.model)
				effect(&next.model, name)
			})(id)
		}
	}
	return append(c.ExhaustVerbs("zone[/size], or a location for machines without a zone"), c.LagVerb(),
		double.Verb{Name: "interrupt", On: "a spot machine's ID: it gets a notice, and is evicted half a minute later", Do: do(func(m *machine, now time.Time) {
			m.evicted = now.Add(notice)
			m.deleted = m.evicted
		})},
		double.Verb{Name: "terminate", On: "a machine's ID: it is deleted, with the resources that are deleted with it", Do: do(func(m *machine, now time.Time) { m.deleted = now.Add(-c.Delete) })},
		double.Verb{Name: "stop", On: "a machine's ID: it is deallocated", Do: do(func(m *machine, _ time.Time) { m.power = "deallocated" })},
		double.Verb{Name: "fail", On: "a machine's ID: its provisioning fails because there is no capacity", Do: do(func(m *machine, now time.Time) { m.ready, m.fault = now, noCapacity() })},
		double.Verb{Name: "late", On: "a machine's ID: it runs, but its provisioning fails because its agent has not reported", Do: do(func(m *machine, now time.Time) {
			m.ready, m.fault = now, refuse(409, codeLate, "OS Provisioning for VM '%s' did not finish in the allotted time. The VM may still finish provisioning successfully.", m.name)
		})},
		double.Verb{Name: "untag", On: "a machine's ID, a space, and the name of a tag to remove", Do: with(func(vm *compute.VirtualMachine, tag string) { delete(vm.Tags, tag) })},
		double.Verb{Name: "keep", On: "a machine's ID, a space, and the name of a data disk: the disk is not deleted with the machine", Do: with(func(vm *compute.VirtualMachine, disk string) {
			for _, d := range vm.Properties.StorageProfile.DataDisks {
				if deref(d.Name) == disk {
					d.DeleteOption = to.Ptr(compute.DiskDeleteOptionTypesDetach)
				}
			}
		})},
		double.Verb{Name: "unbalance", On: "a machine's ID: its interfaces are removed from the pools of load balancers", Do: onMachine(func(m *machine) error { unbalance(c, m); return nil })},
		double.Verb{Name: "spoil", On: "the ID of a disk that was created separately: its provisioning fails", Do: func(on string) error { return spoil(c, on) }},
	)
}

func spoil(c *Cloud, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.disks.Get(strings.ToLower(id))
	if !ok {
		return fmt.Errorf("no disk %s", id)
	}
	next := *d
	next.ready, next.failed = c.clock.Now(), true
	c.disks.Put(d.key(), &next)
	return nil
}

// unbalance removes a machine's interfaces from the pools of load balancers.
func unbalance(c *Cloud, m *machine) {
	for _, ref := range m.nics() {
		n, ok := c.nics.Get(strings.ToLower(deref(ref.ID)))
		if !ok {
			continue
		}
		next := *n
		next.model = clone(n.model)
		for _, p := range next.model.Properties.IPConfigurations {
			p.Properties.LoadBalancerBackendAddressPools, p.Properties.LoadBalancerInboundNatRules = nil, nil
		}
		c.nics.Put(n.key(), &next)
	}
}
