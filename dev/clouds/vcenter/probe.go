package vcenter

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Probe shows and changes, for tests, parts of a vCenter that are not in its list of instances.
type Probe struct{ cloud *Cloud }

// Probe returns a probe.
func (c *Cloud) Probe() Probe { return Probe{c} }

// NameOf is the name of an object; empty if it does not exist.
func (p Probe) NameOf(r types.ManagedObjectReference) string {
	e, ok := p.cloud.world.own().Map.Get(r).(mo.Entity)
	if !ok {
		return ""
	}
	return e.Entity().Name
}

// SwitchUUID is the UUID of the distributed switch of a datacenter.
func (p Probe) SwitchUUID(datacenter string) string {
	ref, err := p.cloud.builder.find(context.Background(), datacenter+"/network/switch")
	if err != nil || ref == nil {
		return ""
	}
	return p.cloud.world.own().Map.Get(*ref).(*simulator.DistributedVirtualSwitch).Uuid
}

// TagID is the ID of a tag; empty if it does not exist.
func (p Probe) TagID(category, name string) string {
	t, err := tags.NewManager(p.cloud.builder.rest).GetTagForCategory(context.Background(), name, category)
	if err != nil {
		return ""
	}
	return t.ID
}

// AddTag adds a tag to the tagging service.
func (p Probe) AddTag(t Tag) error { return p.cloud.builder.addTag(context.Background(), t) }

// Clones are the accepted requests for clones, in order.
func (p Probe) Clones() []types.CloneVM_Task {
	p.cloud.world.mu.Lock()
	defer p.cloud.world.mu.Unlock()
	return slices.Clone(p.cloud.world.clones)
}

// HasFile reports whether a datastore has a file.
func (p Probe) HasFile(datacenter, datastore, file string) bool {
	ref, err := p.cloud.builder.find(context.Background(), datacenter+"/datastore/"+datastore)
	if err != nil || ref == nil {
		return false
	}
	ds := p.cloud.world.own().Map.Get(*ref).(*simulator.Datastore)
	_, err = os.Stat(filepath.Join(ds.Info.GetDatastoreInfo().Url, file))
	return err == nil
}

// Untag removes a tag from a virtual machine.
func (p Probe) Untag(id, instance string) error {
	vm := byInstance(p.cloud.world.own(), instance)
	if vm == nil {
		return fmt.Errorf("there is no virtual machine %s", instance)
	}
	return tags.NewManager(p.cloud.builder.rest).DetachTag(context.Background(), id, vm.Self)
}

// SetAttribute sets a known custom attribute of a virtual machine.
func (p Probe) SetAttribute(instance, name, value string) error {
	vm := byInstance(p.cloud.world.own(), instance)
	if vm == nil {
		return fmt.Errorf("there is no virtual machine %s", instance)
	}
	return p.cloud.builder.mark(context.Background(), vm.Self, Plant{Attributes: map[string]string{name: value}})
}

// SetOption sets an option of a virtual machine; an empty value removes it.
func (p Probe) SetOption(instance, key, value string) error {
	vm := byInstance(p.cloud.world.own(), instance)
	if vm == nil {
		return fmt.Errorf("there is no virtual machine %s", instance)
	}
	p.cloud.world.own().WithLock(vm, func() {
		vm.Config.ExtraConfig = slices.DeleteFunc(slices.Clone(vm.Config.ExtraConfig), func(o types.BaseOptionValue) bool { return o.GetOptionValue().Key == key })
		if value != "" {
			vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, &types.OptionValue{Key: key, Value: value})
		}
	})
	return nil
}

// Attach attaches a disk to a virtual machine.
func (p Probe) Attach(instance string, v Volume) error {
	vm := byInstance(p.cloud.world.own(), instance)
	if vm == nil {
		return fmt.Errorf("there is no virtual machine %s", instance)
	}
	return storage{p.cloud.builder}.attach(p.cloud.world.own(), vm, v)
}

// MoveDisk moves the file of a virtual machine's disk: from "[ds1] m/m_1.vmdk" to another path.
func (p Probe) MoveDisk(instance, from, to string) error {
	vm := byInstance(p.cloud.world.own(), instance)
	if vm == nil {
		return fmt.Errorf("there is no virtual machine %s", instance)
	}
	return storage{p.cloud.builder}.moveDisk(p.cloud.world.own(), vm, from, to)
}

// Obscure makes the configuration of a virtual machine unreadable for the vCenter, as on an unreachable
// datastore, or readable again.
func (p Probe) Obscure(instance string, unreadable bool) error {
	vm := byInstance(p.cloud.world.own(), instance)
	if vm == nil {
		return fmt.Errorf("there is no virtual machine %s", instance)
	}
	p.cloud.world.veil.set(vm.Self, unreadable)
	return nil
}

// Sessions is the number of open sessions, of SOAP and of REST.
func (p Probe) Sessions() (n int) {
	p.cloud.users.mu.Lock()
	defer p.cloud.users.mu.Unlock()
	for _, u := range p.cloud.users.sessions {
		if u != (login{}) {
			n++
		}
	}
	return n
}

// Ungroup removes a virtual machine from all groups.
func (p Probe) Ungroup(instance string) error {
	vm := byInstance(p.cloud.world.own(), instance)
	if vm == nil {
		return fmt.Errorf("there is no virtual machine %s", instance)
	}
	for _, cluster := range p.cloud.world.own().Map.All("ClusterComputeResource") {
		ungroup(p.cloud.world.own(), cluster.(*simulator.ClusterComputeResource), vm.Self)
	}
	return nil
}

// GroupMembers are the names of the virtual machines in a group of a cluster.
func (p Probe) GroupMembers(cluster, group string) (names []string) {
	ctx := p.cloud.world.own()
	for _, e := range ctx.Map.All("ClusterComputeResource") {
		c := e.(*simulator.ClusterComputeResource)
		config, ok := c.ConfigurationEx.(*types.ClusterConfigInfoEx)
		if !ok || c.Name != cluster {
			continue
		}
		for _, g := range config.Group {
			members, ok := g.(*types.ClusterVmGroup)
			if !ok || members.Name != group {
				continue
			}
			for _, vm := range members.Vm {
				names = append(names, p.NameOf(vm))
			}
		}
	}
	slices.Sort(names)
	return names
}
