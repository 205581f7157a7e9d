package kubevirt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/kubeapi"
)

// machines are the existing virtual machines.
func (m *memory) machines() []object { return m.Of("VirtualMachine") }

// Instances implements [double.Inspected].
func (c *Cloud) Instances() (all []double.Listed) {
	c.While(func(time.Time) { all = c.instances() })
	return all
}

func (c *controller) instances() (all []double.Listed) {
	for _, o := range c.machines() {
		l := double.Listed{
			ID: o.Name(), Name: o.Name(), State: o.Text("status", "printableStatus"), Zone: zoneOf(o), Account: o.Namespace(),
			Tags: o.Texts("metadata", "labels"),
		}
		maps.Copy(l.Tags, o.Texts("metadata", "annotations"))
		for _, d := range c.dependants() {
			if d.Machine == o.Name() && d.Namespace == l.Account {
				l.Dependants = append(l.Dependants, d.Kind+" "+d.Name)
			}
		}
		all = append(all, l)
	}
	return all
}

// Dependant is an object that was created for a virtual machine.
type Dependant struct {
	Kind, Name, Namespace, Machine string
	Labels                         map[string]string
}

// noteMachine is the annotation of a dependant with the name of its virtual machine.
const noteMachine = "kubevirt.millwright.dev/virtual-machine"

func (m *memory) dependants() (all []Dependant) {
	for _, o := range m.Objects.All() {
		if kind := o.Kind(); slices.Contains([]string{"Secret", "DataVolume", "PersistentVolumeClaim"}, kind) {
			all = append(all, Dependant{
				kind, o.Name(), o.Namespace(), o.Texts("metadata", "annotations")[noteMachine], o.Texts("metadata", "labels"),
			})
		}
	}
	return all
}

// Dependants are all secrets, data volumes and claims.
func (c *Cloud) Dependants() (all []Dependant) {
	c.While(func(time.Time) { all = c.dependants() })
	return all
}

// Orphans implements [double.Inspected].
func (c *Cloud) Orphans() (all []string) {
	c.While(func(time.Time) { all = c.orphans() })
	return all
}

func (c *controller) orphans() (all []string) {
	for _, d := range c.dependants() {
		if _, there := c.Objects.Get(kubeapi.Key("virtualmachines", d.Namespace, d.Machine)); !there {
			all = append(all, d.Kind+" "+d.Name)
		}
	}
	return all
}

var _ double.Exhaustible = (*Cloud)(nil)

// Exhausted implements [double.Exhaustible].
func (c *Cloud) Exhausted() (all []string) {
	c.While(func(time.Time) { all = double.Places(c.room, 0) })
	return all
}

// Verbs implements [double.Inspected].
func (*Cloud) Verbs() []double.Verb {
	return []double.Verb{
		{Name: "terminate", On: "a virtual machine's name"},
		{Name: "stop", On: "a virtual machine's name"},
		{Name: "start", On: "a virtual machine's name"},
		{Name: "fail", On: "a virtual machine's name: it was accepted, but no node has capacity for it"},
		{Name: "exhaust", On: "zone: it has no capacity for further virtual machines"},
		{Name: "restock", On: "zone: it has capacity again"},
		{Name: "lag", On: "a duration: lists lag by it"},
	}
}

var errNoMachine = errors.New("there is no such virtual machine")

// Do implements [double.Inspected].
func (c *Cloud) Do(verb, on string) (err error) {
	if verb == "lag" {
		d, err := time.ParseDuration(on)
		c.SetLag(d)
		return err
	}
	c.While(func(time.Time) { err = c.do(verb, on) })
	return err
}

func (c *controller) do(verb, on string) error {
	switch verb {
	case "exhaust":
		c.room[on] = 0
		return nil
	case "restock":
		delete(c.room, on)
		return nil
	}
	do, ok := map[string]func(object){
		"terminate": func(o object) { c.Bury(o) },
		"stop":      func(o object) { c.strategy(o, "Halted") },
		"start":     func(o object) { c.strategy(o, "Always") },
		"fail":      func(o object) { c.lives[o.UID()].failed = true },
	}[verb]
	if !ok {
		return fmt.Errorf("no verb %q", verb)
	}
	for _, o := range c.machines() {
		if o.Name() == on {
			do(o)
			return nil
		}
	}
	return errNoMachine
}

func (m *memory) strategy(o object, is string) {
	o = o.Clone()
	o.Set(map[string]any{"runStrategy": is, "template": o.At("spec", "template"), "dataVolumeTemplates": o.List("spec", "dataVolumeTemplates")}, "spec")
	m.Keep(m.Named("virtualmachines"), o)
}

// Planted is a virtual machine that another client creates.
type Planted struct {
	Name, Namespace, Zone string
	Labels, Annotations   map[string]string
}

// Plant creates a running virtual machine without dependants. If the name is taken, a number is appended.
func (c *Cloud) Plant(p Planted) (name string) {
	c.While(func(now time.Time) { name = c.plant(p, now) })
	return name
}

func (c *controller) plant(p Planted, now time.Time) string {
	name := p.Name
	for n := 1; ; n++ {
		if _, there := c.Objects.Get(kubeapi.Key("virtualmachines", p.Namespace, name)); !there {
			break
		}
		name = fmt.Sprintf("%s-%d", p.Name, n)
	}
	o := object{"spec": map[string]any{"running": true, "template": map[string]any{
		"metadata": map[string]any{"labels": kubeapi.Any(p.Labels)},
		"spec":     map[string]any{"domain": map[string]any{"devices": map[string]any{}, "resources": map[string]any{"requests": map[string]any{"cpu": "2", "memory": "4Gi"}}}},
	}}}
	if p.Zone != "" {
		o.Set(map[string]any{"topology.kubernetes.io/zone": p.Zone}, "spec", "template", "spec", "nodeSelector")
	}
	o.Set(name, "metadata", "name")
	o.Set(kubeapi.Any(p.Labels), "metadata", "labels")
	o.Set(kubeapi.Any(p.Annotations), "metadata", "annotations")
	before := now.Add(-c.Boot - c.Import - time.Second)
	o.Set(kubeapi.Stamp(before), "metadata", "creationTimestamp")
	o = c.Put(c.Named("virtualmachines"), p.Namespace, o)
	l := c.lives[o.UID()]
	l.made, l.since = before, before
	return name
}
