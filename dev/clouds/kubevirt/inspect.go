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

var errNoMachine = errors.New("there is no such virtual machine")

func (c *Cloud) controls() double.Controls {
	onMachine := double.OnInstance(c.Exclusive(), func(name string) (object, bool) {
		all := c.machines()
		n := slices.IndexFunc(all, func(o object) bool { return o.Name() == name })
		if n < 0 {
			return nil, false
		}
		return all[n], true
	})
	do := func(effect func(object)) func(string) error {
		return onMachine(func(o object) error { effect(o); return nil })
	}
	return append(c.ExhaustVerbs("zone"), c.LagVerb(),
		double.Verb{Name: "terminate", On: "a virtual machine's name", Do: do(func(o object) { c.Bury(o) })},
		double.Verb{Name: "stop", On: "a virtual machine's name", Do: do(func(o object) { c.strategy(o, "Halted") })},
		double.Verb{Name: "start", On: "a virtual machine's name", Do: do(func(o object) { c.strategy(o, "Always") })},
		double.Verb{Name: "fail", On: "a virtual machine's name: it was accepted, but no node has capacity for it", Do: do(func(o object) { c.lives[o.UID()].failed = true })},
	)
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
