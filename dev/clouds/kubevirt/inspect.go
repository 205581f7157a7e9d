package kubevirt

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// machines are the virtual machines that there are.
func (m *memory) machines() (all []object) {
	for _, o := range m.objects.All() {
		if o.text("kind") == "VirtualMachine" {
			all = append(all, o)
		}
	}
	return all
}

// Instances implements [double.Inspected].
func (c *Cloud) Instances() (all []double.Listed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(c.clock.Now())
	for _, o := range c.machines() {
		l := double.Listed{
			ID: o.name(), Name: o.name(), State: o.text("status", "printableStatus"), Zone: zoneOf(o), Account: o.text("metadata", "namespace"),
			Tags: o.texts("metadata", "labels"),
		}
		maps.Copy(l.Tags, o.texts("metadata", "annotations"))
		for _, d := range c.dependants() {
			if d.Machine == o.name() && d.Namespace == l.Account {
				l.Dependants = append(l.Dependants, d.Kind+" "+d.Name)
			}
		}
		all = append(all, l)
	}
	return all
}

// Dependant is something that is made for a virtual machine.
type Dependant struct {
	Kind, Name, Namespace, Machine string
	Labels                         map[string]string
}

// noteMachine is the annotation that names the virtual machine of what is made for one.
const noteMachine = "kubevirt.millwright.dev/virtual-machine"

func (m *memory) dependants() (all []Dependant) {
	for _, o := range m.objects.All() {
		if kind := o.text("kind"); slices.Contains([]string{"Secret", "DataVolume", "PersistentVolumeClaim"}, kind) {
			all = append(all, Dependant{
				kind, o.name(), o.text("metadata", "namespace"), o.texts("metadata", "annotations")[noteMachine], o.texts("metadata", "labels"),
			})
		}
	}
	return all
}

// Dependants are all secrets, data volumes and claims.
func (c *Cloud) Dependants() []Dependant {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(c.clock.Now())
	return c.dependants()
}

// Orphans implements [double.Inspected].
func (c *Cloud) Orphans() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(c.clock.Now())
	for _, d := range c.dependants() {
		if _, there := c.objects.Get(key("virtualmachines", d.Namespace, d.Machine)); !there {
			all = append(all, d.Kind+" "+d.Name)
		}
	}
	return all
}

// Verbs implements [double.Inspected].
func (*Cloud) Verbs() []double.Verb {
	return []double.Verb{
		{Name: "terminate", On: "a virtual machine's name"},
		{Name: "stop", On: "a virtual machine's name"},
		{Name: "start", On: "a virtual machine's name"},
		{Name: "fail", On: "a virtual machine's name: it was accepted, and no node has room for it"},
		{Name: "exhaust", On: "zone: no further virtual machine has room there"},
		{Name: "release", On: "zone: there is room again"},
		{Name: "lag", On: "a duration: lists run behind"},
	}
}

var errNoMachine = errors.New("there is no such virtual machine")

// Do implements [double.Inspected].
func (c *Cloud) Do(verb, on string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	c.settle(now)
	defer c.settle(now)
	switch verb {
	case "exhaust":
		c.room[on] = 0
		return nil
	case "release":
		delete(c.room, on)
		return nil
	case "lag":
		d, err := time.ParseDuration(on)
		c.lag = d
		return err
	}
	do, ok := map[string]func(object){
		"terminate": func(o object) { c.bury(o) },
		"stop":      func(o object) { c.strategy(o, "Halted") },
		"start":     func(o object) { c.strategy(o, "Always") },
		"fail":      func(o object) { c.lives[o.uid()].failed = true },
	}[verb]
	if !ok {
		return fmt.Errorf("no verb %q", verb)
	}
	for _, o := range c.machines() {
		if o.name() == on {
			do(o)
			return nil
		}
	}
	return errNoMachine
}

func (m *memory) strategy(o object, is string) {
	o = o.clone()
	o.set(map[string]any{"runStrategy": is, "template": o.at("spec", "template"), "dataVolumeTemplates": o.list("spec", "dataVolumeTemplates")}, "spec")
	m.keep(named("virtualmachines"), o)
}

// Planted is a virtual machine that somebody else makes.
type Planted struct {
	Name, Namespace, Zone string
	Labels, Annotations   map[string]string
}

// Plant makes a virtual machine that runs already, without anything that belongs to it. Where the name is taken, its own has a number behind.
func (c *Cloud) Plant(p Planted) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	name := p.Name
	for n := 1; ; n++ {
		if _, there := c.objects.Get(key("virtualmachines", p.Namespace, name)); !there {
			break
		}
		name = fmt.Sprintf("%s-%d", p.Name, n)
	}
	o := object{"spec": map[string]any{"running": true, "template": map[string]any{
		"metadata": map[string]any{"labels": anyOf(p.Labels)},
		"spec":     map[string]any{"domain": map[string]any{"devices": map[string]any{}, "resources": map[string]any{"requests": map[string]any{"cpu": "2", "memory": "4Gi"}}}},
	}}}
	if p.Zone != "" {
		o.set(map[string]any{"topology.kubernetes.io/zone": p.Zone}, "spec", "template", "spec", "nodeSelector")
	}
	o.set(name, "metadata", "name")
	o.set(anyOf(p.Labels), "metadata", "labels")
	o.set(anyOf(p.Annotations), "metadata", "annotations")
	before := now.Add(-c.Boot - c.Import - time.Second)
	o.set(stamp(before), "metadata", "creationTimestamp")
	o = c.put(named("virtualmachines"), p.Namespace, o)
	l := c.lives[o.uid()]
	l.made, l.since = before, before
	c.settle(now)
	return name
}

func anyOf(texts map[string]string) map[string]any {
	all := map[string]any{}
	for key, value := range texts {
		all[key] = value
	}
	return all
}

// SetLag lets lists run behind from now on.
func (c *Cloud) SetLag(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = d
}

// Put makes an object below a path, around everybody.
func (c *Cloud) Put(path string, raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var o object
	if t := targetOf(path); t.known && json.Unmarshal(raw, &o) == nil {
		c.put(t.resource, t.namespace, o)
	}
}

// Object is an object as it is now; nil where there is none.
func (c *Cloud) Object(resource, namespace, name string) map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, _ := c.objects.Get(key(resource, namespace, name))
	return o.clone()
}

// Change merges something into an object, around everybody.
func (c *Cloud) Change(resource, namespace, name string, merge map[string]any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.objects.Get(key(resource, namespace, name))
	if !ok {
		return fmt.Errorf("there is no %s %s", strings.TrimSuffix(resource, "s"), name)
	}
	changed, _ := merged(map[string]any(o.clone()), merge).(map[string]any)
	c.keep(named(resource), changed)
	c.settle(c.clock.Now())
	return nil
}
