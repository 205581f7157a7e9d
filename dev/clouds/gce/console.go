package gce

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Instances implements [double.Inspected].
func (c *Cloud) Instances() (all []double.Listed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	for _, i := range c.instances.All() {
		l := double.Listed{ID: i.id, Name: i.name, State: i.status(), Zone: i.zone, Type: i.machineType(), Tags: map[string]string{}}
		for _, t := range i.is.part("tags").texts("items") {
			l.Tags[t] = "" // a network tag
		}
		maps.Copy(l.Tags, i.is.words("labels"))
		for _, d := range i.is.parts("disks") {
			if source := d.text("source"); source != "" {
				l.Dependants = append(l.Dependants, "disk "+tail(source))
			}
		}
		for _, n := range i.is.parts("networkInterfaces") {
			for _, a := range n.parts("accessConfigs") {
				l.Dependants = append(l.Dependants, "address "+a.text("natIP"))
			}
		}
		all = append(all, l)
	}
	return all
}

// Orphans implements [double.Inspected]: disks without an instance.
func (c *Cloud) Orphans() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	for _, d := range c.disks.All() {
		if len(d.is.texts("users")) == 0 {
			all = append(all, "disk "+d.zone+"/"+d.name)
		}
	}
	return all
}

// Disk is a persistent disk in a form for tests.
type Disk struct {
	Zone, Name string
	Labels     map[string]string
	Used       bool
}

// Disks are all disks.
func (c *Cloud) Disks() (all []Disk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	for _, d := range c.disks.All() {
		all = append(all, Disk{Zone: d.zone, Name: d.name, Labels: d.is.words("labels"), Used: len(d.is.texts("users")) > 0})
	}
	return all
}

// Asked is the request that created an instance, as decoded JSON; nil if the instance does not exist.
func (c *Cloud) Asked(id string) map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.instances.Get(id)
	if !ok {
		return nil
	}
	return i.body
}

// Members are the members of a load balancer, "targetPools", "instanceGroups" or "backendServices", in a
// region or zone: paths from "projects" on.
func (c *Cloud) Members(collection, place, name string) (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := place + "/" + name
	links := map[string][]string{
		"targetPools": c.balancers.pools[key].texts("instances"), "instanceGroups": c.balancers.groups[key].texts("_members"),
	}[collection]
	if collection == "backendServices" {
		for _, b := range c.balancers.backends[key].parts("backends") {
			links = append(links, b.text("group"))
		}
	}
	for _, l := range links {
		all = append(all, below(l))
	}
	return all
}

func controls(c *Cloud) double.Controls {
	onInstance := double.OnInstance(&c.mu, func(id string) (instance, bool) {
		c.settle()
		return find(c.instances.All(), func(i instance) bool { return i.id == id || i.name == id })
	})
	do := func(effect func(*Cloud, instance) error) func(string) error {
		return onInstance(func(i instance) error { return effect(c, i) })
	}
	return append(c.ExhaustVerbs("zone[/type]"), c.LagVerb(),
		double.Verb{Name: "interrupt", On: "an instance's ID or name: it gets a preemption notice, and stops half a minute later", Do: do(interruptInstance)},
		double.Verb{Name: "terminate", On: "an instance's ID or name: it is deleted at once", Do: onInstance(func(i instance) error { vanish(c, i.id); return nil })},
		double.Verb{Name: "stop", On: "an instance's ID or name", Do: onInstance(func(i instance) error { halt(c, i, "stop"); return nil })},
		double.Verb{Name: "fail", On: "the ID or name of an instance that does not run yet: its operation fails because there is no capacity", Do: do(failInstance)},
		double.Verb{Name: "untag", On: "instance=key: the instance loses that label, or that network tag", Do: func(on string) error {
			id, key, _ := strings.Cut(on, "=")
			return onInstance(func(i instance) error { return untag(c, i, key) })(id)
		}},
		double.Verb{Name: "deregister", On: "an instance's ID or name: it is removed from all load balancers", Do: onInstance(func(i instance) error { c.balancers.lose(i); return nil })},
		double.Verb{Name: "quota", On: "region/METRIC=limit", Do: func(on string) error { return setQuota(c, on) }},
	)
}

// halt stops an instance in an operation of a type.
func halt(c *Cloud, i instance, operationType string) {
	haltInstance(c, i, newOperation(c, operationType, target{project: i.project, scope: i.zone, collection: "instances", name: i.name}, i.id, ""))
}

// interruptInstance preempts a spot instance: the instance gets a notice, and stops 30 s later.
func interruptInstance(c *Cloud, i instance) error {
	if !spot(i.is.part("scheduling")) {
		return fmt.Errorf("instance %s is neither preemptible nor a spot one", i.name)
	}
	c.instances.Change(i.id, func(i *instance) { i.preempted = true })
	after(c, 30*time.Second, func() {
		if now, ok := c.instances.Get(i.id); ok && now.status() == "RUNNING" {
			halt(c, now, "compute.instances.preempted")
		}
	})
	return nil
}

func failInstance(c *Cloud, i instance) error {
	if !slices.Contains([]string{"PROVISIONING", "STAGING"}, i.status()) {
		return fmt.Errorf("instance %s is %s already", i.name, i.status())
	}
	for _, op := range c.operations.All() {
		if op.text("targetId") == i.id && op.text("operationType") == "insert" {
			giveUp(c, i.id, op, shortage(i.project, i.zone, i.machineType()))
			return nil
		}
	}
	return fmt.Errorf("instance %s was not made by an operation", i.name)
}

func setQuota(c *Cloud, on string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	place, value, _ := strings.Cut(on, "=")
	region, metric, _ := strings.Cut(place, "/")
	limit, err := strconv.ParseFloat(value, 64)
	n := slices.IndexFunc(c.options.Inventory.Regions, func(r Region) bool { return r.Name == region })
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not of the form region/METRIC=limit", on)
	}
	quotas := map[string]float64{metric: limit}
	for k, v := range c.options.Inventory.Regions[n].Quotas {
		if k != metric {
			quotas[k] = v
		}
	}
	c.options.Inventory.Regions[n].Quotas = quotas
	return nil
}

// Plant creates a running instance from the body of a creation request, but without a request. Leave creates a
// disk without an instance.
func (c *Cloud) Plant(zone string, body map[string]any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	i := instance{id: newID(c), project: c.options.Inventory.Project, zone: zone, name: resource(body).text("name"), body: body, began: c.clock.Now()}
	if _, ok := instanceNamed(c, i.project, zone, i.name); ok {
		return fmt.Errorf("zone %s has an instance %s", zone, i.name)
	}
	i.is = shownOf(c, i)
	c.instances.Put(i.id, i)
	becomes(c, i.id, "RUNNING", nil)
	return nil
}

// Leave creates a disk without an instance, without a request.
func (c *Cloud) Leave(zone, name string, labels map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	makeDisk(c, c.options.Inventory.Project, zone, name, 20, resource{"labels": labels})
}

// SetLabels changes the labels of an instance without a request.
func (c *Cloud) SetLabels(id string, change func(map[string]string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	relabel(c, id, change)
}

func relabel(c *Cloud, id string, change func(map[string]string)) {
	c.instances.Change(id, func(i *instance) {
		labels := maps.Clone(i.is.words("labels"))
		change(labels)
		i.is = i.is.with(resource{"labels": labels, "labelFingerprint": fingerprint(labels)})
	})
}

// untag removes a label and a network tag of that name from an instance.
func untag(c *Cloud, i instance, key string) error {
	tags := i.is.part("tags").texts("items")
	_, label := i.is.words("labels")[key]
	if !label && !slices.Contains(tags, key) {
		return fmt.Errorf("instance %s has neither a label nor a network tag %q", i.name, key)
	}
	relabel(c, i.id, func(labels map[string]string) { delete(labels, key) })
	tags = slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return t == key })
	c.instances.Change(i.id, func(i *instance) {
		i.is = i.is.with(resource{"tags": resource{"items": tags, "fingerprint": fingerprint(tags)}})
	})
	return nil
}
